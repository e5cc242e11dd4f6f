use std::ops::Range;

use crate::{
    limits::HEAD_BYTES_MIN,
    pcap::{self, Pcap},
    pcapng::{self, Pcapng},
    record_cursor::{Count, Walk},
};
use tidewire_wire::Frame;

/// The records of a plain capture, pcap or pcapng, for who reads pieces of it in an order of its own: by an index.
///
/// A pcapng capture describes its interfaces in records, which have to be walked before packets that name them.
#[derive(Clone, Debug)]
pub struct Records {
    format: Format,
    count: Count,
    frames: Vec<Frame>,
}

#[derive(Clone, Debug)]
enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// A record of a capture.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Record {
    /// A packet. Its [`at`](Frame::at) is an offset in the piece, its number counts the packets that were walked.
    Packet(Frame),
    /// The beginning of a section of pcapng, the description of an interface, secrets or names.
    Description,
    /// Another block of pcapng.
    Other,
}

/// Message about a file behind the records of another.
const ANOTHER_FILE: &str = "the header of another capture file follows";

impl Records {
    /// From the first bytes of a capture, 32 at least if it has so many; `None`: it is neither pcap nor pcapng.
    ///
    /// # Errors
    /// What is not supported about it.
    #[must_use]
    pub fn recognise(head: &[u8]) -> Option<Result<Self, String>> {
        let with = |format| Self { format, count: Count::default(), frames: Vec::new() };
        if pcap::recognised(head) {
            if head.len() < pcap::file_header_bytes(head) {
                return Some(Err("its header is cut".into()));
            }
            return Some(Pcap::parse(head).map(Format::Pcap).map(with));
        }
        pcapng::recognised(head).then(|| Ok(with(Format::Pcapng(Pcapng::new()))))
    }

    /// Bytes that [`recognise`](Self::recognise) wants.
    pub const HEAD_BYTES: usize = HEAD_BYTES_MIN;

    /// Whether it is pcapng.
    #[must_use]
    pub fn is_pcapng(&self) -> bool {
        matches!(self.format, Format::Pcapng(_))
    }

    /// Where the first record begins.
    #[must_use]
    pub fn first_offset(&self) -> u64 {
        match self.format {
            Format::Pcap(ref pcap) => pcap.header_bytes as u64,
            Format::Pcapng(_) => 0,
        }
    }

    /// Calls `each` with the whole records in `bytes`, which begin with one, and where they lie there. Returns the bytes that belong
    /// to whole records.
    ///
    /// # Errors
    /// What is damaged, and where in `bytes`; the records before it were given to `each`.
    pub fn walk(&mut self, bytes: &[u8], mut each: impl FnMut(Range<usize>, Record)) -> Result<usize, (usize, String)> {
        match &mut self.format {
            Format::Pcap(pcap) => {
                self.frames.clear();
                let walk = pcap.walk(bytes, 0, &mut self.count, &mut self.frames);
                self.count.settle(&mut self.frames);
                let mut start = 0;
                for frame in &self.frames {
                    let end = frame.at as usize + frame.captured_bytes as usize;
                    each(start..end, Record::Packet(*frame));
                    start = end;
                }
                match walk {
                    Walk::Taken(taken) => Ok(taken),
                    Walk::Damaged(at, what) => Err((at, what)),
                    Walk::Another(at) => Err((at, ANOTHER_FILE.into())),
                }
            }
            Format::Pcapng(pcapng) => {
                let mut at = 0;
                loop {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let length = match pcapng.block_bytes(rest) {
                        Ok(Some(length)) if length <= rest.len() => length,
                        Ok(_) => return Ok(at),
                        Err(what) => return Err((at, what)),
                    };
                    self.frames.clear();
                    let block = rest.get(..length).unwrap_or_default();
                    let walk = pcapng.walk(block, 0, &mut self.count, &mut self.frames);
                    self.count.settle(&mut self.frames);
                    // The caller has the block itself.
                    drop(pcapng.take_described());
                    drop(pcapng.take_supplements());
                    drop(pcapng.take_packet_losses());
                    match walk {
                        Walk::Damaged(_, what) => return Err((at, what)),
                        Walk::Another(_) => return Err((at, ANOTHER_FILE.into())),
                        Walk::Taken(_) => {}
                    }
                    let record = match self.frames.first() {
                        Some(frame) => Record::Packet(frame.with_place(frame.at + at as u32, frame.captured_bytes)),
                        None if pcapng.describes(block) => Record::Description,
                        None => Record::Other,
                    };
                    each(at..at + length, record);
                    at += length;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Reader, Source as _};

    /// Each record of the captures of the tests, walked whole and in pieces from record to record.
    #[test]
    fn pieces_have_the_frames_that_a_reader_has() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus");
        let mut captures = 0;
        for case in std::fs::read_dir(folder).unwrap().flatten() {
            for file in std::fs::read_dir(case.path()).into_iter().flatten().flatten() {
                let bytes = std::fs::read(file.path()).unwrap();
                let Some(Ok(mut records)) = Records::recognise(&bytes) else { continue };
                captures += 1;
                let mut reader = Reader::open(file.path()).unwrap();
                let (mut expected, mut block) = (Vec::new(), Block::new());
                while let Ok(true) = reader.fill(&mut block) {
                    let batch = block.batch();
                    expected.extend(
                        batch.frames.iter().map(|f| (f.timestamp, f.interface, f.number, batch.bytes(f).to_vec())),
                    );
                }
                let (mut found, mut at) = (Vec::new(), records.first_offset() as usize);
                // Pieces of different lengths, each from where whole records ended.
                for length in (1..).map(|step| step * 700) {
                    let piece = &bytes[at..bytes.len().min(at + length)];
                    let walked = records.walk(piece, |place, record| {
                        if let Record::Packet(f) = record {
                            let data = piece[f.at as usize..][..f.captured_bytes as usize].to_vec();
                            assert!(place.start <= f.at as usize && f.at as usize + data.len() <= place.end);
                            found.push((f.timestamp, f.interface, f.number, data));
                        }
                    });
                    let is_last = at + piece.len() == bytes.len();
                    match walked {
                        Ok(taken) => at += taken,
                        Err((_, what)) => {
                            // A reader reads on behind the header of another file.
                            if what == ANOTHER_FILE {
                                expected.truncate(found.len());
                            }
                            break;
                        }
                    }
                    if is_last {
                        break;
                    }
                }
                assert_eq!(found, expected, "{}", file.path().display());
            }
        }
        assert!(captures > 10, "{captures} captures");
    }
}
