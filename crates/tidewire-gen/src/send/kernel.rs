//! Sends from the kernel: a program writes packets into a pool of frames, which are redirected to the interface.

use std::{fs::File, io, os::fd::AsFd, thread, time::Duration};

use crate::Error;
use aya::{Ebpf, EbpfLoader, maps::Map, programs::Xdp};
use tidewire_live::{
    Interface,
    sys::{
        bpf::{Link as Attachment, Live, Program, XdpMode, load_despite_signals},
        mmap_array::MmapArray,
        net::own_namespace,
    },
};

use super::{
    layout::{CONTROL_BYTES, Fixed, PRIVATE_BYTES, SLOT_BYTES, SLOT_FRAME_BYTES, SLOTS, at, flag, flags},
    plan::{Plan, RunEnd},
    work::{Work, write_number},
};
use crate::{
    Rate,
    rate::TIME_SHIFT,
    traffic::{PATTERN, Traffic},
};

static OBJECT: &[u8] = aya::include_bytes_aligned!("../../objects/generate.bpf.o");

/// Why the kernel sender fails.
pub(super) enum Refusal {
    /// The kernel cannot send; a packet socket may.
    Cannot(Error),
    /// No sender could.
    Fatal(Error),
}

/// The programs and their memory.
pub(super) struct Kernel {
    program: Program,
    _parked: Option<Parked>,
    control: MmapArray,
    slots: MmapArray,
    /// Initial contents of the pool's frames.
    template: Vec<u8>,
    /// Whether the program generates the packets, or sends those in the slots.
    makes: bool,
    batch: u32,
    /// The number after that of the last frame in a slot.
    filled: u64,
    /// The traffic has ended.
    dry: bool,
    /// Frames are sent by the traffic's timestamps.
    timed: bool,
}

/// Least duration of a call of a program that has nothing to send yet, nanoseconds.
const IDLE_NS: u64 = 20;
/// Greatest duration of a call into the kernel with a busy wait.
const SPIN_NS: u64 = 4_000_000;
/// Longer intervals between frames are slept through, nanoseconds.
const NAP_GAP_NS: u64 = 3_000;
/// Least duration of a sleep; frames that become due meanwhile are sent at once.
const NAP_NS: u64 = 100_000;
/// Frames sent before the sender checks whether they are delivered.
const PROBE_FRAMES: u64 = 64;

fn refused(what: &str, error: impl std::error::Error + 'static) -> Error {
    // The system's error is the source of the loader's.
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(current) = cause {
        // `EPERM`; the verifier's refusal is another one.
        if current.downcast_ref::<io::Error>().is_some_and(|error| error.raw_os_error() == Some(1)) {
            return Error::privilege(what, "cap_bpf,cap_net_admin");
        }
        cause = current.source();
    }
    /// How many characters of the verifier's log are shown, from its end.
    const TAIL: usize = 1500;
    let text = error.to_string();
    let skip = text.chars().count().saturating_sub(TAIL);
    let text: String = text.chars().skip(skip).collect();
    Error::System { what: what.into(), source: io::Error::other(text), hint: String::new() }
}

/// Loads one of the programs.
fn load(name: &str) -> Result<(Program, Ebpf), Error> {
    let what = "loading the generator's program";
    let mut object = EbpfLoader::new().load(OBJECT).map_err(|error| refused(what, error))?;
    let missing = || Error::Setting(format!("the generator's object has no program {name}"));
    let program: &mut Xdp =
        object.program_mut(name).ok_or_else(missing)?.try_into().map_err(|error| refused(what, error))?;
    load_despite_signals(|| program.load()).map_err(|error| refused(what, error))?;
    let descriptor = program.fd().map_err(|error| refused(what, error))?.as_fd().try_clone_to_owned();
    let descriptor = descriptor.map_err(|error| refused(what, error))?;
    Ok((Program::from_descriptor(descriptor), object))
}

/// Maps an array of the object.
fn map(object: &Ebpf, name: &str, bytes: usize) -> Result<MmapArray, Error> {
    let Some(Map::Array(data)) = object.map(name) else {
        return Err(Error::Setting(format!("the generator's object has no array {name}")));
    };
    MmapArray::new(data.fd().as_fd(), bytes).map_err(|error| refused("mapping the generator's memory", error))
}

impl Kernel {
    pub fn open(traffic: &dyn Traffic, plan: &Plan, links: &[Interface]) -> Result<Self, Refusal> {
        let longest = traffic.bytes_max();
        if longest > SLOT_FRAME_BYTES {
            let text = format!(
                "frames of {longest} bytes are more than the kernel's pool has room for, which is {SLOT_FRAME_BYTES}"
            );
            return Err(Refusal::Cannot(Error::Setting(text)));
        }
        let flows = traffic.flows();
        if let Some((link, what)) = links.iter().find_map(|link| Some((link, link.loses_redirected()?))) {
            return Err(Refusal::Cannot(Error::Interface { interface: link.name.clone(), what }));
        }
        let (program, object) = load(if flows.is_some() { "flows" } else { "frames" }).map_err(Refusal::Cannot)?;
        let mut control = map(&object, "control", CONTROL_BYTES).map_err(Refusal::Cannot)?;
        let slots = map(&object, "slots", SLOT_BYTES * SLOTS as usize).map_err(Refusal::Cannot)?;
        let mut fixed = Fixed { flags: flows.map_or(0, flags), ..Fixed::default() };
        let private = if fixed.flags & flag::MIXED != 0 { PRIVATE_BYTES } else { 0 };
        let full = flows.map_or(longest, |flows| flows.sizes.bytes_max()) + private;
        let mut template: Vec<u8> = PATTERN.into_iter().cycle().take(full).collect();
        let tail = full - private;
        template.get_mut(tail..).unwrap_or_default().fill(0);
        (fixed.per_packet, fixed.per_byte) = plan.rate.costs();
        fixed.burst = u64::MAX;
        fixed.flags |= match plan.rate {
            Rate::Flat => 0,
            Rate::Timed => flag::TIMED | flag::PACED,
            Rate::Packets(_) | Rate::Bits(_) => flag::PACED,
        };
        fixed.full_bytes = full as u32;
        let index = |at: usize| links.get(at).or(links.first()).map_or(0, |link| link.index);
        fixed.interfaces = [index(0), index(1)];
        let bytes = fixed.bytes(flows);
        if let Some(place) = control.bytes_mut().get_mut(at::PER_PACKET..at::PER_PACKET + bytes.len()) {
            place.copy_from_slice(&bytes);
        }
        let parked = Parked::new(&program);
        Ok(Self {
            program,
            _parked: parked,
            control,
            slots,
            template,
            makes: flows.is_some(),
            batch: plan.batch.clamp(1, 256),
            filled: 0,
            dry: false,
            timed: plan.rate == Rate::Timed,
        })
    }

    pub fn send(&mut self, traffic: &mut dyn Traffic, work: &mut Work<'_>) -> Result<RunEnd, Refusal> {
        self.control.store(at::BURST, work.burst_ns() << TIME_SHIFT);
        let packets_max = work.packets_max();
        self.prepare(traffic, packets_max.min(PROBE_FRAMES));
        work.account.start();
        let mut probed = false;
        let mut called = Duration::ZERO;
        loop {
            self.note(work);
            if let Some(ended) = work.check() {
                return Ok(ended);
            }
            let position = self.position();
            if !probed && position > 0 {
                self.probe(work)?;
                probed = true;
            }
            if probed {
                self.prepare(traffic, packets_max);
            }
            let left = self.filled.saturating_sub(position);
            if left == 0 {
                return Ok(RunEnd::Done);
            }
            let times = match self.pace(left, called, work) {
                Pace::Call(times) => times,
                Pace::Sleep(time) => {
                    thread::sleep(time);
                    continue;
                }
            };
            called = work.account.elapsed();
            self.call(times)?;
            if self.position() > position {
                work.account.last = work.account.elapsed();
            }
        }
    }

    fn position(&self) -> u64 {
        self.control.load(at::POSITION)
    }

    /// Fills the slots, unless the program generates the frames.
    fn prepare(&mut self, traffic: &mut dyn Traffic, until: u64) {
        if self.makes {
            self.filled = until;
        } else {
            let until = until.min(self.position() + SLOTS);
            let numbered = traffic.numbered();
            while !self.dry && self.filled < until {
                let start = (self.filled % SLOTS) as usize * SLOT_BYTES;
                let slot = self.slots.bytes_mut().get_mut(start..start + SLOT_BYTES).unwrap_or_default();
                let Some((head, frame)) = slot.split_first_chunk_mut::<16>() else { return };
                let Some(made) = traffic.next(self.filled, frame) else {
                    self.dry = true;
                    break;
                };
                if numbered {
                    write_number(frame, made.bytes, self.filled);
                }
                let due = made.due_ns.filter(|_| self.timed).unwrap_or(0) << TIME_SHIFT;
                let words = u64::from(made.bytes as u32) << if cfg!(target_endian = "big") { 32 } else { 0 }
                    | u64::from(made.end as u32) << if cfg!(target_endian = "big") { 0 } else { 32 };
                let (first, second) = head.split_at_mut(8);
                first.copy_from_slice(&due.to_ne_bytes());
                second.copy_from_slice(&words.to_ne_bytes());
                self.filled += 1;
            }
        }
        self.control.store(at::END, self.filled);
    }

    /// How many times to call the program now, or how long to sleep instead.
    fn pace(&self, left: u64, called: Duration, work: &Work<'_>) -> Pace {
        /// Frames of a call that does not wait: a few milliseconds.
        const FLAT: u64 = 1 << 16;
        let position = self.position();
        if work.plan.rate == Rate::Flat {
            return Pace::Call(left.min(FLAT));
        }
        let due_ns = self.control.load(at::DUE) >> TIME_SHIFT;
        let gap_ns = due_ns.checked_div(position).unwrap_or(0);
        if position == 0 {
            return Pace::Call(1);
        }
        if gap_ns < NAP_GAP_NS && work.plan.rate != Rate::Timed {
            let spin_ns = (left.saturating_mul(gap_ns)).min(SPIN_NS);
            return Pace::Call(left.min(spin_ns / gap_ns.max(1) + 1) + spin_ns / IDLE_NS);
        }
        let now_ns = work.account.elapsed().as_nanos() as u64;
        let nap_ns = NAP_NS.min(work.burst_ns() / 2 + 1);
        let wake_ns = (called.as_nanos() as u64 + nap_ns).max(due_ns);
        if wake_ns > now_ns && work.plan.rate != Rate::Timed {
            return Pace::Sleep(Duration::from_nanos(wake_ns - now_ns).min(work.patience()));
        }
        let wait_ns = self.next_due_ns().saturating_sub(now_ns);
        if wait_ns > NAP_NS {
            return Pace::Sleep(Duration::from_nanos(wait_ns - NAP_NS / 2).min(work.patience()));
        }
        let became_due = now_ns.saturating_sub(due_ns).checked_div(gap_ns).unwrap_or(left) + 1;
        Pace::Call(became_due.min(left) + wait_ns / IDLE_NS)
    }

    /// When the next frame is due by its timestamp.
    fn next_due_ns(&self) -> u64 {
        let start = (self.position() % SLOTS) as usize * SLOT_BYTES;
        if self.makes { 0 } else { self.slots.load(start) >> TIME_SHIFT }
    }

    fn call(&self, times: u64) -> Result<(), Refusal> {
        /// `EINVAL`: kernels before 5.18 have no live frames. `EPERM`.
        const UNKNOWN: i32 = 22;
        const NOT_ALLOWED: i32 = 1;
        let count = u32::try_from(times.clamp(1, 1 << 30)).unwrap_or(1);
        match self.program.run_live(&self.template, Live { count, batch: self.batch, from: None }) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) if error.raw_os_error() == Some(NOT_ALLOWED) => {
                Err(Refusal::Cannot(Error::privilege("sending from the kernel", "cap_bpf,cap_net_admin")))
            }
            Err(source) => {
                let hint = if source.raw_os_error() == Some(UNKNOWN) { "; live frames need Linux 5.18" } else { "" };
                let what = "sending from the kernel".into();
                Err(Refusal::Cannot(Error::System { what, source, hint: hint.into() }))
            }
        }
    }

    /// Reads the program's account.
    fn note(&self, work: &mut Work<'_>) {
        let account = &mut work.account;
        for (packets, at) in account.packets.iter_mut().zip(at::SENT) {
            *packets = self.control.load(at);
        }
        account.cable_bytes = self.control.load(at::BYTES);
        account.failed = self.control.load(at::FAILED);
        account.late = self.control.load(at::LATE);
    }

    /// Whether the first frames were delivered: an interface that accepts none from XDP drops them silently.
    fn probe(&self, work: &mut Work<'_>) -> Result<(), Refusal> {
        const TRIES: u32 = 40;
        self.note(work);
        for _ in 0..TRIES {
            let counts = work.account.counted().map_err(Refusal::Fatal)?;
            if counts.iter().any(|counts| counts.tx_packets + counts.tx_dropped > 0) {
                if work.plan.rate != Rate::Timed {
                    // The time of the probe is no delay.
                    self.control.store(at::START_NS, 0);
                    self.control.store(at::DUE, 0);
                    work.account.start();
                }
                return Ok(());
            }
            thread::sleep(Duration::from_millis(5));
        }
        let interface = work.plan.interfaces.join(" and ");
        let what = "takes no redirected frames; at a veth's other end: ethtool -K PEER gro on".into();
        Err(Refusal::Cannot(Error::Interface { interface, what }))
    }
}

/// The program attached to the loopback interface of an empty namespace, where it never runs.
///
/// The kernel calls XDP programs through a dispatcher, which it rewrites when a program's first use begins and its last one
/// ends (kernel/bpf/dispatcher.c). Without a permanent use each call here would take tens of milliseconds.
struct Parked {
    _attachment: Attachment,
    _namespace: File,
}

impl Parked {
    /// `None` if that is not allowed: then calls take longer.
    fn new(program: &Program) -> Option<Self> {
        const LOOPBACK: u32 = 1;
        let park = || {
            own_namespace().ok()?;
            let namespace = File::open("/proc/thread-self/ns/net").ok()?;
            let attachment = Attachment::xdp(program.as_fd(), LOOPBACK, XdpMode::Generic).ok()?;
            Some(Self { _attachment: attachment, _namespace: namespace })
        };
        thread::scope(|scope| scope.spawn(park).join()).ok().flatten()
    }
}

enum Pace {
    /// This many times.
    Call(u64),
    /// Not yet.
    Sleep(Duration),
}

/// The receiving end of a veth pair: an XDP program that counts frames and drops them. It is detached when this is dropped.
pub struct Sink {
    _attachment: Attachment,
    object: Ebpf,
}

impl Sink {
    /// Attaches it to an interface, in native mode.
    ///
    /// # Errors
    /// The interface does not exist, the kernel refuses, or privileges are missing.
    pub fn attach(interface: &str) -> Result<Self, Error> {
        let link = Interface::find(interface)?;
        let (program, object) = load("sink")?;
        let attachment = Attachment::xdp(program.as_fd(), link.index, XdpMode::Native);
        let what = format!("{interface}: attaching an XDP program");
        let attachment = attachment.map_err(|source| Error::System { what, source, hint: String::new() })?;
        Ok(Self { _attachment: attachment, object })
    }

    /// Frames and bytes so far.
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn counted(&self) -> Result<(u64, u64), Error> {
        let Some(Map::PerCpuArray(data)) = self.object.map("sunk") else { return Ok((0, 0)) };
        let what = "reading a map";
        let map = tidewire_live::sys::bpf::Map::from_descriptor(data.fd().as_fd());
        let values = map.and_then(|map| map.first()).map_err(|error| refused(what, error))?;
        let mut counted = (0, 0);
        for pair in values.chunks_exact(16) {
            let word =
                |at: usize| pair.get(at..).and_then(|bytes| bytes.first_chunk()).copied().map_or(0, u64::from_ne_bytes);
            counted = (counted.0 + word(0), counted.1 + word(8));
        }
        Ok(counted)
    }
}
