//! Records of streams: open, gap, conflict, close. Data is its bytes.

use tidewire_types::{Direction, DirectionStats};

use super::super::layout::Record;
use super::{
    bytes::{Fields, Writer},
    key::Key,
    kind::RecordType,
};

/// The payload of an OPEN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// Addresses, ports, protocol, VLANs, tunnel.
    pub key: Key,
    /// Timestamp of the stream's first packet, in nanoseconds since 1970.
    pub start_ns: u64,
    /// Number of the stream in this queue, from 0, in the order of first opens; the same whenever its OPEN is repeated.
    pub ordinal: u64,
    /// Offset of the next byte of each direction: 0, and more in a repeated OPEN.
    pub next_offset: [u64; 2],
    /// The stream's priority, 0 to 7.
    pub priority: u8,
}

impl Open {
    /// Bytes of the payload.
    pub const BYTES: usize = Key::BYTES + 40;

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.key.encode(out);
        let mut out = Writer(out);
        out.u64(self.start_ns);
        out.u64(self.ordinal);
        out.u64(self.next_offset[0]);
        out.u64(self.next_offset[1]);
        out.bytes(&[self.priority, 0, 0, 0, 0, 0, 0, 0]);
    }

    /// Reads a payload; `None`: too short, or no key. Longer ones are of later versions, whose other fields are ignored.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (key, rest) = bytes.split_at_checked(Key::BYTES)?;
        let mut fields = Fields(rest);
        let (start_ns, ordinal) = (fields.u64()?, fields.u64()?);
        let next_offset = [fields.u64()?, fields.u64()?];
        let [priority, ..] = fields.array::<8>()?;
        Some(Self { key: Key::decode(key)?, start_ns, ordinal, next_offset, priority })
    }
}

/// A GAP: bytes that will not come. Its record holds all of it; there is no payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The direction.
    pub direction: Direction,
    /// Offset of the first missing byte.
    pub offset: u64,
    /// Number of missing bytes.
    pub bytes: u64,
    /// Number of the cause ([`GAP_CAUSES`](super::GAP_CAUSES)).
    pub cause: u8,
}

/// A CONFLICT: bytes that arrived in two versions. Its record holds all of it; there is no payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The direction.
    pub direction: Direction,
    /// Offset of the first one.
    pub offset: u64,
    /// Number of them.
    pub bytes: u64,
}

impl Gap {
    /// The gap as a record.
    #[must_use]
    pub fn record(&self, stream: u64, time_ns: u64) -> Record {
        let record =
            Record { offset: self.offset, detail: self.bytes, ..Record::new(RecordType::Gap, stream, time_ns) };
        record.with_direction(self.direction).with_code(self.cause)
    }

    /// The gap of a GAP record.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        Self { direction: record.direction(), offset: record.offset, bytes: record.detail, cause: record.code() }
    }
}

impl Conflict {
    /// The conflict as a record.
    #[must_use]
    pub fn record(&self, stream: u64, time_ns: u64) -> Record {
        let record =
            Record { offset: self.offset, detail: self.bytes, ..Record::new(RecordType::Conflict, stream, time_ns) };
        record.with_direction(self.direction)
    }

    /// The conflict of a CONFLICT record.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        Self { direction: record.direction(), offset: record.offset, bytes: record.detail }
    }
}

/// Bytes of a direction's figures.
const STATS_BYTES: usize = DirectionStats::COUNT * 8;

/// Reads a direction's figures.
fn stats(fields: &mut Fields<'_>) -> Option<DirectionStats> {
    let mut words = [0; DirectionStats::COUNT];
    for word in &mut words {
        *word = fields.u64()?;
    }
    // Written records have no others.
    if let Some(tcp_flags) = words.last_mut() {
        *tcp_flags &= 0xff;
    }
    Some(DirectionStats::from_words(words))
}

/// The payload of a CLOSE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Close {
    /// Number of the stream in this queue, as in its [`Open`].
    pub ordinal: u64,
    /// Anomalies of the stream: a bit for each number in [`ANOMALIES`](super::ANOMALIES).
    pub anomalies: u64,
    /// Number of the state that the connection reached ([`TCP_STATES`](super::TCP_STATES)).
    pub state: u8,
    /// Number of the reason why it ended ([`END_REASONS`](super::END_REASONS)); the record's code as well.
    pub reason: u8,
    /// Offset behind the last byte or gap that this queue had of each direction.
    pub end_offset: [u64; 2],
    /// Final figures of each direction; of the TCP flags the low eight.
    pub figures: [DirectionStats; 2],
}

impl Close {
    /// Bytes of the payload.
    pub const BYTES: usize = 40 + 2 * STATS_BYTES;

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut out = Writer(out);
        out.u64(self.ordinal);
        out.u64(self.anomalies);
        out.bytes(&[self.state, self.reason, 0, 0, 0, 0, 0, 0]);
        out.u64(self.end_offset[0]);
        out.u64(self.end_offset[1]);
        for figures in self.figures {
            let [words @ .., tcp_flags] = figures.words();
            words.into_iter().for_each(|word| out.u64(word));
            out.u64(tcp_flags & 0xff);
        }
    }

    /// Reads a payload; `None`: too short. Longer ones are of later versions, whose other fields are ignored.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (ordinal, anomalies) = (fields.u64()?, fields.u64()?);
        let [state, reason, ..] = fields.array::<8>()?;
        let end_offset = [fields.u64()?, fields.u64()?];
        let figures = [stats(&mut fields)?, stats(&mut fields)?];
        Some(Self { ordinal, anomalies, state, reason, end_offset, figures })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_back_with_eight_tcp_flags() {
        let figures = [1, 100].map(|first| DirectionStats::from_words(std::array::from_fn(|at| first + at as u64)));
        let mut close = Close { ordinal: 5, figures, ..Close::default() };
        close.figures[0].tcp_flags = 0x1ff;
        let mut bytes = Vec::new();
        close.encode(&mut bytes);
        assert_eq!(bytes.len(), Close::BYTES);
        close.figures[0].tcp_flags = 0xff;
        assert_eq!(Close::decode(&bytes), Some(close));
        assert_eq!(Close::decode(&bytes[..Close::BYTES - 1]), None);
    }
}
