//! The builder for files.

use std::{io::Read, path::PathBuf};

use tidewire_core::{Handler, Ledger};
use tidewire_files::{Reader, Source};

use super::{
    history::rereadable,
    input_loop::{Calls, InputLoop},
    packets::Packets,
    run::{SingleRun, run_frames, run_threads},
    streams::Streams,
};
use crate::{
    Capture, Error, Outcome, Progress, Timestamp,
    filter::Filter,
    frames::FrameHandler,
    setup::{Run, Setup},
    trace,
    worker::Worker,
};

/// The input of a [`Capture`] that reads files, or any other source of bytes or frames.
pub struct Files<'a> {
    from: FileInput,
    calls: Calls<'a>,
    before_start: Option<Box<dyn FnOnce() + Send + 'a>>,
}

enum FileInput {
    Paths(Vec<PathBuf>),
    Reader(Box<dyn Read + Send>),
    Source(Box<dyn Source>),
}

impl<'a> Capture<Files<'a>> {
    /// Reads one file; see [`files`](Self::files).
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::files([path])
    }

    /// Reads files, merged by the time of their packets; `-` is standard input. pcap and pcapng, plain or in gzip,
    /// zstd, lz4, xz or bzip2, recognised by content; also snoop, ERF and Microsoft Network Monitor.
    pub fn files<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self::of(FileInput::Paths(paths.into_iter().map(Into::into).collect()))
    }

    /// Reads one capture from any source of bytes. While the source is silent nothing else happens: a stop, a report and a closed
    /// stream wait for its next bytes. Use `file("-")` for standard input, and `file` for named pipes.
    pub fn reader(reader: impl Read + Send + 'static) -> Self {
        Self::of(FileInput::Reader(Box::new(reader)))
    }

    /// Reads frames from a [`Source`].
    pub fn source(source: impl Source + 'static) -> Self {
        Self::of(FileInput::Source(Box::new(source)))
    }

    fn of(from: FileInput) -> Self {
        Self::new(Files { from, calls: Calls::default(), before_start: None })
    }

    /// An iterator over packets, with views of their headers: without streams, and for programs without callbacks. Packets are read on
    /// the thread that calls `next`, one block of about 256 KiB at a time; settings and fates: see
    /// [`for_each_packet`](Self::for_each_packet), which works with interfaces as well. Damaged input ends the iterator early;
    /// [`Packets::finish`] reports it.
    ///
    /// ```
    /// # use tidewire::Capture;
    /// # fn main() -> Result<(), tidewire::Error> {
    /// # let capture: &[u8] = include_bytes!("../../tests/corpus/hello/hello.pcap");
    /// let mut packets = Capture::reader(capture).packets()?;
    /// let ttls: Vec<u8> = packets.by_ref().filter_map(|packet| Some(packet.ipv4()?.ttl())).collect();
    /// assert_eq!(ttls, [64; 8]);
    /// assert!(packets.finish().ledger.closes()); // every packet has one fate
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`run_with`](Self::run_with).
    pub fn packets(mut self) -> Result<Packets<'a>, Error> {
        let wire = self.setup.for_packets()?;
        let (input, _) = self.input.open(self.setup)?;
        Ok(Packets::new(input, wire))
    }

    /// An iterator over finished streams, each with its bytes: for programs without callbacks. One worker runs on the thread
    /// that calls `next`. Bounds: see [`for_each_stream`](Self::for_each_stream). Damaged input ends the iterator early;
    /// [`Streams::finish`] reports it.
    ///
    /// ```
    /// # use tidewire::{Capture, Direction};
    /// # fn main() -> Result<(), tidewire::Error> {
    /// # let capture: &[u8] = include_bytes!("../../tests/corpus/hello/hello.pcap");
    /// let mut streams = Capture::reader(capture).streams()?;
    /// for stream in &mut streams {
    ///     assert_eq!(stream.bytes(Direction::ClientToServer), b"hello");
    /// }
    /// assert!(streams.finish().ledger.closes()); // every packet has one fate
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`run_with`](Self::run_with).
    pub fn streams(mut self) -> Result<Streams<'a>, Error> {
        let kept_bytes_max = self.setup.gather()?;
        let classifier = self.setup.classifier()?;
        let (input, config) = self.input.open(self.setup)?;
        Ok(Streams::new(input, config, kept_bytes_max, classifier))
    }
}

/// As [`missing`](crate::missing) says.
#[cfg(not(feature = "live"))]
#[doc(hidden)]
#[allow(missing_docs, reason = "no call of it compiles")]
impl Capture<Files<'_>> {
    pub fn live(settings: impl crate::missing::LiveFeature) -> Self {
        settings.never()
    }
}

impl<'a, C> Capture<Files<'a>, C> {
    /// Calls `call` on the calling thread after each block of packets (about 256 KiB), and five times a second while a pipe is
    /// silent.
    pub fn on_progress(mut self, call: impl FnMut(Progress) + Send + 'a) -> Self {
        self.input.calls.progress = Some(Box::new(call));
        self
    }

    /// Calls `call` whenever [`on_progress`](Self::on_progress) would, with the ledger of all workers so far and the time of the packets that were read last
    /// plus how long the input has been silent since (`None` before the first packet). Workers may be some blocks behind.
    pub fn on_ledger(mut self, call: impl FnMut(&Ledger, Option<Timestamp>) + Send + 'a) -> Self {
        self.input.calls.ledger = Some(Box::new(call));
        self
    }

    /// Calls `call` on the calling thread when the input is open and every expression compiled, and no worker has begun. The
    /// place to give up privileges: what is read from then on is these files, and of a single plain file also by its path.
    pub fn before_start(mut self, call: impl FnOnce() + Send + 'a) -> Self {
        self.input.before_start = Some(Box::new(call));
        self
    }
}

impl<'a> Files<'a> {
    pub(crate) fn open(self, mut setup: Setup) -> Result<(InputLoop<'a>, tidewire_core::Config), Error> {
        let filter = setup.filter.as_deref().map(Filter::new).transpose()?;
        let tap = setup.frame_tap(0);
        let mut again = None;
        let is_named = matches!(self.from, FileInput::Paths(_));
        let kind = match self.from {
            FileInput::Paths(_) => "files",
            FileInput::Reader(_) => "reader",
            FileInput::Source(_) => "source",
        };
        let source: Box<dyn Source> = match self.from {
            FileInput::Paths(paths) => {
                again = rereadable(&paths);
                tidewire_files::open_until(&paths, &setup.stop.cancel())?
            }
            FileInput::Reader(reader) => Box::new(Reader::from_stream("(reader)", reader)?),
            FileInput::Source(source) => source,
        };
        trace::opened(kind, setup.workers);
        if let Some(call) = self.before_start {
            call();
        }
        let mut input = InputLoop::new(source, filter, self.calls, setup.stop, again);
        input.look_for_copies(setup.duplicates, is_named);
        input.tap(tap);
        Ok((input, setup.config))
    }
}

impl Run for Files<'_> {
    fn run_single<H: Handler>(self, setup: Setup, worker: Worker<H>) -> Result<Outcome<H>, Error> {
        let (input, config) = self.open(setup)?;
        let mut alone = SingleRun::new(input, config, worker);
        while alone.step() {}
        Ok(alone.outcome())
    }

    fn run_threads<H: Handler + Send>(self, setup: Setup, workers: Vec<Worker<H>>) -> Result<Outcome<H>, Error> {
        let (input, config) = self.open(setup)?;
        run_threads(input, &config, workers)
    }

    fn run_frames_single<F: FrameHandler>(self, mut setup: Setup, handler: F) -> Result<Outcome<F>, Error> {
        setup.frames = None;
        let (input, _) = self.open(setup)?;
        Ok(run_frames(input, vec![handler]))
    }

    fn run_frames<F: FrameHandler + Send>(self, mut setup: Setup, handlers: Vec<F>) -> Result<Outcome<F>, Error> {
        setup.one_worker()?;
        setup.frames = None;
        let (input, _) = self.open(setup)?;
        Ok(run_frames(input, handlers))
    }
}
