use super::{Bytes, Stop, feed::Feed};
use bzip2::{Decompress, Status};

/// A bzip2 stream of any number of members, as several files one after the other and parallel compressors have them.
pub(super) struct Bzip2 {
    feed: Feed,
    /// `None` between two members.
    decoder: Option<Decompress>,
    is_later: bool,
    ended: bool,
    /// Met while there were still bytes to hand out.
    pending: Option<Stop>,
}

impl Bzip2 {
    pub fn new(stream: Box<dyn Bytes>) -> Self {
        Self {
            feed: Feed::new(stream, ("bzip2", "bzip2 -dc")),
            decoder: None,
            is_later: false,
            ended: false,
            pending: None,
        }
    }

    /// Meaning of an error.
    fn damage(&self, error: bzip2::Error) -> Stop {
        Stop::Damaged(match error {
            bzip2::Error::DataMagic if self.is_later => "what follows the bzip2 data is not bzip2".to_owned(),
            error => format!("the bzip2 data is damaged: {error}"),
        })
    }
}

impl Bytes for Bzip2 {
    fn read(&mut self, room: &mut [u8]) -> Result<usize, Stop> {
        loop {
            if let Some(stop) = self.pending.take() {
                self.ended = true;
                return Err(stop);
            }
            if self.ended {
                return Ok(0);
            }
            let input = self.feed.bytes()?;
            let at_end = input.is_empty();
            let decoder = match &mut self.decoder {
                Some(decoder) => decoder,
                None if at_end => return Ok(0),
                None => self.decoder.insert(Decompress::new(false)),
            };
            let (before_in, before_out) = (decoder.total_in(), decoder.total_out());
            let result = decoder.decompress(input, room);
            let consumed = (decoder.total_in() - before_in) as usize;
            let produced = (decoder.total_out() - before_out) as usize;
            self.feed.take(consumed);
            self.feed.produce(produced);
            match result {
                Ok(Status::StreamEnd) => {
                    (self.decoder, self.is_later) = (None, true);
                    self.feed.end_part();
                }
                Ok(_) if produced == 0 && at_end => {
                    self.pending = Some(Stop::Damaged("the bzip2 data is cut".to_owned()));
                }
                Ok(_) if produced == 0 && consumed == 0 => {
                    self.pending = Some(Stop::Damaged("the bzip2 data is damaged".to_owned()));
                }
                Ok(_) => {}
                Err(error) => self.pending = Some(self.damage(error)),
            }
            if produced > 0 {
                return Ok(produced);
            }
        }
    }
}
