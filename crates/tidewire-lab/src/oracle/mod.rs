//! The running kernel as the oracle for overlaps (the method of PYROLYSE, Aubard et al.).
//!
//! Every arrangement of up to three overlapping chunks, in every order of arrival and with different bytes in each, is
//! sent by a packet socket to listening sockets in another network namespace. The policy `linux` must
//! deliver from the same packets what the application there received.

use std::fmt;

pub mod arrange;
pub mod forms;
pub mod fragments;
pub mod hosts;
pub mod network;
pub mod tcp;

/// How many cases were sent, and where kernel and engine differ.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Cases compared.
    pub cases: u64,
    /// Cases in which the application received something.
    pub delivered: u64,
    /// Packets sent.
    pub packets: u64,
    /// Descriptions of the first few differences.
    pub differences: Vec<String>,
    /// How many cases differ.
    pub differing: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cases, delivered, packets, differing, .. } = self;
        write!(f, "{cases} cases, {packets} packets, {delivered} delivered, {differing} differ")
    }
}

impl Report {
    /// Counts a case; calls `describe` if it differs.
    pub fn compare(&mut self, is_delivered: bool, is_same: bool, describe: impl FnOnce() -> String) {
        const KEPT: usize = 20;
        self.cases += 1;
        self.delivered += u64::from(is_delivered);
        if !is_same {
            self.differing += 1;
            if self.differences.len() < KEPT {
                self.differences.push(describe());
            }
        }
    }
}
