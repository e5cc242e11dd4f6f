//! Messages and their options.

use std::{net::Ipv4Addr, ops::Range};

use super::fields::Dhcp;
use crate::{
    reader::Reader,
    text::{text, until_nul},
    transaction::{Fields, Transaction},
    value::Service,
};

/// Bytes before the options, and the value that begins these (RFC 2131 section 3).
const FIXED_BYTES: usize = 236;
/// Fields that may hold further options, in the order in which these are read (RFC 2131 section 4.1, RFC 2132 section 9.3).
const FILE: Range<usize> = 108..236;
const SERVER_NAME: Range<usize> = 44..108;
const MAGIC: [u8; 4] = [99, 130, 83, 99];

/// RFC 2132 section 9.6, and later ones of IANA's registry.
const MESSAGES: [&str; 18] = [
    "DISCOVER",
    "OFFER",
    "REQUEST",
    "DECLINE",
    "ACK",
    "NAK",
    "RELEASE",
    "INFORM",
    "FORCERENEW",
    "LEASEQUERY",
    "LEASEUNASSIGNED",
    "LEASEUNKNOWN",
    "LEASEACTIVE",
    "BULKLEASEQUERY",
    "LEASEQUERYDONE",
    "ACTIVELEASEQUERY",
    "LEASEQUERYSTATUS",
    "TLS",
];

/// Whether a datagram is a message.
pub(crate) fn is_message(bytes: &[u8]) -> bool {
    matches!(bytes.first(), Some(1 | 2)) && bytes.get(FIXED_BYTES..FIXED_BYTES + 4) == Some(&MAGIC)
}

/// The message of a datagram.
pub(crate) fn transaction(bytes: &[u8], ns: u64) -> Option<Transaction> {
    let fields = Fields::Dhcp(Box::new(read(bytes)?));
    Some(Transaction { start_ns: ns, end_ns: ns, service: Service::Dhcp, fields })
}

fn read(bytes: &[u8]) -> Option<Dhcp> {
    let mut reader = Reader::new(bytes);
    let (_operation, link, link_bytes, _hops) = (reader.u8()?, reader.u8()?, reader.u8()?, reader.u8()?);
    let id = reader.u32()?;
    // Seconds, flags, the client's own address.
    reader.take(8)?;
    let assigned = reader.u32().filter(|&address| address != 0).map(dotted);
    reader.take(8)?;
    let address = reader.take(16)?;
    let client_mac = (link == 1 && link_bytes == 6).then(|| {
        let bytes: Vec<String> = address[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        bytes.join(":").into()
    });
    let mut dhcp = Dhcp { id, client_mac, assigned, ..Dhcp::default() };
    let overload = options(bytes.get(FIXED_BYTES + 4..)?, &mut dhcp);
    for (bit, field) in [(1, FILE), (2, SERVER_NAME)] {
        if overload & bit != 0 {
            options(bytes.get(field)?, &mut dhcp);
        }
    }
    Some(dhcp)
}

fn dotted(address: u32) -> Box<str> {
    Ipv4Addr::from(address).to_string().into()
}

/// Reads options; which other fields hold some, as option 52 says.
fn options(bytes: &[u8], dhcp: &mut Dhcp) -> u8 {
    let (mut reader, mut overload) = (Reader::new(bytes), 0);
    while let Some(code) = reader.u8() {
        if code == 0 {
            continue;
        }
        let Some(value) = (if code == 255 { None } else { reader.block8() }) else { break };
        let number = || Reader::new(value.rest()).u32();
        match code {
            12 => dhcp.host_name = Some(text(until_nul(value.rest()))),
            15 => dhcp.domain = Some(text(until_nul(value.rest()))),
            50 => dhcp.requested = number().map(dotted),
            51 => dhcp.lease = number(),
            52 => overload = value.rest().first().copied().unwrap_or_default(),
            53 => {
                let kind = value.rest().first().copied().unwrap_or_default();
                let name = kind.checked_sub(1).and_then(|index| MESSAGES.get(usize::from(index)));
                dhcp.message = Some(name.map_or_else(|| kind.to_string().into(), |name| (*name).into()));
            }
            54 => dhcp.server = number().map(dotted),
            60 => dhcp.vendor_class = Some(text(until_nul(value.rest()))),
            _ => {}
        }
    }
    overload
}

#[cfg(test)]
mod tests {
    use tidewire_core::Direction::ClientToServer;

    use super::*;
    use crate::testing::{Sent, transactions};

    #[test]
    fn a_message_has_its_options() {
        let mut bytes = vec![0; FIXED_BYTES];
        bytes[..8].copy_from_slice(&[2, 1, 6, 0, 0, 0, 0, 9]);
        bytes[16..20].copy_from_slice(&[192, 0, 2, 9]);
        bytes[28..34].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(
            b"\x35\x01\x05\x00\x0c\x04h\x1b[m\x33\x04\x00\x00\x0e\x10\x36\x04\xc0\x00\x02\x01\xff\x0f\x01x",
        );
        let found = transactions(&Sent::datagrams(&[(ClientToServer, bytes.clone()), (ClientToServer, bytes)]), 68);
        let Fields::Dhcp(dhcp) = &found[0].fields else { panic!("{found:?}") };
        let expected = Dhcp {
            message: Some("ACK".into()),
            id: 9,
            client_mac: Some("02:00:00:00:00:01".into()),
            host_name: Some("h\u{1b}[m".into()),
            assigned: Some("192.0.2.9".into()),
            server: Some("192.0.2.1".into()),
            lease: Some(3600),
            ..Dhcp::default()
        };
        assert_eq!((&**dhcp, found.len(), found[0].name()), (&expected, 2, Some("h\u{1b}[m")));
    }
    #[test]
    fn other_fields_may_hold_options() {
        for (overload, expected) in
            [(0, [None, None]), (1, [Some("ovl"), None]), (2, [None, Some("h")]), (3, [Some("ovl"), Some("h")])]
        {
            let mut bytes = vec![0; FIXED_BYTES];
            bytes[..8].copy_from_slice(&[2, 1, 6, 0, 0, 0, 0, 9]);
            bytes[44..48].copy_from_slice(b"\x0c\x01h\xff");
            bytes[108..114].copy_from_slice(b"\x0f\x03ovl\xff");
            bytes.extend_from_slice(&MAGIC);
            bytes.extend_from_slice(&[0x35, 1, 5, 52, 1, overload, 0xff]);
            let dhcp = read(&bytes).unwrap();
            assert_eq!([dhcp.domain.as_deref(), dhcp.host_name.as_deref()], expected);
            assert_eq!(dhcp.message.as_deref(), Some("ACK"));
        }
    }
}
