//! A record with its payload as an event.

use tidewire_types::Direction;

use super::super::layout::Record;
use super::{
    kind::{RecordType, flags},
    packet::PacketHeader,
    stream::{Close, Conflict, Gap, Open},
};

/// Content of a record. `stream`, time and sequence are in the [`Record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there is one event at a time, and it is not moved far")]
#[non_exhaustive]
pub enum Event<'a> {
    /// A stream was opened.
    Open {
        /// Whether it was published before (for readers that came later, lost records, or took the stream over).
        is_repeated: bool,
        /// The stream.
        open: Open,
    },
    /// Bytes of a stream.
    Data {
        /// The direction.
        direction: Direction,
        /// Offset of `bytes[0]`.
        offset: u64,
        /// The bytes.
        bytes: &'a [u8],
        /// How many of the first bytes were published before.
        repeated_bytes: usize,
        /// Whether this is the whole payload of one datagram.
        is_datagram: bool,
    },
    /// Bytes that will not come.
    Gap(Gap),
    /// Bytes that arrived in two versions.
    Conflict(Conflict),
    /// A stream ended.
    Close(Close),
    /// A packet.
    Packet {
        /// The direction, if it belongs to a stream.
        direction: Direction,
        /// Its figures.
        header: PacketHeader,
        /// Its captured bytes.
        bytes: &'a [u8],
    },
}

impl<'a> Event<'a> {
    /// Decodes a record's payload; `None`: its kind is unknown, or the payload is invalid for that kind.
    #[must_use]
    pub fn new(record: &Record, payload: &'a [u8]) -> Option<Self> {
        let direction = record.direction();
        Some(match RecordType::from_number(record.kind)? {
            RecordType::Open => Self::Open { is_repeated: record.has(flags::REPEATED), open: Open::decode(payload)? },
            RecordType::Data => {
                let repeated_bytes = usize::try_from(record.detail).ok().filter(|bytes| *bytes <= payload.len())?;
                let is_datagram = record.has(flags::DATAGRAM);
                Self::Data { direction, offset: record.offset, bytes: payload, repeated_bytes, is_datagram }
            }
            RecordType::Gap => Self::Gap(Gap::of(record)),
            RecordType::Conflict => Self::Conflict(Conflict::of(record)),
            RecordType::Close => Self::Close(Close::decode(payload)?),
            RecordType::Packet => {
                let (header, bytes) = PacketHeader::decode(payload)?;
                Self::Packet { direction, header, bytes }
            }
        })
    }
}
