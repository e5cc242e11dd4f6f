use super::{Bytes, Stop, feed::Feed};
use flate2::{Crc, Decompress, FlushDecompress, Status};

const FLAG_HEADER_CRC: u8 = 1 << 1;
const FLAG_EXTRA: u8 = 1 << 2;
const FLAG_NAME: u8 = 1 << 3;
const FLAG_COMMENT: u8 = 1 << 4;

/// A gzip stream of any number of members (RFC 1952).
///
/// The members are taken apart here and not by `flate2`'s reader, because that one throws away what it had already
/// decompressed in the call that meets damage, and takes no notice of what follows the last member.
pub(super) struct Gzip {
    feed: Feed,
    inflate: Decompress,
    crc: Crc,
    stage: Stage,
    /// Met while there were still bytes to hand out.
    pending: Option<Stop>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    FirstHeader,
    LaterHeader,
    Data,
    Ended,
}

impl Gzip {
    pub fn new(stream: Box<dyn Bytes>) -> Self {
        let feed = Feed::new(stream, ("gzip", "gzip -dc"));
        Self { feed, inflate: Decompress::new(false), crc: Crc::new(), stage: Stage::FirstHeader, pending: None }
    }

    /// Reads a member's header; false where there are no more members.
    fn header(&mut self) -> Result<bool, Stop> {
        let later = self.stage == Stage::LaterHeader;
        let mut first = self.feed.byte()?;
        if later && first == Some(0) {
            // Tapes and some devices pad with zeros, which gzip ignores too.
            first = self.feed.byte_behind_zeros()?;
        }
        match first {
            None if later => return Ok(false),
            Some(0x1f) => {}
            _ => return Err(damaged("what follows the gzip data is not gzip")),
        }
        let cut = || damaged("the gzip data ends inside a header");
        let [magic, method, flags] = self.feed.array()?.ok_or_else(cut)?;
        if magic != 0x8b {
            return Err(damaged("what follows the gzip data is not gzip"));
        }
        if method != 8 {
            return Err(damaged("the gzip header names a method that is not known"));
        }
        let [..] = self.feed.array::<6>()?.ok_or_else(cut)?;
        if flags & FLAG_EXTRA != 0 {
            let length = u16::from_le_bytes(self.feed.array()?.ok_or_else(cut)?);
            if !self.feed.skip(u64::from(length))? {
                return Err(cut());
            }
        }
        for flag in [FLAG_NAME, FLAG_COMMENT] {
            while flags & flag != 0 && self.feed.byte()?.ok_or_else(cut)? != 0 {}
        }
        if flags & FLAG_HEADER_CRC != 0 {
            let [..] = self.feed.array::<2>()?.ok_or_else(cut)?;
        }
        self.inflate.reset(false);
        self.crc = Crc::new();
        Ok(true)
    }

    /// Decompresses into `room`; 0 where the member ended without a byte.
    fn data(&mut self, room: &mut [u8]) -> Result<usize, Stop> {
        loop {
            let input = self.feed.bytes()?;
            let at_end = input.is_empty();
            let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
            let result = self.inflate.decompress(input, room, FlushDecompress::None);
            let consumed = (self.inflate.total_in() - before_in) as usize;
            let produced = (self.inflate.total_out() - before_out) as usize;
            self.feed.take(consumed);
            self.feed.produce(produced);
            self.crc.update(room.get(..produced).unwrap_or_default());
            match result {
                Ok(Status::StreamEnd) => self.trailer(),
                Ok(_) if produced == 0 && at_end => return Err(damaged("the gzip data is cut")),
                Ok(_) if produced == 0 && consumed > 0 => continue,
                Ok(_) if produced == 0 => return Err(damaged("the gzip data is damaged")),
                Ok(_) => {}
                Err(_) => self.pending = Some(damaged("the gzip data is damaged")),
            }
            return Ok(produced);
        }
    }

    /// Checks what follows a member's data; errors are reported after the data.
    fn trailer(&mut self) {
        self.stage = Stage::LaterHeader;
        self.feed.end_part();
        let (sum, bytes) = (self.crc.sum(), self.inflate.total_out() as u32);
        self.pending = match self.feed.array::<8>() {
            Err(stop) => Some(stop),
            Ok(None) => Some(damaged("the gzip data ends inside its checksum")),
            Ok(Some([a, b, c, d, e, f, g, h])) => {
                let right = u32::from_le_bytes([a, b, c, d]) == sum && u32::from_le_bytes([e, f, g, h]) == bytes;
                (!right).then(|| damaged("the checksum or length of the gzip data is wrong: bytes before are damaged"))
            }
        };
    }
}

fn damaged(what: &str) -> Stop {
    Stop::Damaged(what.to_owned())
}

impl Bytes for Gzip {
    fn read(&mut self, room: &mut [u8]) -> Result<usize, Stop> {
        loop {
            if let Some(stop) = self.pending.take() {
                self.stage = Stage::Ended;
                return Err(stop);
            }
            match self.stage {
                Stage::Ended => return Ok(0),
                Stage::FirstHeader | Stage::LaterHeader => {
                    self.stage = if self.header()? { Stage::Data } else { Stage::Ended };
                }
                Stage::Data => {
                    let bytes = self.data(room)?;
                    if bytes > 0 {
                        return Ok(bytes);
                    }
                }
            }
        }
    }
}
