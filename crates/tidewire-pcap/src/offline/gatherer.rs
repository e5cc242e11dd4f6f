//! Reads ahead, in the delivering thread or in a separate one.
//!
//! JUSTIFICATION: the system's handle is a pointer of the C ABI.

use std::{
    ffi::{CStr, c_int},
    mem, ptr, slice,
    sync::mpsc::{Receiver, Sender, channel},
    thread::JoinHandle,
};

use tidewire_locality::{Settings, Sorter};
use tidewire_wire::LinkType;

use super::batch::{Batch, Ending};
use crate::{
    live::{thread_ns, wanted},
    system::{self, system},
    thread,
    types::{Pcap, status},
};

/// Most bytes of packets in a batch: 16,000 large packets, or some hundred of the largest.
const BATCH_BYTES: usize = 32 << 20;

/// The source of batches.
pub enum Feed {
    /// The delivering thread reads.
    Here(Box<Gatherer>),
    /// A separate thread reads, one batch ahead.
    Thread(Box<GatherThread>),
}

/// Reads from the system's handle.
pub struct Gatherer {
    system: *mut Pcap,
    link: LinkType,
    sorter: Sorter,
    settings: Settings,
}

// SAFETY: a handle of the system's may be used by any one thread. What the program calls on it meanwhile reads what does not
// change (link type, snap length, precision), or leaves a message in its buffer.
unsafe impl Send for Gatherer {}

/// The thread that reads ahead.
pub struct GatherThread {
    /// Batches to fill, and whether to sort them; `None` once the thread must end.
    empty: Option<Sender<(Batch, bool)>>,
    full: Receiver<Batch>,
    /// Batches that are being filled or are full.
    under_way: usize,
    spare: Option<Batch>,
    thread: Option<JoinHandle<()>>,
    /// The process that started the thread: a child does not have it.
    process: u32,
}

impl Feed {
    /// Reads from a handle of the system's library.
    ///
    /// # Errors
    /// The process cannot start more threads.
    ///
    /// # Safety
    /// No other reader uses the handle, and it is not closed before `stop`.
    pub unsafe fn new(system: *mut Pcap, settings: &Settings) -> Result<Self, String> {
        // SAFETY: the handle is the system's.
        let link = system::system().pcap_datalink.map_or(0, |function| unsafe { function(system) });
        let gatherer =
            Gatherer { system, link: link_type(link), sorter: Sorter::new(settings.key), settings: settings.clone() };
        if !settings.thread {
            return Ok(Self::Here(Box::new(gatherer)));
        }
        let (empty, to_fill) = channel();
        let (filled, full) = channel();
        let thread = thread::spawn(move || work(gatherer, &to_fill, &filled)).map_err(|error| {
            format!("locality: starting the thread that gathers packets: {error}; set locality_thread to off")
        })?;
        Ok(Self::Thread(Box::new(GatherThread {
            empty: Some(empty),
            full,
            under_way: 0,
            spare: Some(Batch::default()),
            thread: Some(thread),
            process: std::process::id(),
        })))
    }

    /// Replaces a delivered batch by the next one.
    ///
    /// # Errors
    /// The thread does not exist.
    pub fn next(&mut self, batch: &mut Batch, sorts: bool) -> Result<(), String> {
        match self {
            Self::Here(gatherer) => gatherer.fill(batch, sorts),
            Self::Thread(gather_thread) => gather_thread.next(batch, sorts)?,
        }
        Ok(())
    }

    /// Ends the thread, if any; returns whether the handle may be closed.
    pub fn stop(&mut self) -> bool {
        let Self::Thread(gather_thread) = self else { return true };
        if gather_thread.process != std::process::id() {
            // In a child, neither the thread nor the locks that it held can be waited for.
            mem::forget(gather_thread.thread.take());
            return false;
        }
        gather_thread.empty = None;
        gather_thread.thread.take().is_none_or(|thread| thread.join().is_ok())
    }
}

impl GatherThread {
    fn next(&mut self, batch: &mut Batch, sorts: bool) -> Result<(), String> {
        if self.process != std::process::id() {
            return Err("locality: a file that a thread reads ahead cannot be read on by a child process (fork); open it there, or set locality_thread to off".into());
        }
        let gone = || "locality: the thread that gathers packets is gone".to_owned();
        let empty = self.empty.as_ref().ok_or_else(gone)?;
        if self.under_way == 0 {
            empty.send((mem::take(batch), sorts)).map_err(|_| gone())?;
            self.under_way += 1;
        } else {
            self.spare = Some(mem::take(batch));
        }
        *batch = self.full.recv().map_err(|_| gone())?;
        self.under_way -= 1;
        // Data after the end is requested only if the program continues to read.
        if batch.ending.is_none() {
            empty.send((self.spare.take().unwrap_or_default(), sorts)).map_err(|_| gone())?;
            self.under_way += 1;
        }
        Ok(())
    }
}

fn work(mut gatherer: Gatherer, to_fill: &Receiver<(Batch, bool)>, filled: &Sender<Batch>) {
    while let Ok((mut batch, sorts)) = to_fill.recv() {
        gatherer.fill(&mut batch, sorts);
        if filled.send(batch).is_err() {
            return;
        }
    }
}

impl Gatherer {
    fn fill(&mut self, batch: &mut Batch, sorts: bool) {
        batch.clear();
        let Some(next_ex) = system().pcap_next_ex else {
            batch.ending = Some(Ending::Failed(status::ERROR, crate::error::NO_SYSTEM.into()));
            return;
        };
        system::calling(|_| {
            let frames = wanted(&self.settings, sorts);
            while batch.ending.is_none() && !batch.is_full(frames, BATCH_BYTES) {
                let (mut header, mut bytes) = (ptr::null_mut(), ptr::null());
                // SAFETY: the handle is the system's and read by this thread alone; the pointers are to locals.
                match unsafe { next_ex(self.system, &raw mut header, &raw mut bytes) } {
                    // SAFETY: after a 1 both point to what stays until the next call, the bytes to as many as the header says.
                    1 => unsafe {
                        let captured = slice::from_raw_parts(bytes, (*header).caplen as usize);
                        batch.push(&*header, captured, self.link);
                    },
                    status::BREAK => batch.ending = Some(Ending::End),
                    other => batch.ending = Some(Ending::Failed(other, self.error())),
                }
            }
        });
        if sorts {
            let begun = thread_ns();
            batch.sort(&mut self.sorter);
            batch.sorting_ns = thread_ns().saturating_sub(begun);
        }
    }

    fn error(&self) -> String {
        let Some(function) = system().pcap_geterr else { return crate::error::NO_SYSTEM.into() };
        // SAFETY: the handle is the system's; its message ends with a zero.
        unsafe { CStr::from_ptr(function(self.system)) }.to_string_lossy().into_owned()
    }
}

/// Converts `DLT_…` to the number in files: most are equal (pcap-common.c of the system's library).
fn link_type(link: c_int) -> LinkType {
    match link {
        // DLT_ATM_RFC1483, DLT_SLIP_BSDOS, DLT_PPP_BSDOS, DLT_ATM_CLIP
        11 => LinkType(100),
        13 => LinkType(102),
        14 => LinkType(103),
        19 => LinkType(106),
        other => LinkType(u16::try_from(other).unwrap_or(u16::MAX)),
    }
}
