//! Runs without an engine: frames as they were captured.

use std::time::Duration;

use tidewire_core::{Batch, Ledger, PacketLoss, Shunt, Timestamp};

/// Receives frames as they were captured, without decoding, reassembly or state of streams: for programs that keep frames, such
/// as a recorder. All calls for a handler come from one thread.
///
/// ```
/// # use tidewire::{Batch, Capture, FrameHandler};
/// #[derive(Default)]
/// struct Longest(u32);
///
/// impl FrameHandler for Longest {
///     fn frames(&mut self, batch: &Batch<'_>) {
///         self.0 = batch.frames.iter().map(|frame| frame.wire_bytes).fold(self.0, u32::max);
///     }
/// }
///
/// # fn main() -> Result<(), tidewire::Error> {
/// # let capture: &[u8] = include_bytes!("../tests/corpus/hello/hello.pcap");
/// let outcome = Capture::reader(capture).run_frames(|_worker| Longest::default())?;
/// assert_eq!(outcome.handler().0, 62);
/// # Ok(())
/// # }
/// ```
pub trait FrameHandler {
    /// Frames in the order of capture. What the batch borrows is valid until the call returns.
    fn frames(&mut self, batch: &Batch<'_>);

    /// An interface of a capture file, as the file describes it: before the first of its frames. Those of captures that are
    /// merged have numbers of the merged input.
    #[cfg(feature = "files")]
    fn describe(&mut self, number: u16, interface: &tidewire_files::encode::Interface) {
        let _ = (number, interface);
    }

    /// Whether comments of packets of capture files are wanted: called once, at the beginning.
    #[cfg(feature = "files")]
    fn wants_comments(&self) -> bool {
        false
    }

    /// The comments of a packet of a capture file, by its frame's number, before the frame: encoded as options of pcapng, little-endian, without
    /// the end of options. A filter may leave out the frame.
    #[cfg(feature = "files")]
    fn comment(&mut self, number: u64, options: &[u8]) {
        let _ = (number, options);
    }

    /// Texts of sections, secrets and names of capture files: before frames that lie behind them.
    #[cfg(feature = "files")]
    fn supplements(&mut self, supplements: &[tidewire_files::Supplement]) {
        let _ = supplements;
    }

    /// Packets that the capture of a file lost before frames of the next batch, as the file says. A filter may leave out such a frame.
    fn losses(&mut self, losses: &[PacketLoss]) {
        let _ = losses;
    }

    /// Losses of captures, as their files state them: by interface, before [`finish`](Self::finish).
    #[cfg(feature = "files")]
    fn capture_losses(&mut self, losses: &[tidewire_files::CaptureLoss]) {
        let _ = losses;
    }

    /// No frame arrived until then (`None` where a file is silent: packet time does not advance). About every 50 ms of an interface
    /// and 200 ms of a pipe.
    fn quiet(&mut self, until: Option<Timestamp>) {
        let _ = until;
    }

    /// How full the fullest ring is, in thousandths: after each round over an interface's rings.
    fn level(&mut self, permille: u32) {
        let _ = permille;
    }

    /// How long the next frames of an interface may be waited for at most: one that has work that waits names less than the 50 ms of
    /// [`quiet`](Self::quiet). Called before each round over the rings.
    fn patience(&self) -> Duration {
        Duration::MAX
    }

    /// Frames that the kernel dropped before this worker's rings since the capture began: about ten times a second.
    fn dropped(&mut self, frames: u64) {
        let _ = frames;
    }

    /// The way to count and drop directions before the rings, before the first frame: where `LiveSettings::kernel` asks for
    /// programs in the kernel and they could be loaded.
    fn shunt(&mut self, shunt: Box<dyn Shunt>) {
        let _ = shunt;
    }

    /// The input has ended, or the run was stopped: nothing follows.
    fn finish(&mut self) {}
}

/// The handler of frames beside an engine, if there is one.
pub(crate) struct FrameTap(pub(crate) Option<Box<dyn FrameHandler + Send>>);

/// Counts the frames on their way to a handler.
pub(crate) struct Counted<F> {
    pub handler: F,
    pub ledger: Ledger,
}

impl<F: FrameHandler> Counted<F> {
    pub(crate) fn new(handler: F) -> Self {
        Self { handler, ledger: Ledger::default() }
    }

    pub(crate) fn count(&mut self, batch: &Batch<'_>) {
        self.ledger.received += batch.frames.len() as u64;
        self.ledger.received_bytes += batch.frames.iter().map(|frame| u64::from(frame.captured_bytes)).sum::<u64>();
    }
}
