//! `tidewire sensor`: real processes, started, killed, ended; nothing is left.
#![cfg(feature = "live")]

mod ends;
mod events;
mod kills;
mod notify;
mod outages;
mod record;
mod records;
mod reload;
mod rig;
mod unit;
mod usage;
