//! Captures whose streams are read as transactions.

use tidewire_core::WORKER_MEMORY_BYTES_MIN;
use tidewire_protocols::Conversation;

use super::{ProtocolReader, StreamTransaction, TransactionHandler, WithTransactions, handler::Passing};
use crate::{
    Capture, Error, Outcome,
    setup::{Input, Setup},
};

impl Setup {
    /// Divides the memory between the engines and the fields of streams. Returns the part of each worker's fields, bytes.
    fn part_for_fields(&mut self) -> u64 {
        let workers = self.workers.max(1) as u64;
        let fields = ProtocolReader::part_of(self.memory_bytes);
        let least = WORKER_MEMORY_BYTES_MIN.saturating_mul(workers).min(self.memory_bytes);
        self.memory_bytes = (self.memory_bytes - fields).max(least);
        fields / workers
    }

    /// Checks and completes the settings of a run whose single worker reads transactions. Returns the part of its fields, bytes.
    pub(super) fn read_transactions(&mut self) -> Result<u64, Error> {
        self.one_worker()?;
        let fields = self.part_for_fields();
        self.settle(1, size_of::<Conversation>())?;
        Ok(fields)
    }
}

impl<I: Input> Capture<I> {
    /// Calls a closure with each transaction as soon as it is complete. One worker runs, on this thread. Files and interfaces; of files
    /// the iterator `transactions` gives the same.
    ///
    /// Nothing more is delivered of a stream whose protocol has no more fields, as after the handshake of TLS. The handler of the outcome is
    /// the reader: [`ProtocolReader::refused`] counts streams whose fields found no memory.
    ///
    /// ```
    /// use tidewire::{Capture, protocols::Fields};
    ///
    /// # fn main() -> Result<(), tidewire::Error> {
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/demo/demo.pcap");
    /// # let mut count = 0;
    /// Capture::file(path).for_each_transaction(|transaction| {
    ///     if let Fields::Dns(dns) = transaction.fields() {
    ///         println!("{}: {}", transaction.key(), dns.query.as_deref().unwrap_or("-"));
    ///         # count += 1;
    ///     }
    /// })?;
    /// # assert!(count > 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`run_with`](Self::run_with).
    pub fn for_each_transaction(
        mut self,
        mut call: impl FnMut(StreamTransaction),
    ) -> Result<Outcome<ProtocolReader>, Error> {
        let memory_bytes = self.setup.read_transactions()?;
        let take = |transaction| {
            call(transaction);
            None
        };
        let handler = WithTransactions::new(Passing::new(take), memory_bytes);
        Ok(self.run_settled(handler)?.map_handlers(WithTransactions::into_reader))
    }

    /// Runs as many workers as set, like [`run`](Self::run), with handlers that get transactions beside bytes. `make` makes each
    /// worker's handler from its index.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_transactions<H: TransactionHandler + Send>(
        mut self,
        mut make: impl FnMut(usize) -> H,
    ) -> Result<Outcome<WithTransactions<H>>, Error> {
        let memory_bytes = self.setup.part_for_fields();
        self.run(|worker| WithTransactions::new(make(worker), memory_bytes))
    }
}
