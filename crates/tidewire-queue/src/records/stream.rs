//! Records of streams: open, gap, conflict, close. Data is its bytes.

use super::super::layout::Record;
use super::{
    bytes::{Fields, Writer},
    key::Key,
    kind::{Direction, Kind},
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
        let record = Record { offset: self.offset, detail: self.bytes, ..Record::new(Kind::Gap, stream, time_ns) };
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
        let record = Record { offset: self.offset, detail: self.bytes, ..Record::new(Kind::Conflict, stream, time_ns) };
        record.with_direction(self.direction)
    }

    /// The conflict of a CONFLICT record.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        Self { direction: record.direction(), offset: record.offset, bytes: record.detail }
    }
}

/// Final figures of a direction: the engine's, by the same names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the documentation is at tidewire::DirectionStats and in docs/queues.md")]
pub struct DirectionFigures {
    pub packets: u64,
    pub frames: u64,
    pub frame_bytes: u64,
    pub ip_bytes: u64,
    pub payload_wire_bytes: u64,
    pub reassembled_bytes: u64,
    pub delivered_bytes: u64,
    pub retransmitted_bytes: u64,
    pub out_of_order_packets: u64,
    pub missing_bytes: u64,
    pub ignored_bytes: u64,
    pub cutoff_bytes: u64,
    pub shed_packets: u64,
    pub shed_bytes: u64,
    pub chunks: u64,
    pub start_ns: u64,
    pub end_ns: u64,
    /// Union of all TCP flags seen.
    pub tcp_flags: u8,
}

impl DirectionFigures {
    /// Bytes of the figures.
    pub const BYTES: usize = 18 * 8;

    fn words(&self) -> [u64; 18] {
        [
            self.packets,
            self.frames,
            self.frame_bytes,
            self.ip_bytes,
            self.payload_wire_bytes,
            self.reassembled_bytes,
            self.delivered_bytes,
            self.retransmitted_bytes,
            self.out_of_order_packets,
            self.missing_bytes,
            self.ignored_bytes,
            self.cutoff_bytes,
            self.shed_packets,
            self.shed_bytes,
            self.chunks,
            self.start_ns,
            self.end_ns,
            u64::from(self.tcp_flags),
        ]
    }

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let mut words = [0; 18];
        for word in &mut words {
            *word = fields.u64()?;
        }
        Some(Self {
            packets: words[0],
            frames: words[1],
            frame_bytes: words[2],
            ip_bytes: words[3],
            payload_wire_bytes: words[4],
            reassembled_bytes: words[5],
            delivered_bytes: words[6],
            retransmitted_bytes: words[7],
            out_of_order_packets: words[8],
            missing_bytes: words[9],
            ignored_bytes: words[10],
            cutoff_bytes: words[11],
            shed_packets: words[12],
            shed_bytes: words[13],
            chunks: words[14],
            start_ns: words[15],
            end_ns: words[16],
            tcp_flags: words[17] as u8,
        })
    }
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
    /// Final figures of each direction.
    pub figures: [DirectionFigures; 2],
}

impl Close {
    /// Bytes of the payload.
    pub const BYTES: usize = 40 + 2 * DirectionFigures::BYTES;

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut out = Writer(out);
        out.u64(self.ordinal);
        out.u64(self.anomalies);
        out.bytes(&[self.state, self.reason, 0, 0, 0, 0, 0, 0]);
        out.u64(self.end_offset[0]);
        out.u64(self.end_offset[1]);
        for word in self.figures.iter().flat_map(DirectionFigures::words) {
            out.u64(word);
        }
    }

    /// Reads a payload; `None`: too short. Longer ones are of later versions, whose other fields are ignored.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (ordinal, anomalies) = (fields.u64()?, fields.u64()?);
        let [state, reason, ..] = fields.array::<8>()?;
        let end_offset = [fields.u64()?, fields.u64()?];
        let figures = [DirectionFigures::read(&mut fields)?, DirectionFigures::read(&mut fields)?];
        Some(Self { ordinal, anomalies, state, reason, end_offset, figures })
    }
}
