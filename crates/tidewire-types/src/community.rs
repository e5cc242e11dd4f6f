//! Community ID, version 1: an identifier of flows that other tools compute alike.

use std::net::IpAddr;

use sha1::{Digest as _, Sha1};

/// An endpoint: the address, and its port or what stands for it.
pub type End = (IpAddr, u16);

/// Puts the endpoints of a flow in the order that both of its directions have: the lesser address first, then the lesser port. A flow's
/// addresses are of one family.
#[must_use]
pub fn ordered(from: End, to: End) -> [End; 2] {
    if to < from { [to, from] } else { [from, to] }
}

/// The SHA-1 of seed, addresses, protocol and ports; `has_ports`: whether ports are part of it, as they are of TCP, UDP, SCTP and ICMP.
#[must_use]
pub fn digest(seed: u16, [from, to]: [End; 2], protocol: u8, has_ports: bool) -> [u8; 20] {
    // Put together first: a hash that is fed in parts costs more than the hash.
    let (mut input, mut len) = ([0; 2 + 16 + 16 + 2 + 4], 0);
    let mut add = |bytes: &[u8]| {
        input[len..len + bytes.len()].copy_from_slice(bytes);
        len += bytes.len();
    };
    add(&seed.to_be_bytes());
    for (address, _) in [from, to] {
        match address {
            IpAddr::V4(address) => add(&address.octets()),
            IpAddr::V6(address) => add(&address.octets()),
        }
    }
    add(&[protocol, 0]);
    if has_ports {
        add(&from.1.to_be_bytes());
        add(&to.1.to_be_bytes());
    }
    Sha1::digest(&input[..len]).into()
}

/// `1:` and the base64 (RFC 4648 section 4) of a digest.
#[must_use]
pub fn text(digest: &[u8; 20]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = *b"1:############################";
    let byte = |at: usize| u32::from(digest.get(at).copied().unwrap_or_default());
    for (three, digits) in text[2..].chunks_exact_mut(4).enumerate() {
        let bits = byte(3 * three) << 16 | byte(3 * three + 1) << 8 | byte(3 * three + 2);
        for (digit, shift) in digits.iter_mut().zip([18, 12, 6, 0]) {
            *digit = ALPHABET[(bits >> shift & 63) as usize];
        }
    }
    // The last two bytes are three characters, and one that says so.
    text[29] = b'=';
    std::str::from_utf8(&text).unwrap_or_default().to_owned()
}
