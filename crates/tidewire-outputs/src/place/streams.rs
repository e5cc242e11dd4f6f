//! Standard streams, as the process was given them.
//!
//! Rust's runtime opens the null device for each of the three that is closed, before `main`: output is lost there without an error, as if it were
//! discarded on purpose. Output to a stream that is open for reading only is lost as well: the runtime takes the kernel's refusal (`EBADF`) for
//! success.
#![allow(unsafe_code)]

use std::{
    io::{self, Write},
    os::fd::{AsFd, AsRawFd as _, RawFd},
    sync::atomic::{AtomicI32, AtomicU8, Ordering},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{OFlags, fcntl_getfl},
    io::Errno,
    stdio,
};

/// The state of standard output when the process began: [`CLOSED`], [`READ_ONLY`], or open.
static OUTPUT: AtomicU8 = AtomicU8::new(0);
const CLOSED: u8 = 1;
const READ_ONLY: u8 = 2;

// JUSTIFICATION: nothing but functions of this section runs before the runtime opens the null device.
// SAFETY: the section holds pointers to functions of C's calling convention, which the loader calls with arguments that this one
// leaves alone. It asks for flags of a descriptor and stores to an atomic: it needs nothing that is set up later, and does not panic.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    let found = match fcntl_getfl(stdio::stdout()) {
        Err(Errno::BADF) => CLOSED,
        Ok(flags) if !flags.intersects(OFlags::WRONLY | OFlags::RDWR) => READ_ONLY,
        _ => 0,
    };
    OUTPUT.store(found, Ordering::Relaxed);
}

/// Why nothing can be written to the standard output that the process began with, if so.
#[must_use]
pub fn output_fault() -> Option<&'static str> {
    match OUTPUT.load(Ordering::Relaxed) {
        CLOSED => Some("standard output was closed when the program began"),
        READ_ONLY => Some("standard output is open for reading only"),
        _ => None,
    }
}

/// Whether anything can be written to standard output ([`output_fault`]).
///
/// # Errors
/// It was closed, or is open for reading only.
pub fn check() -> io::Result<()> {
    output_fault().map_or(Ok(()), |why| Err(io::Error::other(why)))
}

/// The descriptor that [`write()`] waits for; -1: none.
static AWAITED: AtomicI32 = AtomicI32::new(-1);

/// The descriptor whose reader a thread waits for in this module.
#[must_use]
pub fn awaited() -> Option<RawFd> {
    Some(AWAITED.load(Ordering::Relaxed)).filter(|descriptor| *descriptor >= 0)
}

/// Writes to a stream that another process may have set not to block (`O_NONBLOCK` belongs to all who share a pipe): where it is full, this
/// waits for its reader, as for any other.
///
/// # Errors
/// As [`Write::write`], without `WouldBlock`.
pub fn write(stream: &mut (impl Write + AsFd), bytes: &[u8]) -> io::Result<usize> {
    loop {
        match stream.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(stream)?,
            written => return written,
        }
    }
}

/// Flushes such a stream.
///
/// # Errors
/// As [`Write::flush`], without `WouldBlock`.
pub fn flush(stream: &mut (impl Write + AsFd)) -> io::Result<()> {
    loop {
        match stream.flush() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(stream)?,
            flushed => return flushed,
        }
    }
}

/// Writes all bytes to such a stream.
///
/// # Errors
/// As [`write()`]; `WriteZero`.
pub fn write_all(stream: &mut (impl Write + AsFd), mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match write(stream, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits until a stream accepts bytes, or has an error to report.
fn wait(stream: &impl AsFd) -> io::Result<()> {
    let stream = stream.as_fd();
    AWAITED.store(stream.as_raw_fd(), Ordering::Relaxed);
    let polled = rustix::io::retry_on_intr(|| poll(&mut [PollFd::from_borrowed_fd(stream, PollFlags::OUT)], None));
    AWAITED.store(-1, Ordering::Relaxed);
    Ok(polled.map(drop)?)
}
