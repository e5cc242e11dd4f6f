//! Hellos of SSL 2.0 (RFC 6101 appendix E): clients of old sent them for newer versions, too.

use crate::reader::Reader;

/// Type, and the lengths that a hello states, as far as they are there: 11 bytes.
const HEADER_BYTES: usize = 11;

pub(super) const CLIENT_HELLO: u8 = 1;
pub(super) const SERVER_HELLO: u8 = 4;

/// Whether bytes begin a hello of SSL 2.0: its type, `Some(None)` while this is open.
pub(crate) fn old_hello(bytes: &[u8]) -> Option<Option<u8>> {
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
        let is_alike = bytes.first().is_none_or(|first| first & 0x80 != 0)
            && bytes.get(2).is_none_or(|kind| [CLIENT_HELLO, SERVER_HELLO].contains(kind));
        return is_alike.then_some(None);
    };
    let word = |at: usize| usize::from(u16::from_be_bytes([header[at], header[at + 1]]));
    let (length, kind) = (word(0) & 0x7fff, header[2]);
    let is_version = |version: usize| version == 2 || version >> 8 == 3 && version & 0xff <= 4;
    let is_hello = match kind {
        CLIENT_HELLO => {
            let (ciphers, session, challenge) = (word(5), word(7), word(9));
            is_version(word(3))
                && ciphers > 0
                && ciphers % 3 == 0
                && [0, 16].contains(&session)
                && (16..=32).contains(&challenge)
                && length == 9 + ciphers + session + challenge
        }
        // A session's identifier was known or not, the certificate has a type, and lengths follow of which the last is not here.
        SERVER_HELLO => {
            header[3] <= 1 && header[4] <= 1 && word(5) == 2 && length >= 11 + word(7) + word(9) && word(9) % 3 == 0
        }
        _ => false,
    };
    (header[0] & 0x80 != 0 && is_hello).then_some(Some(kind))
}

/// The version that a client's hello offers.
pub(super) fn client_version(body: &[u8]) -> Option<u16> {
    Reader::new(body).u16()
}

/// A server's certificate behind the type of its hello.
#[cfg(feature = "certificates")]
pub(super) fn server_certificate(body: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::new(body);
    reader.take(4)?;
    let length = reader.u16()?;
    reader.take(4)?;
    reader.take(length.into()).filter(|certificate| !certificate.is_empty())
}
