//! The fields of a message.

use std::time::Duration;
use tidewire_types::saturating_nanos;

use crate::value::{Members, text_bytes};

/// The fields of an answer, else of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ntp {
    /// The version, 1 to 4.
    pub version: u8,
    /// The mode: 1 and 2 symmetric, 3 client, 4 server, 5 broadcast.
    pub mode: u8,
    /// How far the server is from a clock.
    pub stratum: u8,
    /// Whom the server follows: a clock's name (stratum 1), a code (stratum 0), else an address.
    pub reference: Option<Box<str>>,
    /// From the request to the answer, where both were seen.
    pub latency: Option<Duration>,
}

impl Ntp {
    pub(crate) fn request(&self) -> String {
        format!("version {}", self.version)
    }

    pub(crate) fn response(&self) -> String {
        match &self.reference {
            Some(reference) => format!("stratum {} {reference}", self.stratum),
            None => String::new(),
        }
    }

    pub(crate) fn values<'a>(&'a self, list: &mut Members<'_, 'a>) {
        list.number("version", Some(self.version.into()));
        list.number("mode", Some(self.mode.into()));
        list.number("stratum", Some(self.stratum.into()));
        list.text("reference", &self.reference);
        list.number("latency_ns", self.latency.map(saturating_nanos));
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + text_bytes([&self.reference])
    }
}
