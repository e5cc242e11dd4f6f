use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
};

use super::{address, address_mut, bpf, command, first, owned, pair, second};
use crate::error::system_error;

/// Of the verifier's log, its end is shown, this many bytes.
const LOG_TAIL_BYTES: usize = 1500;
/// How often a program is loaded until signals leave the verifier alone.
const TRIES: u32 = 10;
/// `BPF_F_XDP_HAS_FRAGS`
const HAS_FRAGS: u32 = 1 << 5;
/// `BPF_F_TEST_XDP_LIVE_FRAMES`
const LIVE_FRAMES: u32 = 1 << 1;

/// How a program is loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// It can cope with XDP frames of several buffers (`BPF_F_XDP_HAS_FRAGS`): without that no interface with large
    /// frames takes it. Tail calls only reach programs of the same setting.
    pub frags: bool,
    /// `expected_attach_type`, for the kinds that ask for one; 0 else. XDP: 0, or `BPF_XDP` (37), the same for all
    /// programs that call each other.
    pub attach: u32,
}

/// A loaded program.
#[derive(Debug)]
pub struct Program {
    descriptor: OwnedFd,
    /// How many instructions the verifier looked at.
    pub verified: u64,
}

/// The result of a test run over a packet.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The program's return value.
    pub returned: u32,
    /// How long one run took, nanoseconds.
    pub took_ns: u32,
    /// The packet after the run.
    pub packet: Vec<u8>,
}

/// A run whose frames really go where the program says (`BPF_F_TEST_XDP_LIVE_FRAMES`).
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// How many frames.
    pub count: u32,
    /// How many at once, at most 256; 0: the kernel's 64.
    pub batch: u32,
    /// The interface they seem to come from, and its receive queue.
    pub from: Option<(u32, u32)>,
}

/// Loads again where a signal interrupted the verifier (`EAGAIN`: `do_check` in kernel/bpf/verifier.c), at most 10 times in all.
///
/// # Errors
/// What `load` returned last.
pub fn load_despite_signals<T, E: std::error::Error + 'static>(mut load: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    for _ in 1..TRIES {
        match load() {
            Err(error) if system_error(&error).is_some_and(|error| error.kind() == io::ErrorKind::WouldBlock) => {}
            result => return result,
        }
    }
    load()
}

impl Program {
    /// Loads a program through the verifier. `instructions` are as the kernel takes them, 8 bytes each.
    ///
    /// # Errors
    /// What the kernel says, with the end of the verifier's log.
    pub fn load(kind: u32, instructions: &[u8]) -> io::Result<Self> {
        Self::load_with(kind, instructions, Load::default())
    }

    /// The same with settings.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_with(kind: u32, instructions: &[u8], settings: Load) -> io::Result<Self> {
        const LICENSE: &[u8] = b"Dual MIT/GPL\0";
        /// `BPF_LOG_STATS`: figures only; `BPF_LOG_LEVEL1`: the way to an error.
        const STATISTICS: u32 = 4;
        const WAY: u32 = 1;
        let count = (instructions.len() / 8) as u32;
        let load = |level: u32, log: &mut Vec<u8>| {
            let mut attributes = [0; 18];
            attributes[..6].copy_from_slice(&[
                pair(kind, count),
                address(instructions),
                address(LICENSE),
                pair(level, log.len() as u32),
                address_mut(log),
                pair(0, if settings.frags { HAS_FRAGS } else { 0 }),
            ]);
            attributes[8] = pair(0, settings.attach);
            load_despite_signals(|| bpf(command::PROGRAM_LOAD, &mut attributes))
        };
        let loaded = |descriptor, log: &[u8]| {
            let log = text(log);
            let verified = log.split("processed ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
            Self { descriptor: owned(descriptor), verified: verified.unwrap_or(0) }
        };
        let mut log = vec![0; 1 << 12];
        match load(STATISTICS, &mut log) {
            Ok(descriptor) => Ok(loaded(descriptor, &log)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && text(&log).is_empty() => Err(error),
            Err(_) => {
                let mut log = vec![0; 16 << 20];
                match load(WAY, &mut log) {
                    // The obstacle of the first attempt has gone.
                    Ok(descriptor) => Ok(loaded(descriptor, &log)),
                    Err(error) => Err(refused(&error, &text(&log))),
                }
            }
        }
    }

    /// Another handle of a program that was loaded elsewhere.
    #[must_use]
    pub fn from_descriptor(descriptor: OwnedFd) -> Self {
        Self { descriptor, verified: 0 }
    }

    /// Its number in this process, as sockets take it.
    #[must_use]
    pub fn number(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// Runs it over one Ethernet frame and returns what it returned.
    ///
    /// # Errors
    /// What the kernel says: frames have 14 bytes at least and fit a page with room to spare.
    pub fn run(&self, frame: &[u8]) -> io::Result<u32> {
        Ok(self.run_with(frame, &mut [], 1)?.returned)
    }

    /// Runs it so many times over one frame and returns how long one run took, nanoseconds.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn time(&self, frame: &[u8], times: u32) -> io::Result<u32> {
        Ok(self.run_with(frame, &mut [], times)?.took_ns)
    }

    /// Runs it over one frame and a context (`struct __sk_buff` or `struct xdp_md`, or nothing), which is as the program
    /// left it afterwards.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run_with(&self, frame: &[u8], context: &mut [u8], times: u32) -> io::Result<Outcome> {
        // A program may make a packet longer.
        let mut packet = vec![0; frame.len() + 1024];
        let mut attributes = [0; 18];
        let has_context = !context.is_empty();
        let context_at = if has_context { address_mut(context) } else { 0 };
        attributes[..8].copy_from_slice(&[
            pair(self.number() as u32, 0),
            pair(frame.len() as u32, packet.len() as u32),
            address(frame),
            address_mut(&mut packet),
            pair(times, 0),
            pair(context.len() as u32, context.len() as u32),
            context_at,
            context_at,
        ]);
        bpf(command::PROGRAM_TEST_RUN, &mut attributes)?;
        packet.truncate(second(attributes[1]) as usize);
        Ok(Outcome { returned: second(attributes[0]), took_ns: second(attributes[4]), packet })
    }

    /// Has the kernel make frames of one and send each where this XDP program says. Returns how long one took, nanoseconds.
    ///
    /// # Errors
    /// As [`Program::run`]; kernels before 5.18 do not know it.
    pub fn run_live(&self, frame: &[u8], live: Live) -> io::Result<u32> {
        // struct xdp_md: data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex.
        let (interface, queue) = live.from.unwrap_or_default();
        let context = [0, frame.len() as u32, 0, interface, queue, 0];
        let (context_at, context_bytes) =
            if live.from.is_some() { (address(&context), size_of_val(&context) as u32) } else { (0, 0) };
        let mut attributes = [0; 18];
        attributes[..10].copy_from_slice(&[
            pair(self.number() as u32, 0),
            pair(frame.len() as u32, 0),
            address(frame),
            0,
            pair(live.count, 0),
            pair(context_bytes, 0),
            context_at,
            0,
            pair(LIVE_FRAMES, 0),
            pair(live.batch, 0),
        ]);
        bpf(command::PROGRAM_TEST_RUN, &mut attributes)?;
        debug_assert_eq!(first(attributes[0]), self.number() as u32);
        Ok(second(attributes[4]))
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// The kernel's error with the verifier's last lines.
fn refused(error: &io::Error, log: &str) -> io::Error {
    let mut from = log.len().saturating_sub(LOG_TAIL_BYTES);
    while !log.is_char_boundary(from) {
        from += 1;
    }
    let dots = if from > 0 { "…" } else { "" };
    io::Error::new(error.kind(), format!("{error}: {dots}{}", log.get(from..).unwrap_or_default().trim_end()))
}

/// A log up to its first 0.
fn text(log: &[u8]) -> String {
    String::from_utf8_lossy(log.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}
