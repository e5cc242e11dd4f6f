//! Handlers that get transactions.

use std::collections::VecDeque;

use tidewire_core::{
    Chunk, Datagram, EndReason, Frame, Gap, Handler, OutsidePacket, Stream, StreamPacket, Timestamp, Unfinished,
};
use tidewire_protocols::{Conversation, Report, Transaction};

use super::{HasConversation, ProtocolReader, StreamTransaction};

/// A [`Handler`] that gets typed transactions as well. Its state of a stream has a [`Conversation`] in it: `Conversation` alone, or
/// `(Conversation, T)` with state of type `T`.
///
/// ```
/// use tidewire::{
///     Capture, Chunk, Handler, Stream,
///     protocols::{Conversation, Fields, Transaction, TransactionHandler},
/// };
///
/// #[derive(Default)]
/// struct Names {
///     bytes: usize,
///     names: Vec<String>,
/// }
///
/// impl Handler for Names {
///     type Data = Conversation;
///
///     fn data(&mut self, _: &mut Stream<'_, Conversation>, chunk: Chunk<'_>) {
///         self.bytes += chunk.fresh().len();
///     }
/// }
///
/// impl TransactionHandler for Names {
///     fn transaction(&mut self, _: &mut Stream<'_, Conversation>, transaction: Transaction) {
///         if let Fields::Tls(tls) = transaction.fields {
///             self.names.extend(tls.sni.map(String::from));
///         }
///     }
/// }
///
/// # fn main() -> Result<(), tidewire::Error> {
/// # let capture: &[u8] = include_bytes!("../../tests/corpus/hello/hello.pcap");
/// let outcome = Capture::reader(capture).workers(2).run_transactions(|_worker| Names::default())?;
/// let names: Vec<_> = outcome.handlers.iter().flat_map(|worker| &worker.inner.names).collect();
/// # assert!(names.is_empty());
/// # Ok(())
/// # }
/// ```
pub trait TransactionHandler: Handler<Data: HasConversation> {
    /// Whether bytes of a stream are wanted behind the last one that its fields are read from. `false` discards them, which saves most of
    /// the work for streams that are encrypted or long.
    const BYTES: bool = true;

    /// A transaction is complete, or its stream ended before it was: after the [`Handler::data`] or [`Handler::gap`] that completes it, and
    /// before [`Handler::close`]. What the handler discards ([`Stream::discard`]) or cuts off has no fields.
    fn transaction(&mut self, stream: &mut Stream<'_, Self::Data>, transaction: Transaction);
}

/// A [`TransactionHandler`] as a [`Handler`]: reads the fields of streams and calls it. [`Capture::run_transactions`](crate::Capture::run_transactions)
/// makes one for each worker.
#[derive(Debug, Default)]
pub struct WithTransactions<H> {
    /// The handler.
    pub inner: H,
    reader: ProtocolReader,
    /// Those that one call completes: no more than its bytes contain.
    found: Vec<Transaction>,
}

impl<H: TransactionHandler> WithTransactions<H> {
    /// Reads fields for `inner`, whose streams hold at most `memory_bytes` of them together ([`ProtocolReader::new`]).
    pub fn new(inner: H, memory_bytes: u64) -> Self {
        Self { inner, reader: ProtocolReader::new(memory_bytes), found: Vec::new() }
    }

    /// How many streams lost their fields because the memory was used up.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.reader.refused()
    }

    /// Moves the reader out.
    pub(super) fn into_reader(self) -> ProtocolReader {
        self.reader
    }

    /// Runs `read`, which reports what it completes.
    fn read<T>(&mut self, read: impl FnOnce(&mut ProtocolReader, &mut Report<'_>) -> T) {
        let found = &mut self.found;
        let mut each = |transaction| found.push(transaction);
        read(&mut self.reader, &mut Report::Each(&mut each));
    }

    /// Reports what was read.
    fn report(&mut self, stream: &mut Stream<'_, H::Data>) {
        for transaction in self.found.drain(..) {
            self.inner.transaction(stream, transaction);
        }
    }
}

impl<H: TransactionHandler> Handler for WithTransactions<H> {
    type Data = H::Data;
    const PACKETS: bool = H::PACKETS;
    const DATAGRAMS: bool = H::DATAGRAMS;
    const UNFINISHED: bool = H::UNFINISHED;
    const OUTSIDE: bool = H::OUTSIDE;
    const FRAGMENTS: bool = H::FRAGMENTS;
    const VISITS: bool = H::VISITS;

    fn open(&mut self, stream: &mut Stream<'_, H::Data>) {
        self.inner.open(stream);
    }

    #[inline]
    fn data(&mut self, stream: &mut Stream<'_, H::Data>, chunk: Chunk<'_>) {
        let is_read = !self.reader.passes_over(stream, &chunk);
        if is_read {
            self.read(|reader, report| reader.data(stream, &chunk, report));
        }
        self.inner.data(stream, chunk);
        if is_read {
            self.report(stream);
            if !H::BYTES && stream.data().conversation().is_over() {
                stream.discard();
            }
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, H::Data>, gap: Gap) {
        self.read(|reader, report| reader.gap(stream, &gap, report));
        self.inner.gap(stream, gap);
        self.report(stream);
    }

    fn packet(&mut self, stream: &mut Stream<'_, H::Data>, packet: StreamPacket<'_>) {
        self.inner.packet(stream, packet);
    }

    fn visit(&mut self, stream: &mut Stream<'_, H::Data>, clock: Timestamp) {
        self.inner.visit(stream, clock);
    }

    fn close(&mut self, stream: &mut Stream<'_, H::Data>, reason: EndReason) {
        self.read(|reader, report| reader.close(stream, report));
        self.report(stream);
        self.inner.close(stream, reason);
    }

    fn datagram(&mut self, datagram: &Datagram<'_>) {
        self.inner.datagram(datagram);
    }

    fn fragment(&mut self, frame: &Frame, bytes: &[u8]) {
        self.inner.fragment(frame, bytes);
    }

    fn unfinished(&mut self, unfinished: &Unfinished) {
        self.inner.unfinished(unfinished);
    }

    fn outside(&mut self, packet: OutsidePacket<'_>) {
        self.inner.outside(packet);
    }
}

/// Passes transactions with their streams to `F`, which returns those that it does not accept: they are kept in order.
pub(super) struct Passing<F> {
    take: F,
    pub(super) left: VecDeque<StreamTransaction>,
}

impl<F: FnMut(StreamTransaction) -> Option<StreamTransaction>> Passing<F> {
    pub(super) fn new(take: F) -> Self {
        Self { take, left: VecDeque::new() }
    }
}

impl<F: FnMut(StreamTransaction) -> Option<StreamTransaction>> Handler for Passing<F> {
    type Data = Conversation;
}

impl<F: FnMut(StreamTransaction) -> Option<StreamTransaction>> TransactionHandler for Passing<F> {
    const BYTES: bool = false;

    fn transaction(&mut self, stream: &mut Stream<'_, Conversation>, transaction: Transaction) {
        self.left.extend((self.take)(StreamTransaction::new(stream.id(), stream.key(), transaction)));
    }
}
