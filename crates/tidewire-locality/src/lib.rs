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
mod prefetch;
mod radix;
mod service;
mod settings;
mod sorter;

pub use adaptive::{Adaptive, Verdict};
pub use error::SettingError;
pub use prefetch::prefetch;
pub use service::{is_known_port, service_port};
pub use settings::{BATCH_FRAMES, BATCH_FRAMES_MAX, BATCH_FRAMES_MIN, Settings, TIMEOUT, TIMEOUT_MAX, TIMEOUT_MIN};
pub use sorter::Sorter;

use std::{fmt, str::FromStr};

#[cfg(test)]
mod tests;

/// What packets are brought together by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Key {
    /// The destination port of TCP, UDP, SCTP and UDP-Lite, ascending; other packets last. Packets to port 65,535 are
    /// among those. The paper's key.
    Port,
    /// The service's port, see [`service_port`]: both directions of a conversation together, and all conversations of a
    /// service.
    #[default]
    Service,
    /// The conversation, and the conversations of one service beside each other. Packets of IP without ports (ICMP, ESP) go
    /// by their addresses, after those with ports; packets that are not IP last.
    Flow,
}

impl Key {
    /// Every key.
    pub const ALL: [Self; 3] = [Self::Port, Self::Service, Self::Flow];

    /// As settings name it: `port`, `service` or `flow`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Port => "port",
            Self::Service => "service",
            Self::Flow => "flow",
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Key {
    type Err = SettingError;

    fn from_str(name: &str) -> Result<Self, SettingError> {
        let key = Self::ALL.into_iter().find(|key| key.name() == name);
        key.ok_or_else(|| SettingError::UnknownKey { name: name.into() })
    }
}
