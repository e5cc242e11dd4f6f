//! Hardware counters, and the requests by which a program under callgrind starts and stops counting.

use std::{
    fs::File,
    io::{self, Read},
    os::fd::FromRawFd,
};

/// `perf_event_attr`, version 0 (linux/perf_event.h, PERF_ATTR_SIZE_VER0).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const ATTRIBUTES_BYTES: u32 = 64;
const HARDWARE: u32 = 0;
const CACHE: u32 = 3;
/// Do not count the hypervisor.
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const READ_MISS: u64 = 1 << 16;

/// Counted events: name, type and configuration of the kernel.
const EVENTS: [(&str, u32, u64); 4] = [
    ("cycles", HARDWARE, 0),
    ("L1d misses", CACHE, READ_MISS),
    ("last-level misses", CACHE, 2 | READ_MISS),
    ("cache misses", HARDWARE, 3),
];

/// Counters of this thread, in user mode and kernel.
#[derive(Debug)]
pub struct Counters {
    files: Vec<(&'static str, File)>,
}

impl Counters {
    /// Starts counting.
    ///
    /// # Errors
    /// The kernel's error: virtual machines often have no counters (ENOENT), containers may not use them (EACCES).
    pub fn start() -> io::Result<Self> {
        let mut files = Vec::new();
        for (name, kind, config) in EVENTS {
            let attributes =
                Attributes { kind, size: ATTRIBUTES_BYTES, config, flags: EXCLUDE_HYPERVISOR, ..Attributes::default() };
            // SAFETY: the structure is as the kernel knows it and lives throughout the call; 0, -1, -1, 0: this thread,
            // any core, no group, no flags.
            let descriptor = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, 0) };
            let Ok(descriptor) = i32::try_from(descriptor) else { continue };
            if descriptor >= 0 {
                // SAFETY: the descriptor is new and has no other owner.
                files.push((name, unsafe { File::from_raw_fd(descriptor) }));
            } else if name == EVENTS[0].0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self { files })
    }

    /// The counts since the start, by name.
    #[must_use]
    pub fn read(&mut self) -> Vec<(&'static str, u64)> {
        let mut values = Vec::new();
        for (name, file) in &mut self.files {
            let mut bytes = [0; 8];
            if file.read_exact(&mut bytes).is_ok() {
                values.push((*name, u64::from_ne_bytes(bytes)));
            }
        }
        values
    }
}

/// Client requests to callgrind (valgrind/callgrind.h).
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub enum Callgrind {
    /// Reset the counts.
    Zero = 0x4354_0001,
    /// Start counting.
    Start = 0x4354_0004,
    /// Stop counting.
    Stop = 0x4354_0005,
}

/// Sends a request. It has no effect unless the program runs under callgrind.
#[cfg(target_arch = "x86_64")]
pub fn callgrind(request: Callgrind) {
    let arguments: [u64; 6] = [request as u64, 0, 0, 0, 0, 0];
    // SAFETY: the sequence that valgrind recognises (valgrind/valgrind.h): rotations by 128 bits in all and an exchange of a
    // register with itself, which leave every register as it was. Under valgrind it reads six words at rax and writes rdx.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") 0_u64 => _,
        );
    }
}

/// Sends a request. It has no effect unless the program runs under callgrind.
#[cfg(not(target_arch = "x86_64"))]
pub fn callgrind(_: Callgrind) {}

/// The time stamp counter: cycles at the processor's nominal rate; 0 on other architectures.
#[must_use]
pub fn reference_cycles() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, and it has no other effect.
    let cycles = unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    let cycles = 0;
    cycles
}
