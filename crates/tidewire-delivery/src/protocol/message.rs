//! Messages between spooler and collector. `docs/delivery.md` has their order.
//!
//! | type | from | body |
//! |---|---|---|
//! | 1 Hello | spooler | version (2), store id (16), last record delivered before (varint), sensor's name, program (sized texts) |
//! | 2 Welcome | collector | version (2), whether it knows the store (1), last record of it that is durable (varint) |
//! | 3 Refused | collector | code (1), reason (sized text); the connection ends |
//! | 4 Keys | spooler | count (varint), then id (16) and wrapped key (sized) of each |
//! | 5 Batch | spooler | behind which record (varint), through which (varint), bytes when decompressed (varint), zstd |
//! | 6 Acknowledged | collector | through which record everything is durable (varint) |
//! | 7 Ping | spooler | – |
//! | 8 Pong | collector | – |
//! | 9 Goodbye | spooler | – |

use tidewire_event_store::KeyId;

use super::{
    error::Garbled,
    frame::{Frame, put_frame},
    wire::{Cursor, put_sized, put_varint},
};
use crate::limits::{BATCH_BYTES_MAX, KEY_BYTES_MAX, KEYS_MAX, NAME_BYTES_MAX, REASON_BYTES_MAX};

/// A store of a sensor: random, for ever.
pub type StoreId = [u8; 16];

/// Why a collector refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Another version of the protocol.
    Version,
    /// The name differs from that of the certificate, or is invalid.
    Name,
    /// Not now: limits of connections, a full disk. Later it may be possible.
    Busy,
    /// Bytes that the protocol does not have.
    Garbled,
    /// Records that do not follow what is stored.
    Order,
    /// A code that this version does not know.
    Other(u8),
}

impl Code {
    fn number(self) -> u8 {
        match self {
            Self::Version => 1,
            Self::Name => 2,
            Self::Busy => 3,
            Self::Garbled => 4,
            Self::Order => 5,
            Self::Other(number) => number,
        }
    }

    fn by_number(number: u8) -> Self {
        [Self::Version, Self::Name, Self::Busy, Self::Garbled, Self::Order]
            .into_iter()
            .find(|code| code.number() == number)
            .unwrap_or(Self::Other(number))
    }
}

/// One message, borrowed of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Who the sensor is, and what it has.
    Hello {
        /// [`PROTOCOL_VERSION`](crate::limits::PROTOCOL_VERSION). Of another version nothing else is read.
        version: u16,
        /// Its store.
        store: StoreId,
        /// The last record that it knows to be delivered; 0: none.
        delivered: u64,
        /// Its name, as in its certificate.
        name: &'a str,
        /// Program and version.
        program: &'a str,
    },
    /// Where to go on.
    Welcome {
        /// See [`Hello`](Message::Hello).
        version: u16,
        /// The last record of that store that is durable; `None`: the collector never saw this store.
        durable: Option<u64>,
    },
    /// It does not go on.
    Refused {
        /// Why.
        code: Code,
        /// In words.
        reason: &'a str,
    },
    /// Data keys, wrapped for recipients. Each comes before the first record that needs it.
    Keys(Vec<(KeyId, &'a [u8])>),
    /// Records.
    Batch {
        /// They follow this one: what the collector has.
        after: u64,
        /// All records up to this one are in the batch, or not meant for the collector.
        through: u64,
        /// Bytes when it is decompressed.
        raw_bytes: usize,
        /// See [`rows`](super::rows()).
        compressed: &'a [u8],
    },
    /// Everything up to this record is durable.
    Acknowledged {
        /// The record.
        through: u64,
    },
    /// A request for a [`Pong`](Message::Pong), to find out whether the other side is there.
    Ping,
    /// The answer to a [`Ping`](Message::Ping), or a sign of life.
    Pong,
    /// An orderly end.
    Goodbye,
}

impl<'a> Message<'a> {
    /// Reads a frame.
    ///
    /// # Errors
    /// It is no message.
    pub fn decode(frame: &'a Frame) -> Result<Self, Garbled> {
        let mut cursor = Cursor::new(&frame.body);
        let message = match frame.kind {
            1 => {
                let version = cursor.array("the version").map(u16::from_le_bytes)?;
                if version != crate::limits::PROTOCOL_VERSION {
                    return Ok(Self::Hello { version, store: [0; 16], delivered: 0, name: "", program: "" });
                }
                let (store, delivered) = (cursor.array("the store")?, cursor.varint("the position")?);
                let (name, program) = (cursor.text(NAME_BYTES_MAX, "the name")?, cursor.text(64, "the program")?);
                Self::Hello { version, store, delivered, name, program }
            }
            2 => {
                let version = cursor.array("the version").map(u16::from_le_bytes)?;
                let is_known = cursor.byte("whether the store is known")?;
                let durable = cursor.varint("the position")?;
                match is_known {
                    0 if durable == 0 => Self::Welcome { version, durable: None },
                    1 => Self::Welcome { version, durable: Some(durable) },
                    _ => return Err(Garbled::Value("whether the store is known")),
                }
            }
            3 => {
                let code = Code::by_number(cursor.byte("the code")?);
                Self::Refused { code, reason: cursor.text(REASON_BYTES_MAX, "the reason")? }
            }
            4 => {
                let count = cursor.varint("the number of keys")?;
                if !(1..=KEYS_MAX as u64).contains(&count) {
                    return Err(Garbled::Value("the number of keys"));
                }
                let key = |_| Ok((cursor.array("a key's id")?, cursor.sized(KEY_BYTES_MAX, "a key")?));
                Self::Keys((0..count).map(key).collect::<Result<_, Garbled>>()?)
            }
            5 => {
                let (after, through) = (cursor.varint("the position")?, cursor.varint("the end")?);
                let raw_bytes = usize::try_from(cursor.varint("the size")?).ok();
                let raw_bytes =
                    raw_bytes.filter(|bytes| *bytes <= BATCH_BYTES_MAX).ok_or(Garbled::Value("the size"))?;
                if through <= after || i64::try_from(through).is_err() {
                    return Err(Garbled::Value("the end"));
                }
                Self::Batch { after, through, raw_bytes, compressed: cursor.rest() }
            }
            6 => Self::Acknowledged { through: cursor.varint("the position")? },
            7 => Self::Ping,
            8 => Self::Pong,
            9 => Self::Goodbye,
            kind => return Err(Garbled::Frame(kind)),
        };
        cursor.end()?;
        Ok(message)
    }

    /// The number of its type.
    #[must_use]
    pub fn kind(&self) -> u8 {
        match self {
            Self::Hello { .. } => 1,
            Self::Welcome { .. } => 2,
            Self::Refused { .. } => 3,
            Self::Keys(_) => 4,
            Self::Batch { .. } => 5,
            Self::Acknowledged { .. } => 6,
            Self::Ping => 7,
            Self::Pong => 8,
            Self::Goodbye => 9,
        }
    }

    /// Appends it as a frame. Reasons that are too long are cut.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let mut body = Vec::new();
        match self {
            Self::Hello { version, store, delivered, name, program } => {
                body.extend_from_slice(&version.to_le_bytes());
                body.extend_from_slice(store);
                put_varint(&mut body, *delivered);
                put_sized(&mut body, name.as_bytes());
                put_sized(&mut body, program.as_bytes());
            }
            Self::Welcome { version, durable } => {
                body.extend_from_slice(&version.to_le_bytes());
                body.push(durable.is_some().into());
                put_varint(&mut body, durable.unwrap_or(0));
            }
            Self::Refused { code, reason } => {
                body.push(code.number());
                let end = (0..=reason.len().min(REASON_BYTES_MAX)).rev().find(|end| reason.is_char_boundary(*end));
                put_sized(&mut body, reason.get(..end.unwrap_or(0)).unwrap_or_default().as_bytes());
            }
            Self::Keys(keys) => {
                put_varint(&mut body, keys.len() as u64);
                for (id, wrapped) in keys {
                    body.extend_from_slice(id);
                    put_sized(&mut body, wrapped);
                }
            }
            Self::Batch { after, through, raw_bytes, compressed } => {
                for number in [*after, *through, *raw_bytes as u64] {
                    put_varint(&mut body, number);
                }
                body.extend_from_slice(compressed);
            }
            Self::Acknowledged { through } => put_varint(&mut body, *through),
            Self::Ping | Self::Pong | Self::Goodbye => {}
        }
        put_frame(bytes, self.kind(), &body);
    }
}
