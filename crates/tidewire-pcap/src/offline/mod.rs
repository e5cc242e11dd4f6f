//! A file that is read ahead and sorted: the system's library reads it batch by batch, and packets are delivered in another
//! order.
//!
//! JUSTIFICATION: the program's callback and its buffers are pointers of the C ABI, and so is the system's handle; the state of
//! a read must be reachable from inside that callback.
//!
//! The system's library reads every record, so that records, errors and messages are its own; an error is reported after
//! everything before it was delivered. No filter is set on its handle: the program's filter is applied at delivery, so that a
//! new one applies to all packets that were not delivered. The position in the file (`ftell` on `pcap_file`) is up to two
//! batches ahead, unless the program asks for it before it reads: then nothing is read ahead. Pipes are never read ahead: their
//! writer may wait for an answer.

mod batch;
mod gatherer;

use std::{
    cell::UnsafeCell,
    ffi::{c_int, c_uint},
    ptr,
    time::Instant,
};

use tidewire_locality::{Adaptive, Settings};

use crate::{
    control::{Control, ReadResult},
    live::thread_ns,
    system::{self, system},
    types::{BpfInstruction, PacketHandler, PacketHeader, Pcap, status},
};
use batch::{Batch, Ending};
use gatherer::Feed;

/// A file with reordered packets.
pub struct Offline {
    system: *mut Pcap,
    reader: UnsafeCell<Reader>,
}

/// The state of reading.
struct Reader {
    /// The batch that is being delivered.
    batch: Batch,
    /// The position in it.
    at: usize,
    feed: Feed,
    filter: Option<Vec<BpfInstruction>>,
    /// Target of the header pointer of `pcap_next_ex`.
    header: PacketHeader,
    adaptive: Option<Adaptive>,
    /// CPU time of this thread when the delivery of the batch began, including sorting.
    begun_ns: u64,
    clock: Instant,
}

impl Offline {
    /// Reads ahead on a handle of the system's library; returns the handle if its input is no regular file.
    ///
    /// # Errors
    /// The handle, and a message on failure.
    ///
    /// # Safety
    /// The handle is the system's, of a file, and has no other user.
    pub unsafe fn new(system: *mut Pcap, settings: &Settings) -> Result<Self, (*mut Pcap, Option<String>)> {
        // SAFETY: as the caller promises.
        if !unsafe { is_regular(system) } {
            return Err((system, None));
        }
        // SAFETY: as above.
        let feed = unsafe { Feed::new(system, settings) }.map_err(|message| (system, Some(message)))?;
        let reader = Reader {
            batch: Batch::default(),
            at: 0,
            feed,
            filter: None,
            header: PacketHeader { ts: libc::timeval { tv_sec: 0, tv_usec: 0 }, caplen: 0, len: 0 },
            adaptive: settings.adaptive.then(Adaptive::new),
            begun_ns: 0,
            clock: Instant::now(),
        };
        Ok(Self { system, reader: UnsafeCell::new(reader) })
    }

    /// `pcap_file`: who asks for it before it reads may be about to go to another place in the file, as nfpcapd does. Packets
    /// are read one by one then.
    pub fn read_singly(&self) {
        // SAFETY: the thread that reads calls this, and no callback runs: nothing was read.
        let reader = unsafe { &mut *self.reader.get() };
        if reader.at > 0 || reader.batch.packet(0).is_some() || !reader.feed.stop() {
            return;
        }
        // SAFETY: the handle is the system's, of a file, and the thread that read from it is gone.
        if let Ok(feed) = unsafe { Feed::new(self.system, &Settings::default().with_batch_frames(1)) } {
            reader.feed = feed;
        }
    }

    /// The system's handle, for everything except reading.
    pub fn system(&self) -> *mut Pcap {
        self.system
    }

    /// `pcap_dispatch` and, with `is_loop`, `pcap_loop`, as `pcap_offline_read` of the system's library goes about them.
    ///
    /// # Safety
    /// No other thread reads. The callback may do with the handle what the manual pages allow, and close it.
    pub unsafe fn read(
        &self,
        handle: &Control,
        (count, is_loop): (c_int, bool),
        callback: Option<PacketHandler>,
        user: *mut u8,
    ) -> ReadResult {
        let Some(callback) = callback else { return ReadResult::open(handle.failed("no callback was given")) };
        let is_outermost = handle.begin_read();
        let mut left = if count > 0 { count } else { c_int::MAX };
        let result = loop {
            let done = self.deliver(handle, left, callback, user);
            if !is_loop || done <= 0 {
                break done;
            }
            if count > 0 {
                left -= done;
            }
            if left <= 0 {
                break 0;
            }
        };
        ReadResult { result, is_closed: is_outermost && handle.end_read() }
    }

    /// Delivers packets until their number, the end, an error, or a stop request.
    fn deliver(&self, handle: &Control, most: c_int, callback: PacketHandler, user: *mut u8) -> c_int {
        let mut done = 0;
        while done < most {
            if handle.is_stopped() {
                // The number of delivered packets is returned first; the next read reports the stop.
                if done == 0 {
                    handle.take_break();
                    return status::BREAK;
                }
                break;
            }
            match self.one(handle) {
                Ok(Some((header, bytes))) => {
                    // SAFETY: the header is a local, and the bytes stay where they are until the batch is replaced, by a
                    // later read.
                    unsafe { callback(user, &raw const header, bytes) };
                    done += 1;
                }
                Ok(None) => break,
                Err(status) => return status,
            }
        }
        done
    }

    /// `pcap_next`
    ///
    /// # Safety
    /// The header is one, or null; no other thread reads.
    pub unsafe fn next(&self, handle: &Control, header: *mut PacketHeader) -> *const u8 {
        if handle.take_break() {
            return ptr::null();
        }
        let Ok(Some((found, bytes))) = self.one(handle) else { return ptr::null() };
        if !header.is_null() {
            // SAFETY: the caller's.
            unsafe { header.write(found) };
        }
        bytes
    }

    /// `pcap_next_ex`
    ///
    /// # Safety
    /// The pointers are to variables; no other thread reads.
    pub unsafe fn next_ex(&self, handle: &Control, header: *mut *mut PacketHeader, bytes: *mut *const u8) -> c_int {
        // The system's library sets it, whatever follows.
        // SAFETY: the pointer is the caller's; the header stays as long as the handle.
        unsafe { *header = &raw mut (*self.reader.get()).header };
        if handle.take_break() {
            return status::BREAK;
        }
        let (found, packet) = match self.one(handle) {
            Ok(Some(one)) => one,
            // The end of a file (pcap_next_ex(3PCAP)).
            Ok(None) => return status::BREAK,
            Err(status) => return status,
        };
        let reader = self.reader.get();
        // SAFETY: this thread is the one that reads, and the pointers are the caller's. The header stays until the next read.
        unsafe {
            (*reader).header = found;
            *bytes = packet;
        }
        1
    }

    /// The next packet that passes the filter; `None` at the end.
    fn one(&self, handle: &Control) -> Result<Option<(PacketHeader, *const u8)>, c_int> {
        // SAFETY: this thread is the one that reads; what is borrowed is given up before a callback runs.
        let reader = unsafe { &mut *self.reader.get() };
        loop {
            while let Some((header, bytes)) = reader.batch.packet(reader.at) {
                reader.at += 1;
                reader.batch.prefetch(reader.at + 3);
                if passes(reader.filter.as_deref(), &header, bytes) {
                    return Ok(Some((header, bytes.as_ptr())));
                }
            }
            match reader.batch.ending.take() {
                None => reader.refill().map_err(|message| handle.failed(&message))?,
                Some(Ending::End) => return Ok(None),
                Some(Ending::Failed(status, message)) => {
                    handle.fail(&message);
                    return Err(status);
                }
            }
        }
    }

    /// `pcap_setfilter`: good for all packets that were not delivered.
    pub fn set_filter(&self, handle: &Control, program: Option<&[BpfInstruction]>) -> c_int {
        handle.forget_error();
        let Some(program) = program else { return handle.failed("setfilter: No filter specified") };
        let length = c_int::try_from(program.len()).unwrap_or(c_int::MAX);
        // SAFETY: the pointer and the length are those of a slice.
        let valid = system().bpf_validate.map(|validate| unsafe { validate(program.as_ptr(), length) });
        if valid.is_none_or(|valid| valid == 0) {
            return handle.failed("BPF program is not valid");
        }
        // SAFETY: as in `one`: at most this is called inside a callback.
        unsafe { (*self.reader.get()).filter = Some(program.to_vec()) };
        0
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        // In a child process the missing thread may have left the file locked.
        if !self.reader.get_mut().feed.stop() {
            return;
        }
        if let Some(close) = system().pcap_close {
            // SAFETY: the handle is ours alone, and of the system's library.
            system::calling(|_| unsafe { close(self.system) });
        }
    }
}

impl Reader {
    /// Replaces the delivered batch by the next one.
    fn refill(&mut self) -> Result<(), String> {
        if let (Some(adaptive), true) = (&mut self.adaptive, self.at > 0) {
            let spent = thread_ns().saturating_sub(self.begun_ns);
            let now = u64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(u64::MAX);
            // With a thread, the batch may have been collected before sorting was switched.
            if self.batch.is_sorted() == adaptive.sorts() {
                adaptive.delivered(u32::try_from(self.at).unwrap_or(u32::MAX), spent, now);
            }
        }
        self.at = 0;
        let sorts = self.adaptive.as_ref().is_none_or(Adaptive::sorts);
        self.feed.next(&mut self.batch, sorts)?;
        if self.adaptive.is_some() {
            self.begun_ns = thread_ns().saturating_sub(self.batch.sorting_ns);
        }
        Ok(())
    }
}

/// Whether a packet matches a validated filter.
fn passes(filter: Option<&[BpfInstruction]>, header: &PacketHeader, bytes: &[u8]) -> bool {
    let (Some(filter), Some(function)) = (filter, system().bpf_filter) else { return true };
    // SAFETY: the program was validated, ends, and reads inside of the bytes given.
    unsafe { function(filter.as_ptr(), bytes.as_ptr(), header.len, bytes.len() as c_uint) != 0 }
}

/// Whether a handle's input is a regular file.
///
/// # Safety
/// The handle is the system's.
unsafe fn is_regular(system: *mut Pcap) -> bool {
    let Some(function) = system::system().pcap_file else { return false };
    // SAFETY: as the caller promises.
    let file = unsafe { function(system) };
    if file.is_null() {
        return false;
    }
    // SAFETY: the structure is integers, for which zeroes are valid.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the file is open, and the structure lives throughout the call.
    let known = unsafe { libc::fstat(libc::fileno(file), &raw mut found) };
    known == 0 && found.st_mode & libc::S_IFMT == libc::S_IFREG
}
