//! Handlers made of closures, for small programs.

use std::fmt;

use tidewire_core::{Chunk, EndReason, Gap, Handler, Stream};

use crate::{Capture, Error, Outcome, setup::Input};

type OnOpen<'c> = Box<dyn FnMut(&mut Stream<'_, ()>) + 'c>;
type OnData<'c> = Box<dyn FnMut(&mut Stream<'_, ()>, Chunk<'_>) + 'c>;
type OnGap<'c> = Box<dyn FnMut(&mut Stream<'_, ()>, Gap) + 'c>;
type OnClose<'c> = Box<dyn FnMut(&mut Stream<'_, ()>, EndReason) + 'c>;

/// A [`Handler`] made of closures, each called as the method of its name.
///
/// One worker calls them, on the thread that calls `run`, so that they may borrow local variables. Settings may come before or after them. State of each
/// stream, packets, datagrams and several workers need a [`Handler`].
///
#[cfg_attr(feature = "filter", doc = "```")]
#[cfg_attr(not(feature = "filter"), doc = "```ignore")]
/// use tidewire::Capture;
///
/// # fn main() -> Result<(), tidewire::Error> {
/// # let capture: &[u8] = include_bytes!("../tests/corpus/hello/hello.pcap");
/// let mut bytes = 0;
/// let outcome = Capture::reader(capture)
///     .filter("tcp")
///     .on_data(|stream, chunk| {
///         println!("{} {}: {:?}", stream.key(), chunk.direction.name(), chunk.bytes);
///         bytes += chunk.fresh().len();
///     })
///     .on_close(|stream, reason| println!("{} ended: {}", stream.key(), reason.name()))
///     .run()?;
/// assert_eq!(bytes as u64, outcome.ledger.delivered_bytes);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Closures<'c> {
    open: Option<OnOpen<'c>>,
    data: Option<OnData<'c>>,
    gap: Option<OnGap<'c>>,
    close: Option<OnClose<'c>>,
}

impl fmt::Debug for Closures<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closures").finish_non_exhaustive()
    }
}

impl Handler for Closures<'_> {
    type Data = ();

    fn open(&mut self, stream: &mut Stream<'_, ()>) {
        if let Some(call) = &mut self.open {
            call(stream);
        }
    }

    fn data(&mut self, stream: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        if let Some(call) = &mut self.data {
            call(stream, chunk);
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, ()>, gap: Gap) {
        if let Some(call) = &mut self.gap {
            call(stream, gap);
        }
    }

    fn close(&mut self, stream: &mut Stream<'_, ()>, reason: EndReason) {
        if let Some(call) = &mut self.close {
            call(stream, reason);
        }
    }
}

impl<I: Input> Capture<I> {
    fn closures<'c>(self) -> Capture<I, Closures<'c>> {
        Capture { input: self.input, setup: self.setup, calls: Closures::default() }
    }

    /// Calls a closure with each stream that opens: see [`Closures`].
    pub fn on_open<'c>(self, call: impl FnMut(&mut Stream<'_, ()>) + 'c) -> Capture<I, Closures<'c>> {
        self.closures().on_open(call)
    }

    /// Calls a closure with the bytes of streams, in order: see [`Closures`] for an example.
    pub fn on_data<'c>(self, call: impl FnMut(&mut Stream<'_, ()>, Chunk<'_>) + 'c) -> Capture<I, Closures<'c>> {
        self.closures().on_data(call)
    }

    /// Calls a closure with each gap in a stream's bytes: see [`Closures`].
    pub fn on_gap<'c>(self, call: impl FnMut(&mut Stream<'_, ()>, Gap) + 'c) -> Capture<I, Closures<'c>> {
        self.closures().on_gap(call)
    }

    /// Calls a closure with each stream that ended, whose figures are final: see [`Closures`].
    pub fn on_close<'c>(self, call: impl FnMut(&mut Stream<'_, ()>, EndReason) + 'c) -> Capture<I, Closures<'c>> {
        self.closures().on_close(call)
    }
}

impl<'c, I: Input> Capture<I, Closures<'c>> {
    /// See [`Handler::open`].
    pub fn on_open(mut self, call: impl FnMut(&mut Stream<'_, ()>) + 'c) -> Self {
        self.calls.open = Some(Box::new(call));
        self
    }

    /// See [`Handler::data`].
    pub fn on_data(mut self, call: impl FnMut(&mut Stream<'_, ()>, Chunk<'_>) + 'c) -> Self {
        self.calls.data = Some(Box::new(call));
        self
    }

    /// See [`Handler::gap`].
    pub fn on_gap(mut self, call: impl FnMut(&mut Stream<'_, ()>, Gap) + 'c) -> Self {
        self.calls.gap = Some(Box::new(call));
        self
    }

    /// See [`Handler::close`].
    pub fn on_close(mut self, call: impl FnMut(&mut Stream<'_, ()>, EndReason) + 'c) -> Self {
        self.calls.close = Some(Box::new(call));
        self
    }

    /// Reads the input to its end, on this thread.
    ///
    /// # Errors
    /// As [`Capture::run_with`].
    pub fn run(self) -> Result<Outcome<()>, Error> {
        let Self { input, setup, calls } = self;
        Ok(Capture { input, setup, calls: () }.run_with(calls)?.with_handlers(vec![()]))
    }
}
