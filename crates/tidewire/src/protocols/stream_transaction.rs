//! A transaction with its stream.

use tidewire_core::{FlowKey, Timestamp};
use tidewire_protocols::{Fields, Service, Transaction};

/// A transaction and the stream that it is of: see [`Capture::transactions`](crate::Capture::transactions).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamTransaction {
    stream: u64,
    key: FlowKey,
    transaction: Transaction,
}

impl StreamTransaction {
    pub(super) fn new(stream: u64, key: FlowKey, transaction: Transaction) -> Self {
        Self { stream, key, transaction }
    }

    /// The stream's id: number of the packet that opened it, from 1.
    #[must_use]
    pub fn stream(&self) -> u64 {
        self.stream
    }

    /// The stream's key: client, server and protocol.
    #[must_use]
    pub fn key(&self) -> FlowKey {
        self.key
    }

    /// Time of the packet that began the transaction.
    #[must_use]
    pub fn start(&self) -> Timestamp {
        self.transaction.start
    }

    /// Time of the packet that ended it.
    #[must_use]
    pub fn end(&self) -> Timestamp {
        self.transaction.end
    }

    /// The protocol.
    #[must_use]
    pub fn service(&self) -> Service {
        self.transaction.service
    }

    /// The fields, by protocol.
    #[must_use]
    pub fn fields(&self) -> &Fields {
        &self.transaction.fields
    }

    /// The server's name in it, if there is one ([`Transaction::name`]).
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.transaction.name()
    }

    /// The transaction without its stream.
    #[must_use]
    pub fn transaction(&self) -> &Transaction {
        &self.transaction
    }

    /// Moves the transaction out.
    #[must_use]
    pub fn into_transaction(self) -> Transaction {
        self.transaction
    }
}
