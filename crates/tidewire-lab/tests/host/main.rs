//! The engine against the network stack of the running kernel. Needs root and `ip`; each test says so otherwise.
#![forbid(unsafe_code)]

mod differential;
mod oracle;

use std::sync::RwLock;

/// Held for writing by tests that depend on the host's timers, which other tests on the same cores would delay.
static TIMERS: RwLock<()> = RwLock::new(());
