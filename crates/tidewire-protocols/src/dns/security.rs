//! Records of DNSSEC (RFC 4034) and fingerprints of SSH (RFC 4255).

use std::fmt::Write as _;

use super::names;
use crate::{
    reader::Reader,
    text::{hex, push_base64},
    work,
};

/// Longest key, signature or digest that is shown, bytes; the rest is left out.
const VALUE_BYTES_MAX: usize = 768;

/// DS and its likes: key tag, algorithm, kind of digest, digest (RFC 4034 section 5.3).
pub(super) fn say_digest(data: &[u8]) -> Option<String> {
    let mut reader = Reader::new(data);
    Some(format!("{} {} {} {}", reader.u16()?, reader.u8()?, reader.u8()?, hex(shown(reader.rest())?)))
}

/// SSHFP: algorithm, kind of fingerprint, fingerprint (RFC 4255 section 3.2).
pub(super) fn say_fingerprint(data: &[u8]) -> Option<String> {
    let mut reader = Reader::new(data);
    Some(format!("{} {} {}", reader.u8()?, reader.u8()?, hex(shown(reader.rest())?)))
}

/// DNSKEY: flags, protocol, algorithm, key (RFC 4034 section 2.2).
pub(super) fn say_key(data: &[u8]) -> Option<String> {
    let mut reader = Reader::new(data);
    let mut said = format!("{} {} {} ", reader.u16()?, reader.u8()?, reader.u8()?);
    push_base64(&mut said, shown(reader.rest())?);
    Some(said)
}

/// The fields of RRSIG before the signer's name, and their length (RFC 4034 section 3.2): the type that is signed, algorithm, labels,
/// TTL, end and beginning in seconds since the epoch, key tag.
pub(super) fn say_signature(data: &[u8]) -> Option<(String, usize)> {
    let mut reader = Reader::new(data);
    let mut said = names::kind(reader.u16()?).into_owned();
    let _ = write!(said, " {} {}", reader.u8()?, reader.u8()?);
    for _ in 0..3 {
        let _ = write!(said, " {}", reader.u32()?);
    }
    let _ = write!(said, " {}", reader.u16()?);
    Some((said, data.len() - reader.rest().len()))
}

/// Appends a signature.
pub(super) fn push_signature(said: &mut String, signature: &[u8]) -> Option<()> {
    push_base64(said, shown(signature)?);
    Some(())
}

/// Appends the types that a name has (RFC 4034 section 4.1.2), each behind a blank.
pub(super) fn push_types(said: &mut String, bitmap: &[u8]) -> Option<()> {
    let mut reader = Reader::new(bitmap);
    while !reader.is_empty() {
        let window = reader.u8()?;
        let bits = reader.block8()?.rest();
        for (index, byte) in bits.iter().enumerate().take(32) {
            work::add(1 + byte.count_ones() as usize);
            for bit in (0..8).filter(|bit| byte & 0x80 >> bit != 0) {
                said.push(' ');
                names::push_kind(said, u16::from(window) << 8 | (index * 8 + bit) as u16);
            }
        }
        if said.len() > 4 * VALUE_BYTES_MAX {
            break;
        }
    }
    Some(())
}

/// A value as far as it is shown; `None`: there is none.
fn shown(value: &[u8]) -> Option<&[u8]> {
    (!value.is_empty()).then(|| &value[..value.len().min(VALUE_BYTES_MAX)])
}
