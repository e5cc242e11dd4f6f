use super::{Bytes, Stop, feed::Feed};
use lz4_flex::frame::{Error as Lz4Error, FrameDecoder};
use std::io::{self, Read};

/// An LZ4 stream of any number of frames (lz4_Frame_format.md), legacy ones included.
pub(super) struct Lz4 {
    decoder: FrameDecoder<Tap>,
    /// The last call handed out bytes of a frame that did not end yet.
    within: bool,
    /// Frames of `lz4 -l` have no end mark: they end with the file.
    legacy: bool,
}

/// Input of the decoder. It takes an end of its input in the middle of a frame for the end of the data: this
/// notes what it was given, so that a cut file is noticed.
struct Tap {
    feed: Feed,
    taken: u64,
    ended: bool,
    stop: Option<Stop>,
}

impl Read for Tap {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self.feed.read(room) {
            Ok(bytes) => {
                self.taken += bytes as u64;
                self.ended |= bytes == 0 && !room.is_empty();
                Ok(bytes)
            }
            Err(stop) => {
                self.stop = Some(stop);
                Err(io::Error::other("the input stopped"))
            }
        }
    }
}

impl Lz4 {
    pub fn new(stream: Box<dyn Bytes>, legacy: bool) -> Self {
        let tap = Tap { feed: Feed::new(stream, ("lz4", "lz4 -dc")), taken: 0, ended: false, stop: None };
        Self { decoder: FrameDecoder::new(tap), within: false, legacy }
    }

    /// Meaning of an error of the decoder: nothing where it only met a frame to be skipped.
    fn stopped(&mut self, error: &io::Error) -> Result<(), Stop> {
        let tap = self.decoder.get_mut();
        if let Some(stop) = tap.stop.take() {
            return Err(stop);
        }
        if let Some(Lz4Error::SkippableFrame(bytes)) = error.get_ref().and_then(|inner| inner.downcast_ref())
            && tap.feed.skip(u64::from(*bytes))?
        {
            tap.feed.end_part();
            return Ok(());
        }
        if tap.ended || error.kind() == io::ErrorKind::UnexpectedEof {
            return Err(cut());
        }
        Err(Stop::Damaged(format!("the lz4 data is damaged: {error}")))
    }
}

fn cut() -> Stop {
    Stop::Damaged("the lz4 data is cut".to_owned())
}

impl Bytes for Lz4 {
    fn read(&mut self, room: &mut [u8]) -> Result<usize, Stop> {
        loop {
            let taken_before = self.decoder.get_ref().taken;
            match self.decoder.read(room) {
                Ok(0) => {
                    let tap = self.decoder.get_ref();
                    let nothing_taken = tap.taken == taken_before;
                    if tap.ended {
                        let whole = nothing_taken && (!self.within || self.legacy);
                        return if whole { Ok(0) } else { Err(cut()) };
                    }
                    // The end of a frame: there may be another.
                    self.within = false;
                    self.decoder.get_mut().feed.end_part();
                }
                Ok(bytes) => {
                    self.within = true;
                    self.decoder.get_mut().feed.produce(bytes);
                    return Ok(bytes);
                }
                Err(error) => self.stopped(&error)?,
            }
        }
    }
}
