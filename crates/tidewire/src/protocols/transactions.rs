//! Transactions of files, one by one.

use std::{fmt, iter::FusedIterator};

use tidewire_core::{Classify, Config};

use super::{ProtocolReader, StreamTransaction, WithTransactions, handler::Passing};
use crate::{
    Capture, Error, Outcome,
    files::{Files, InputLoop, SingleRun},
};

type Take = fn(StreamTransaction) -> Option<StreamTransaction>;

/// The iterator of [`Capture::transactions`]: ends after the last transaction of the input.
///
/// It does not report damage: [`finish`](Self::finish) returns that with the outcome.
#[must_use = "nothing is read before `next`"]
pub struct Transactions<'a> {
    run: SingleRun<'a, WithTransactions<Passing<Take>>>,
    has_ended: bool,
}

impl<'a> Transactions<'a> {
    fn new(input: InputLoop<'a>, config: Config, memory_bytes: u64, classifier: Option<Box<dyn Classify>>) -> Self {
        let handler = WithTransactions::new(Passing::new(Some as Take), memory_bytes);
        Self { run: SingleRun::new(input, config, (handler, classifier)), has_ended: false }
    }

    /// Ends the run and returns its outcome, with the errors of the input. Transactions not yet taken are dropped; input not yet read is
    /// not read. The handler of the outcome is the reader: [`ProtocolReader::refused`] counts streams whose fields found no memory.
    pub fn finish(mut self) -> Outcome<ProtocolReader> {
        if !self.has_ended {
            self.run.end();
        }
        let is_cut = !self.run.has_read_all();
        let mut outcome = self.run.outcome().map_handlers(WithTransactions::into_reader);
        outcome.interrupted |= is_cut;
        outcome
    }
}

impl Iterator for Transactions<'_> {
    type Item = StreamTransaction;

    fn next(&mut self) -> Option<StreamTransaction> {
        loop {
            let found = self.run.handler().inner.left.pop_front();
            if found.is_some() || self.has_ended {
                return found;
            }
            // A step reads one block, or closes a bounded number of streams, so that few are kept here.
            self.has_ended = !self.run.step();
        }
    }
}

impl FusedIterator for Transactions<'_> {}

impl fmt::Debug for Transactions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transactions").field("has_ended", &self.has_ended).finish_non_exhaustive()
    }
}

impl<'a> Capture<Files<'a>> {
    /// An iterator over transactions (HTTP requests, TLS handshakes, DNS queries and others), each as soon as it is complete: for programs
    /// without callbacks. One worker runs on the thread that calls `next`. Damaged input ends the iterator early;
    /// [`Transactions::finish`] reports it.
    ///
    /// ```
    /// use tidewire::{Capture, protocols::Fields};
    ///
    /// # fn main() -> Result<(), tidewire::Error> {
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/demo/demo.pcap");
    /// # let mut count = 0;
    /// for transaction in Capture::file(path).transactions()? {
    ///     if let Fields::Http(http) = transaction.fields() {
    ///         println!("{}", http.host.as_deref().unwrap_or("-"));
    ///         # count += 1;
    ///     }
    /// }
    /// # assert!(count > 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`run_with`](Self::run_with).
    pub fn transactions(mut self) -> Result<Transactions<'a>, Error> {
        let memory_bytes = self.setup.read_transactions()?;
        let classifier = self.setup.classifier()?;
        let (input, config) = self.input.open(self.setup)?;
        Ok(Transactions::new(input, config, memory_bytes, classifier))
    }
}
