//! Initial packets (RFC 9000 section 17.2.2) and their protection (RFC 9001 section 5, RFC 9369 section 3.3).

use std::fmt;

use ring::{
    aead::{self, Aad, LessSafeKey, Nonce, UnboundKey, quic::HeaderProtectionKey},
    hkdf::{self, HKDF_SHA256, KeyType, Salt},
};

use super::frames::number;
use crate::{reader::Reader, work};

/// Longest connection identifier (RFC 9000 section 17.2).
const IDENTIFIER_BYTES_MAX: usize = 20;

/// Least length of a datagram with a client's Initial (RFC 9000 section 14.1).
const DATAGRAM_BYTES_MIN: usize = 1200;

/// Constants that differ between versions.
struct Version {
    salt: [u8; 20],
    labels: [&'static [u8]; 3],
    initial: u8,
}

const LABELS: [&[u8]; 3] = [b"quic key", b"quic iv", b"quic hp"];

/// RFC 9001 section 5.2.
const VERSION_1: Version = Version {
    salt: *b"\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a",
    labels: LABELS,
    initial: 0,
};

/// RFC 9369 section 3.3.
const VERSION_2: Version = Version {
    salt: *b"\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9",
    labels: [b"quicv2 key", b"quicv2 iv", b"quicv2 hp"],
    initial: 1,
};

/// draft-ietf-quic-tls-29 section 5.2.
const DRAFT_29: Version = Version {
    salt: *b"\xaf\xbf\xec\x28\x99\x93\xd2\x4c\x9e\x97\x86\xf1\x9c\x61\x11\xe0\x43\x90\xa8\x99",
    labels: LABELS,
    initial: 0,
};

/// draft-ietf-quic-tls-23 section 5.2.
const DRAFT_23: Version = Version {
    salt: *b"\xc3\xee\xf7\x12\xc7\x2e\xbb\x5a\x11\xa7\xd2\x43\x2b\xb4\x63\x65\xbe\xf9\xf5\x02",
    labels: LABELS,
    initial: 0,
};

fn version(number: u32) -> Option<&'static Version> {
    match number {
        // draft-ietf-quic-tls-33 section 5.2 has the salt of version 1.
        1 | 0xff00_0021..=0xff00_0022 => Some(&VERSION_1),
        0x6b33_43cf => Some(&VERSION_2),
        0xff00_001d..=0xff00_0020 => Some(&DRAFT_29),
        0xff00_0017..=0xff00_001c => Some(&DRAFT_23),
        // mvfst's own numbers for draft 27.
        0xface_b002 | 0xface_b00e => Some(&DRAFT_23),
        _ => None,
    }
}

/// The name of a version in output.
pub(super) fn version_name(number: u32) -> std::borrow::Cow<'static, str> {
    match number {
        0x6b33_43cf => "2".into(),
        draft if draft >> 8 == 0xff_0000 => format!("draft {}", draft & 0xff).into(),
        number if number > 0xffff => format!("{number:#010x}").into(),
        number => number.to_string().into(),
    }
}

/// An Initial packet, protected.
pub(super) struct Initial<'a> {
    pub(super) version: u32,
    pub(super) destination: &'a [u8],
    pub(super) source: &'a [u8],
    /// From its first byte to its last.
    bytes: &'a [u8],
    /// Where the protected packet number begins.
    number_at: usize,
}

/// Packets of a datagram that are passed over before its Initial.
const PACKETS_BEFORE_MAX: usize = 16;

/// Whether a datagram has a client's Initial, by its headers and length.
pub(crate) fn is_initial(datagram: &[u8]) -> bool {
    datagram.len() >= DATAGRAM_BYTES_MIN && first(datagram).is_some()
}

/// Whether an Initial of a known version may follow a datagram of another kind: a client's 0-RTT packets may come before it, and it
/// begins again after Version Negotiation with another version than its first, which no server may know (RFC 8999 section 5.1,
/// RFC 9000 section 6).
pub(crate) fn is_long(datagram: &[u8]) -> bool {
    let mut reader = Reader::new(datagram);
    let (Some(first), Some(number)) = (reader.u8(), reader.u32()) else { return false };
    match number {
        0 => first & 0x80 != 0 && has_identifiers(&mut reader),
        number if version(number).is_some() => first & 0x80 != 0,
        // Only a client's first flight is as long as that.
        _ => {
            first & 0xc0 == 0xc0
                && datagram.len() >= DATAGRAM_BYTES_MIN
                && (is_googles(number) || has_identifiers(&mut reader))
        }
    }
}

/// Whether this is a version of Google's QUIC, as `Q046`: some have both identifiers' lengths in one byte.
fn is_googles(number: u32) -> bool {
    matches!(number.to_be_bytes(), [b'Q' | b'T', b'0', b'0'..=b'9', b'0'..=b'9'])
}

/// Whether the identifiers of both sides follow, as in the long headers of every version (RFC 8999 section 5.1).
fn has_identifiers(reader: &mut Reader<'_>) -> bool {
    reader.block8().is_some_and(|id| id.rest().len() <= IDENTIFIER_BYTES_MAX) && reader.block8().is_some()
}

/// Whether a datagram begins with a packet of a connection that is established, by its header (RFC 9000 section 17.3).
pub(super) fn is_short(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|first| first & 0x80 == 0)
}

/// The sender's identifier, if a datagram begins with a long packet of a known version. A Retry has one that the server gives up.
pub(super) fn source(datagram: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::new(datagram);
    let first = reader.u8()?;
    let initial = version(reader.u32()?)?.initial;
    let is_retry = first >> 4 & 3 == (initial + 3) & 3;
    let destination = reader.block8().filter(|_| first & 0x80 != 0 && !is_retry)?;
    let source = reader.block8().filter(|id| id.rest().len().max(destination.rest().len()) <= IDENTIFIER_BYTES_MAX)?;
    Some(source.rest())
}

/// The first Initial of a datagram, behind other packets with their lengths (RFC 9000 section 12.2), and what is behind it. The fixed bit
/// may be cleared (RFC 9287): the keys show what is an Initial.
pub(super) fn first(datagram: &[u8]) -> Option<(Initial<'_>, &[u8])> {
    let mut rest = datagram;
    for _ in 0..PACKETS_BEFORE_MAX {
        let is_known = matches!(rest, [first, a, b, c, d, ..] if first & 0x80 != 0 && version(u32::from_be_bytes([*a, *b, *c, *d])).is_some());
        let long = is_known.then(|| Long::first(rest)).flatten()?;
        match long.kind {
            LongPacketKind::Initial(initial) => return Some((initial, long.behind)),
            LongPacketKind::ZeroRtt | LongPacketKind::Handshake => rest = long.behind,
            LongPacketKind::Retry | LongPacketKind::Unknown => return None,
        }
    }
    None
}

/// The rest of an Initial from its token on.
fn initial<'a>(
    datagram: &'a [u8],
    mut reader: Reader<'a>,
    version: u32,
    [destination, source]: [&'a [u8]; 2],
) -> Option<(Initial<'a>, &'a [u8])> {
    let token_bytes = number(&mut reader)?;
    reader.take(usize::try_from(token_bytes).ok()?)?;
    let length = usize::try_from(number(&mut reader)?).ok()?;
    let number_at = datagram.len() - reader.rest().len();
    reader.take(length)?;
    let (bytes, behind) = datagram.split_at(number_at + length);
    Some((Initial { version, destination, source, bytes, number_at }, behind))
}

/// The type of a packet with a long header (RFC 9000 section 17.2).
pub(super) enum LongPacketKind<'a> {
    Initial(Initial<'a>),
    ZeroRtt,
    Handshake,
    Retry,
    /// Of a version whose packets are not known.
    Unknown,
}

/// A packet with a long header.
pub(super) struct Long<'a> {
    pub(super) version: u32,
    pub(super) destination: &'a [u8],
    pub(super) source: &'a [u8],
    pub(super) kind: LongPacketKind<'a>,
    /// The bytes behind it in its datagram.
    pub(super) behind: &'a [u8],
}

impl<'a> Long<'a> {
    /// Reads the first packet of a datagram.
    pub(super) fn first(datagram: &'a [u8]) -> Option<Self> {
        work::add(1);
        let mut reader = Reader::new(datagram);
        let first = reader.u8()?;
        let version = reader.u32()?;
        let destination = reader.block8()?.rest();
        let source = reader.block8()?.rest();
        // Where Initial is among the types; the others follow it.
        let initial_at = match version {
            0x6b33_43cf => 1,
            1 | 0xff00_0016..=0xff00_0022 | 0xface_b001 | 0xface_b002 | 0xface_b00e | 0xface_b011..=0xface_b013 => 0,
            _ => return Some(Self { version, destination, source, kind: LongPacketKind::Unknown, behind: &[] }),
        };
        if destination.len().max(source.len()) > IDENTIFIER_BYTES_MAX {
            return None;
        }
        let (kind, behind) = match (first >> 4).wrapping_sub(initial_at) & 3 {
            0 => {
                let (initial, behind) = initial(datagram, reader, version, [destination, source])?;
                (LongPacketKind::Initial(initial), behind)
            }
            3 => (LongPacketKind::Retry, &[][..]),
            other => {
                let length = number(&mut reader)?;
                reader.take(usize::try_from(length).ok()?)?;
                (if other == 1 { LongPacketKind::ZeroRtt } else { LongPacketKind::Handshake }, reader.rest())
            }
        };
        Some(Self { version, destination, source, kind, behind })
    }
}

impl Initial<'_> {
    /// Removes the protection; `false`: these are not its keys.
    pub(super) fn open(&self, keys: &Keys, payload: &mut Vec<u8>) -> bool {
        self.try_open(keys, payload).is_some()
    }

    fn try_open(&self, keys: &Keys, payload: &mut Vec<u8>) -> Option<()> {
        // RFC 9001 section 5.4.2: the sample is where a packet number of four bytes would end.
        let sample = self.bytes.get(self.number_at + 4..)?.get(..16)?;
        let mask = keys.header.new_mask(sample).ok()?;
        let first = self.bytes[0] ^ mask[0] & 0x0f;
        let number_bytes = usize::from(first & 3) + 1;
        let mut header = self.bytes.get(..self.number_at + number_bytes)?.to_vec();
        header[0] = first;
        let mut number = 0;
        for (byte, mask) in header[self.number_at..].iter_mut().zip(&mask[1..]) {
            *byte ^= mask;
            number = number << 8 | u64::from(*byte);
        }
        let mut nonce = keys.iv;
        for (byte, number) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= number;
        }
        // Copies of header and payload, the tag, and the text that is opened.
        work::pass(self.bytes.len());
        work::pass(2 * (self.bytes.len() - header.len()));
        payload.clear();
        payload.extend_from_slice(&self.bytes[header.len()..]);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let length = keys.packet.open_in_place(nonce, Aad::from(&header), payload).ok()?.len();
        payload.truncate(length);
        Some(())
    }
}

/// A side's keys for its Initial packets.
pub(super) struct Keys {
    packet: LessSafeKey,
    iv: [u8; 12],
    header: HeaderProtectionKey,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys")
    }
}

/// Bytes that are derived.
#[derive(Clone, Copy)]
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// Steps of deriving keys: bytes that some twenty blocks of SHA-256 have.
const KEYS_STEPS: usize = 20 * 64;

impl Keys {
    /// The client's (0) or the server's keys by the identifier that the client chose for the server.
    pub(super) fn of(number: u32, destination: &[u8], side: usize) -> Option<Self> {
        work::add(KEYS_STEPS);
        let version = version(number)?;
        let initial = Salt::new(HKDF_SHA256, &version.salt).extract(destination);
        let mut secret = [0; 32];
        derive(&initial, if side == 0 { b"client in" } else { b"server in" }, &mut secret)?;
        let secret = hkdf::Prk::new_less_safe(HKDF_SHA256, &secret);
        let (mut key, mut iv, mut header) = ([0; 16], [0; 12], [0; 16]);
        derive(&secret, version.labels[0], &mut key)?;
        derive(&secret, version.labels[1], &mut iv)?;
        derive(&secret, version.labels[2], &mut header)?;
        Some(Self {
            packet: LessSafeKey::new(UnboundKey::new(&aead::AES_128_GCM, &key).ok()?),
            iv,
            header: HeaderProtectionKey::new(&aead::quic::AES_128, &header).ok()?,
        })
    }
}

/// HKDF-Expand-Label (RFC 8446 section 7.1) without a context.
fn derive(secret: &hkdf::Prk, label: &[u8], out: &mut [u8]) -> Option<()> {
    let length = (out.len() as u16).to_be_bytes();
    let label_bytes = [b"tls13 ".len() as u8 + label.len() as u8];
    let info = [&length[..], &label_bytes, b"tls13 ", label, &[0]];
    secret.expand(&info, Length(out.len())).ok()?.fill(out).ok()
}
