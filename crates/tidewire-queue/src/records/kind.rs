//! Kinds of records and their flags.

use tidewire_types::Direction;

use super::super::layout::Record;

/// Kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
#[non_exhaustive]
pub enum RecordType {
    /// A stream was opened; or, with the flag REPEATED, its OPEN is published again for readers that do not have it.
    Open = 1,
    /// Bytes of a stream.
    Data = 2,
    /// Bytes that will not come.
    Gap = 3,
    /// Bytes that arrived in two versions.
    Conflict = 4,
    /// A stream ended.
    Close = 5,
    /// A packet.
    Packet = 6,
}

impl RecordType {
    /// The kind with this number.
    #[must_use]
    pub fn from_number(number: u16) -> Option<Self> {
        Some(match number {
            1 => Self::Open,
            2 => Self::Data,
            3 => Self::Gap,
            4 => Self::Conflict,
            5 => Self::Close,
            6 => Self::Packet,
            _ => return None,
        })
    }
}

/// Bits of [`Record::flags`]. Its high byte is a code by kind: a gap's cause, a close's reason.
pub mod flags {
    /// Direction: set from the server to the client.
    pub const TO_CLIENT: u16 = 1;
    /// OPEN: published before.
    pub const REPEATED: u16 = 2;
    /// DATA: the payload is one datagram.
    pub const DATAGRAM: u16 = 4;
    /// GAP: the queue shed these bytes for the sake of a slow reader.
    pub const SHED_BY_QUEUE: u16 = 8;
}

impl Record {
    /// A record of this kind, without payload: `sequence`, `position` and `bytes` are set when it is published.
    #[must_use]
    pub fn new(kind: RecordType, stream: u64, time_ns: u64) -> Self {
        Self { kind: kind as u16, stream, time_ns, ..Self::default() }
    }

    /// A DATA record; `repeated_bytes` of the payload's first bytes were published before.
    #[must_use]
    pub fn data(stream: u64, direction: Direction, offset: u64, repeated_bytes: u32, time_ns: u64) -> Self {
        let detail = u64::from(repeated_bytes);
        Self { offset, detail, ..Self::new(RecordType::Data, stream, time_ns) }.with_direction(direction)
    }

    /// With this direction.
    #[must_use]
    pub fn with_direction(self, direction: Direction) -> Self {
        Self { flags: self.flags & !flags::TO_CLIENT | direction as u16, ..self }
    }

    /// With this code.
    #[must_use]
    pub fn with_code(self, code: u8) -> Self {
        Self { flags: self.flags & 0xff | u16::from(code) << 8, ..self }
    }

    /// The direction.
    #[must_use]
    pub fn direction(&self) -> Direction {
        if self.has(flags::TO_CLIENT) { Direction::ServerToClient } else { Direction::ClientToServer }
    }

    /// The code: a gap's cause, a close's reason, why a packet belongs to no stream.
    #[must_use]
    pub fn code(&self) -> u8 {
        (self.flags >> 8) as u8
    }

    /// Whether one of these flags is set.
    #[must_use]
    pub fn has(&self, flags: u16) -> bool {
        self.flags & flags != 0
    }
}
