//! Loading eBPF programs and running them over packets of one's own.
//!
//! JUSTIFICATION: `bpf(2)` has no wrapper in the standard library, and its arguments are addresses.
#![allow(unsafe_code)]

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
};

/// Commands of `bpf(2)` (include/uapi/linux/bpf.h).
const MAP_CREATE: libc::c_long = 0;
const MAP_LOOKUP: libc::c_long = 1;
const PROGRAM_LOAD: libc::c_long = 5;
const PROGRAM_TEST_RUN: libc::c_long = 10;

/// `BPF_PROG_TYPE_SOCKET_FILTER`
pub const SOCKET_FILTER: u32 = 1;
/// `BPF_PROG_TYPE_XDP`
pub const XDP: u32 = 6;
/// `BPF_MAP_TYPE_ARRAY`
pub const ARRAY: u32 = 2;
/// `BPF_MAP_TYPE_LRU_HASH`
pub const LRU_HASH: u32 = 9;
/// `BPF_MAP_TYPE_XSKMAP`
pub const XSK_MAP: u32 = 17;

/// Of the verifier's log, its end is shown, this many bytes.
const LOG_TAIL_BYTES: usize = 1500;

/// The union that `bpf(2)` takes, as 64-bit words; what is not set is 0.
type Attributes = [u64; 18];

/// Two 32-bit fields that share a word.
fn pair(first: u32, second: u32) -> u64 {
    let ([a, b, c, d], [e, f, g, h]) = (first.to_ne_bytes(), second.to_ne_bytes());
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

/// The second of them.
fn second(word: u64) -> u32 {
    let [.., e, f, g, h] = word.to_ne_bytes();
    u32::from_ne_bytes([e, f, g, h])
}

fn address<T>(of: &[T]) -> u64 {
    of.as_ptr() as u64
}

fn bpf(command: libc::c_long, attributes: &mut Attributes) -> io::Result<RawFd> {
    let bytes = size_of::<Attributes>();
    // SAFETY: the attributes live throughout the call; every address in them is of a slice that the caller borrows for as
    // long, with its length beside it.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_mut_ptr(), bytes) };
    RawFd::try_from(result).ok().filter(|descriptor| *descriptor >= 0).ok_or_else(io::Error::last_os_error)
}

fn owned(descriptor: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just made this descriptor for us.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

/// A map; it goes away with its last descriptor and the last program that uses it.
#[derive(Debug)]
pub struct Map {
    descriptor: OwnedFd,
    value_bytes: usize,
}

impl Map {
    /// Makes one.
    ///
    /// # Errors
    /// What the kernel says: privileges are needed.
    pub fn new(kind: u32, key_bytes: u32, value_bytes: u32, entries: u32) -> io::Result<Self> {
        let mut attributes = [0; 18];
        (attributes[0], attributes[1]) = (pair(kind, key_bytes), pair(value_bytes, entries));
        Ok(Self { descriptor: owned(bpf(MAP_CREATE, &mut attributes)?), value_bytes: value_bytes as usize })
    }

    /// Its number in this process, as programs take it.
    #[must_use]
    pub fn number(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// The first value of an array.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn first(&self) -> io::Result<Vec<u8>> {
        let (key, value) = ([0_u32], vec![0_u8; self.value_bytes]);
        let mut attributes = [0; 18];
        attributes[..3].copy_from_slice(&[pair(self.number() as u32, 0), address(&key), address(&value)]);
        bpf(MAP_LOOKUP, &mut attributes)?;
        Ok(value)
    }
}

/// A loaded program.
#[derive(Debug)]
pub struct Program {
    descriptor: OwnedFd,
    /// How many instructions the verifier looked at.
    pub verified: u64,
}

impl Program {
    /// Loads a program through the verifier. `instructions` are as the kernel takes them, 8 bytes each.
    ///
    /// # Errors
    /// What the kernel says, with the end of the verifier's log.
    pub fn load(kind: u32, instructions: &[u8]) -> io::Result<Self> {
        const LICENSE: &[u8] = b"Dual MIT/GPL\0";
        /// `BPF_LOG_STATS`: figures only; `BPF_LOG_LEVEL1`: the way to an error.
        const STATISTICS: u32 = 4;
        const WAY: u32 = 1;
        let count = (instructions.len() / 8) as u32;
        let load = |level: u32, log: &mut Vec<u8>| {
            let mut attributes = [0; 18];
            attributes[..5].copy_from_slice(&[
                pair(kind, count),
                address(instructions),
                address(LICENSE),
                pair(level, log.len() as u32),
                address(log),
            ]);
            bpf(PROGRAM_LOAD, &mut attributes)
        };
        let mut log = vec![0; 1 << 12];
        match load(STATISTICS, &mut log) {
            Ok(descriptor) => {
                let log = text(&log);
                let verified = log.split("processed ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
                Ok(Self { descriptor: owned(descriptor), verified: verified.unwrap_or(0) })
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && text(&log).is_empty() => Err(error),
            Err(_) => {
                let mut log = vec![0; 16 << 20];
                let error = load(WAY, &mut log).err().unwrap_or_else(|| io::ErrorKind::Other.into());
                let log = text(&log);
                let from = log.len().saturating_sub(LOG_TAIL_BYTES);
                Err(io::Error::new(error.kind(), format!("{error}: …{}", log.get(from..).unwrap_or(&log))))
            }
        }
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
        Ok(second(self.test_run(frame, 1)?[0]))
    }

    /// Runs it so many times over one frame and returns how long one run took, nanoseconds.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn time(&self, frame: &[u8], times: u32) -> io::Result<u32> {
        Ok(second(self.test_run(frame, times)?[4]))
    }

    fn test_run(&self, frame: &[u8], times: u32) -> io::Result<Attributes> {
        let mut attributes = [0; 18];
        attributes[..5].copy_from_slice(&[
            pair(self.descriptor.as_raw_fd() as u32, 0),
            pair(frame.len() as u32, 0),
            address(frame),
            0,
            pair(times, 0),
        ]);
        bpf(PROGRAM_TEST_RUN, &mut attributes)?;
        Ok(attributes)
    }
}

/// A log up to its first 0.
fn text(log: &[u8]) -> String {
    String::from_utf8_lossy(log.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}
