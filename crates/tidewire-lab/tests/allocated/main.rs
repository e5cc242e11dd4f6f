//! Charged memory is allocated memory: the engine's own account against an allocator that counts. A process of its own, for the
//! allocator.
#![forbid(unsafe_code)]

mod floods;
mod seeds;

use std::sync::Mutex;

use tidewire_lab::sys::counting::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Held by each test: the allocator counts for the whole process.
static COUNTED: Mutex<()> = Mutex::new(());
