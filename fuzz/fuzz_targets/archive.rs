//! See `fuzz/drivers/archive.rs`, which the seeds' test runs too.
#![no_main]

#[path = "../drivers/archive.rs"]
mod driver;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

/// In memory, where there is such a place.
static FOLDER: OnceLock<TempDir> = OnceLock::new();

fuzz_target!(|input: &[u8]| {
    let folder =
        FOLDER.get_or_init(|| tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder"));
    driver::run(folder.path(), input);
});
