//! Keys in memory: no other process reads them, and they are not written to a disk.

use rustix::{
    mm::{MlockAllFlags, mlockall},
    process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit},
};

/// Keeps the memory of this process to itself: no process of the same user traces it, no core file has it, and where the limit of
/// locked memory can be lifted (root, or `LimitMEMLOCK=infinity` of systemd) no page of it is written to swap. Returns what could not
/// be done and is worth a warning.
#[must_use]
pub fn protect() -> Option<String> {
    let hidden = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    // With a limit, memory that is needed later would be refused.
    if setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None }).is_ok() {
        // Pages are locked as they are used. A kernel without that leaves them as they are.
        let _ = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT);
    }
    hidden.err().map(|error| format!("processes of the same user can trace this one: {error}"))
}
