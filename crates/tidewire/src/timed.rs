//! Time spent in callbacks.

use std::time::{Duration, Instant};

use tidewire_core::{
    Chunk, Datagram, EndReason, Frame, Gap, Handler, OutsidePacket, Stream, StreamPacket, Timestamp, Unfinished,
};

/// A handler that measures the time that another one spends in its calls, for each stream.
///
/// Each call costs two clock readings (about 40 ns together on Linux), so this is a wrapper and not a setting. The inner
/// handler's data of each stream implements [`Clocked`] and accumulates the time.
///
/// ```
/// use std::time::Duration;
/// use tidewire::{Capture, Clocked, EndReason, Handler, Stream, Timed};
///
/// #[derive(Default)]
/// struct Spent(Duration);
///
/// impl Clocked for Spent {
///     fn spend(&mut self, time: Duration) {
///         self.0 += time;
///     }
/// }
///
/// struct Program;
///
/// impl Handler for Program {
///     type Data = Spent;
///     fn close(&mut self, stream: &mut Stream<'_, Spent>, _: EndReason) {
///         println!("stream {}: {:?} in callbacks", stream.id(), stream.data().0);
///     }
/// }
/// # fn main() -> Result<(), tidewire::Error> {
/// # let capture: &[u8] = include_bytes!("../tests/corpus/hello/hello.pcap");
/// let outcome = Capture::reader(capture).run_with(Timed::new(Program))?;
/// assert!(outcome.handler().total > Duration::ZERO);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Timed<H> {
    /// The handler that is measured.
    pub inner: H,
    /// Time spent in all of its calls.
    pub total: Duration,
}

/// A stream's own data that keeps the time spent in callbacks.
pub trait Clocked: Default {
    /// Adds to the time spent.
    fn spend(&mut self, time: Duration);
}

impl<H> Timed<H> {
    /// Measures `inner`.
    pub fn new(inner: H) -> Self {
        Self { inner, total: Duration::ZERO }
    }
}

impl<H: Handler<Data: Clocked>> Timed<H> {
    #[inline]
    fn measure(&mut self, stream: &mut Stream<'_, H::Data>, call: impl FnOnce(&mut H, &mut Stream<'_, H::Data>)) {
        let begun = Instant::now();
        call(&mut self.inner, stream);
        let time = begun.elapsed();
        self.total += time;
        stream.data().spend(time);
    }
}

impl<H: Handler<Data: Clocked>> Handler for Timed<H> {
    type Data = H::Data;
    const PACKETS: bool = H::PACKETS;
    const DATAGRAMS: bool = H::DATAGRAMS;
    const UNFINISHED: bool = H::UNFINISHED;
    const OUTSIDE: bool = H::OUTSIDE;
    const FRAGMENTS: bool = H::FRAGMENTS;
    const VISITS: bool = H::VISITS;

    fn open(&mut self, stream: &mut Stream<'_, H::Data>) {
        self.measure(stream, |inner, stream| inner.open(stream));
    }

    fn data(&mut self, stream: &mut Stream<'_, H::Data>, chunk: Chunk<'_>) {
        self.measure(stream, |inner, stream| inner.data(stream, chunk));
    }

    fn gap(&mut self, stream: &mut Stream<'_, H::Data>, gap: Gap) {
        self.measure(stream, |inner, stream| inner.gap(stream, gap));
    }

    fn packet(&mut self, stream: &mut Stream<'_, H::Data>, packet: StreamPacket<'_>) {
        self.measure(stream, |inner, stream| inner.packet(stream, packet));
    }

    fn visit(&mut self, stream: &mut Stream<'_, H::Data>, clock: Timestamp) {
        self.measure(stream, |inner, stream| inner.visit(stream, clock));
    }

    /// Passed on as it is: the time of this last call is in `total`, but comes too late for the stream.
    fn close(&mut self, stream: &mut Stream<'_, H::Data>, reason: EndReason) {
        let begun = Instant::now();
        self.inner.close(stream, reason);
        self.total += begun.elapsed();
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
