//! The engine by its events: packets in, calls of the handler out. One file for each subject.
#![forbid(unsafe_code)]

mod bounds;
mod capture_losses;
mod checksum_status;
mod checksums;
mod closing;
mod common;
mod delivery;
mod duplicates;
mod encapsulation;
mod fast_path;
mod frames;
mod fuzz_findings;
mod handshakes;
mod linux_host;
mod list_bounds;
mod long_streams;
mod midstream;
mod model;
mod multipath;
mod packets;
mod settings;
mod shunt;
mod tcp;
mod unconfirmed;
mod unseen;
mod vectors;
