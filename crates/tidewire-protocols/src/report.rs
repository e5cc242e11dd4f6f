//! Results of reading a stream.

use crate::{transaction::Transaction, value::Service};

/// The protocol of a stream, and its transactions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct App {
    /// The protocol that it began with.
    pub service: Service,
    /// How many transactions were reported.
    pub transactions: u32,
    /// The first of them, if the conversation keeps it ([`Report::First`], [`Report::Shown`]).
    pub first: Option<Transaction>,
}

/// The destination of transactions.
#[non_exhaustive]
pub enum Report<'a> {
    /// Each is passed on when it is complete.
    Each(&'a mut dyn FnMut(Transaction)),
    /// The first stays with the conversation, others are counted.
    First,
    /// Each is shown when it is complete, and the first stays with the conversation.
    Shown(&'a mut dyn FnMut(&Transaction)),
}

impl App {
    /// A protocol whose conversation reported so many transactions, and the first of them.
    #[must_use]
    pub fn new(service: Service, transactions: u32, first: Option<Transaction>) -> Self {
        Self { service, transactions, first }
    }

    /// Memory that it takes, bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u32 {
        let first = self.first.as_ref().map_or(0, Transaction::memory_bytes);
        u32::try_from(size_of::<Self>() + first).unwrap_or(u32::MAX)
    }
}
