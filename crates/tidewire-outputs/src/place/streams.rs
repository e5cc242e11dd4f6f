//! Standard streams, as the process was given them.
//!
//! Rust's runtime opens the null device for each of the three that is closed, before `main`: what is written there is lost without an error, and
//! nothing tells it from what is thrown away on purpose. What it says of one that is open for reading only is as little: it takes the refusal of the
//! kernel (`EBADF`) for success.
#![allow(unsafe_code)]

use std::{
    io,
    sync::atomic::{AtomicU8, Ordering},
};

use rustix::{
    fs::{OFlags, fcntl_getfl},
    io::Errno,
    stdio,
};

/// What standard output was when the process began: [`CLOSED`], [`READ_ONLY`], or open.
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
