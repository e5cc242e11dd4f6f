//! Locality buffering: the order in which a batch of packets is handed over, so that packets which make an application
//! touch the same memory follow each other.
//!
//! A [`Sorter`] gives the order of a batch's frames by a [`Key`]. Nothing is copied and nothing is altered: the frames stay
//! where they lie, with their timestamps, and what is sorted is their indices. An [`Adaptive`] measures whether that pays and
//! turns it off where it does not.
//!
//! # What order is kept
//! The order is stable: packets of the same key are handed over as they were captured, and batches follow each other. So
//!
//! - with [`Key::Port`] the packets of one *direction* of a conversation keep their order; the other direction's go to
//!   another port and may come before or after them (the paper's way);
//! - with [`Key::Service`] and [`Key::Flow`] both directions have the same key: the whole *conversation* keeps its order.
//!
//! Fragments of one datagram keep their order among each other whatever the key, and go with their datagram's packets where
//! the fragment that holds the ports is in the same batch. Otherwise, as packets without a key, they come last.
//!
//! A packet's flow is that of the innermost packet which the walk finds, as everywhere in Tidewire. Only where a tunnel's own
//! packets arrive in fragments, the whole batch is ordered by its outermost headers: an inner flow of which some packets
//! are fragments of the tunnel and some are not would lose its order otherwise.
//!
//! Source: "Improving the Performance of Passive Network Monitoring Applications using Locality Buffering".

#![deny(unsafe_code)]

mod adaptive;
mod error;
mod extract;
mod fragments;
mod key;
mod limits;
mod prefetch;
mod radix;
mod service;
mod settings;
mod sorter;

pub use adaptive::{Adaptive, Verdict};
pub use error::SettingError;
pub use key::Key;
pub use limits::{BATCH_FRAMES, BATCH_FRAMES_MAX, BATCH_FRAMES_MIN, TIMEOUT, TIMEOUT_MAX, TIMEOUT_MIN};
pub use prefetch::prefetch;
pub use service::{is_known_port, service_port};
pub use settings::Settings;
pub use sorter::Sorter;

#[cfg(test)]
mod tests;

/// The examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
