//! The fields of a message.

use crate::value::{Value, push_number, push_text, text_bytes};

/// The fields of an answer, else of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    pub latency_ns: Option<u64>,
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

    pub(crate) fn values(&self) -> Vec<(&'static str, Value<'_>)> {
        let mut list = Vec::with_capacity(5);
        push_number(&mut list, "version", Some(self.version.into()));
        push_number(&mut list, "mode", Some(self.mode.into()));
        push_number(&mut list, "stratum", Some(self.stratum.into()));
        push_text(&mut list, "reference", &self.reference);
        push_number(&mut list, "latency_ns", self.latency_ns);
        list
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + text_bytes([&self.reference])
    }
}
