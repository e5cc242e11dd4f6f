//! What the engine says that it has taken, against an allocator that counts: see `fuzz/drivers/engine/mod.rs`. Its seeds are
//! those of the target `engine`.
#![no_main]

#[path = "../../crates/tidewire-lab/src/sys/counting.rs"]
mod counting;
#[path = "../drivers/engine/mod.rs"]
mod driver;

use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

fuzz_target!(|input: &[u8]| driver::run_counted(input, counting::allocated_bytes));
