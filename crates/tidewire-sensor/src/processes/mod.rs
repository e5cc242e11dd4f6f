//! Processes that belong to another one: what they leave behind, and how none outlives it.

pub mod backoff;
pub mod orphans;
pub mod program;
pub mod watchdog;

/// Keeps other processes of the same user from reading this one's memory and taking its descriptors (`PR_SET_DUMPABLE`, prctl(2)).
/// It writes no core file either.
pub fn hide() {
    // Where the kernel refuses, these processes are as before.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}
