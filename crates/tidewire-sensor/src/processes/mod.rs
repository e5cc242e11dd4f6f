//! Processes that belong to another one: what they leave behind, and how none outlives it.

pub mod orphans;
pub mod program;
pub mod watchdog;
