//! Messages with lengths: the PROXY protocol, PostgreSQL, MySQL, RDP and LDAP.

use super::kinds::{Lead, Look};
use crate::look::begins;

/// PROXY protocol 2 (section 2.2 of its specification).
const PROXY_2: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";

/// Longest line of PROXY protocol 1 (section 2.1).
const PROXY_LINE_BYTES_MAX: usize = 107;

/// The request for TLS, and the one for Kerberos, which may come before it (PostgreSQL's documentation, "Message Formats").
const POSTGRESQL: [u8; 7] = [0, 0, 0, 8, 4, 0xd2, 0x16];

/// The client's answer to MySQL's greeting up to TLS: 32 bytes in packet 1.
const MYSQL_REQUEST_BYTES: usize = 36;

/// The capability flag of TLS in it.
const MYSQL_TLS: u8 = 0x08;

/// LDAP's extended operation StartTLS (RFC 4511 section 4.14.1).
const START_TLS: &[u8] = b"1.3.6.1.4.1.1466.20037";

/// Bytes of a first message of LDAP that may come before this name.
const START_TLS_AT_MAX: usize = 24;

pub(super) fn look(bytes: &[u8]) -> Look {
    let mut open = false;
    for (pattern, lead) in [(&PROXY_2[..], Lead::Proxy), (b"PROXY ", Lead::Proxy), (&POSTGRESQL, Lead::PostgreSql)] {
        match begins(bytes, pattern) {
            Some(true) => return Look::Client(lead),
            Some(false) => open = true,
            None => {}
        }
    }
    for look in [mysql(bytes), rdp(bytes), ldap(bytes)] {
        match look {
            Look::Unknown => {}
            Look::Open => open = true,
            found => return found,
        }
    }
    if open { Look::Open } else { Look::Unknown }
}

/// A greeting of protocol 10 with a version that begins with a digit, or a client's request for TLS.
fn mysql(bytes: &[u8]) -> Look {
    let Some(&[low, middle, high, number]) = bytes.first_chunk() else {
        return if bytes.get(2).is_none_or(|&high| high == 0) { Look::Open } else { Look::Unknown };
    };
    let length = u32::from_le_bytes([low, middle, high, 0]);
    match (number, bytes.get(4), bytes.get(5)) {
        (1, ..) if length == 32 => match bytes.get(5) {
            Some(flags) if flags & MYSQL_TLS != 0 => Look::Client(Lead::MySql),
            Some(_) => Look::Unknown,
            None => Look::Open,
        },
        (0, Some(10), Some(digit)) if digit.is_ascii_digit() && (40..1024).contains(&length) => {
            Look::Server(Lead::MySql)
        }
        (0, None, _) | (0, Some(10), None) => Look::Open,
        _ => Look::Unknown,
    }
}

/// A connection request or confirmation of X.224 in a packet of TPKT (RFC 1006, ITU-T X.224 section 13).
fn rdp(bytes: &[u8]) -> Look {
    let is_packet =
        begins(&bytes[..bytes.len().min(2)], &[3, 0]).is_some() && bytes.get(2).is_none_or(|&high| high <= 1);
    match bytes.get(5) {
        _ if !is_packet => Look::Unknown,
        None => Look::Open,
        Some(0xe0) => Look::Client(Lead::Rdp),
        Some(0xd0) => Look::Server(Lead::Rdp),
        Some(_) => Look::Unknown,
    }
}

/// A message of LDAP with an extended request (RFC 4511 section 4.12) whose name is StartTLS.
fn ldap(bytes: &[u8]) -> Look {
    let Some(0x30) = bytes.first() else {
        return if bytes.is_empty() { Look::Open } else { Look::Unknown };
    };
    let window = &bytes[..bytes.len().min(START_TLS_AT_MAX + START_TLS.len())];
    if window.windows(START_TLS.len()).any(|part| part == START_TLS) {
        return Look::Client(Lead::Ldap);
    }
    if bytes.len() < START_TLS_AT_MAX + START_TLS.len() { Look::Open } else { Look::Unknown }
}

/// The length of a first message, as far as it is known from bytes that are no longer than it: `Some(None)` needs more bytes, `None` is no such message.
pub(super) fn message_bytes(lead: Lead, side: usize, bytes: &[u8]) -> Option<Option<usize>> {
    match (lead, side) {
        // (Called for each byte: those before were no end.)
        (Lead::Proxy, 0) if bytes.starts_with(b"P") => match bytes.last() {
            Some(b'\n') => Some(Some(bytes.len())),
            _ => (bytes.len() < PROXY_LINE_BYTES_MAX).then_some(None),
        },
        (Lead::Proxy, 0) => {
            Some(bytes.get(14..16).map(|length| 16 + usize::from(u16::from_be_bytes([length[0], length[1]]))))
        }
        (Lead::PostgreSql, 0) => Some(Some(8)),
        (Lead::PostgreSql, _) => Some(Some(1)),
        (Lead::MySql, 0) => Some(Some(MYSQL_REQUEST_BYTES)),
        (Lead::MySql, _) => Some(
            bytes
                .first_chunk::<4>()
                .map(|&[low, middle, high, _]| 4 + u32::from_le_bytes([low, middle, high, 0]) as usize),
        ),
        (Lead::Rdp, _) => {
            Some(bytes.get(2..4).map(|length| usize::from(u16::from_be_bytes([length[0], length[1]])).max(6)))
        }
        (Lead::Ldap, _) => ber_bytes(bytes),
        _ => None,
    }
}

/// The length of a value in BER with its header (ITU-T X.690 section 8.1.3).
fn ber_bytes(bytes: &[u8]) -> Option<Option<usize>> {
    let Some(&first) = bytes.get(1) else { return Some(None) };
    let digits = usize::from(first & 0x7f);
    if first & 0x80 == 0 {
        return Some(Some(2 + digits));
    }
    if !(1..=2).contains(&digits) {
        return (digits == 4)
            .then(|| bytes.get(2..6).map(|length| 6 + usize::from(u16::from_be_bytes([length[2], length[3]]))));
    }
    Some(
        bytes
            .get(2..2 + digits)
            .map(|length| 2 + digits + length.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte))),
    )
}

/// Whether a client's message of PostgreSQL asks for TLS or Kerberos.
pub(super) fn is_request(message: &[u8]) -> bool {
    message.strip_prefix(&POSTGRESQL).is_some_and(|number| matches!(number, [0x2f | 0x30]))
}

/// Whether the server's message consents to TLS.
pub(super) fn consents(lead: Lead, message: &[u8]) -> bool {
    match lead {
        Lead::PostgreSql => message == b"S",
        // A negotiation response (MS-RDPBCGR section 2.2.1.2.1) that chose something else than RDP's own security.
        Lead::Rdp => message.get(5) == Some(&0xd0) && message.get(11) == Some(&2) && message.get(15) != Some(&0),
        // The result code 0.
        Lead::Ldap => message.windows(3).any(|part| part == [0x0a, 1, 0]),
        _ => true,
    }
}
