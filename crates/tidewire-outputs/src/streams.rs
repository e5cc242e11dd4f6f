//! Standard streams, as the process was given them.
//!
//! Rust's runtime opens the null device for each of the three that is closed, before `main`: what is written there is lost without an error, and
//! nothing tells it from what is thrown away on purpose.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::{
    io::{Errno, fcntl_getfd},
    stdio,
};

static IS_OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

// JUSTIFICATION: nothing but functions of this section runs before the runtime opens the null device.
// SAFETY: the section holds pointers to functions of C's calling convention, which the loader calls with arguments that this one
// leaves alone. It asks for flags of a descriptor and stores to an atomic: it needs nothing that is set up later, and does not panic.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    IS_OUTPUT_CLOSED.store(fcntl_getfd(stdio::stdout()) == Err(Errno::BADF), Ordering::Relaxed);
}

/// Whether standard output was closed when the process began.
#[must_use]
pub fn is_output_closed() -> bool {
    IS_OUTPUT_CLOSED.load(Ordering::Relaxed)
}
