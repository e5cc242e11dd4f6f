//! Messages and their options.

use std::{net::Ipv4Addr, ops::Range};

use tidewire_types::{Timestamp, hex};

use crate::{
    fields::Dhcp,
    reader::Reader,
    text::{text, until_nul},
    transaction::{Fields, Transaction},
    value::Service,
    work,
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
    Some(Transaction {
        start: Timestamp::from_nanos(ns),
        end: Timestamp::from_nanos(ns),
        service: Service::Dhcp,
        fields,
    })
}

fn read(bytes: &[u8]) -> Option<Dhcp> {
    let mut reader = Reader::new(bytes);
    work::add(FIXED_BYTES);
    let (_operation, link, link_bytes, _hops) = (reader.u8()?, reader.u8()?, reader.u8()?, reader.u8()?);
    let id = reader.u32()?;
    // Seconds, flags, the client's own address.
    reader.take(8)?;
    let assigned = reader.u32().filter(|&address| address != 0).map(dotted);
    reader.take(8)?;
    let address = reader.take(16)?;
    let client_mac = (link == 1 && link_bytes == 6).then(|| hex::separated(&address[..6], ':').into());
    let mut values = Values::default();
    let overload = values.add(bytes.get(FIXED_BYTES + 4..)?);
    for (bit, field) in [(1, FILE), (2, SERVER_NAME)] {
        if overload & bit != 0 {
            values.add(bytes.get(field)?);
        }
    }
    Some(values.fields(Dhcp { id, client_mac, assigned, ..Dhcp::default() }))
}

fn dotted(address: u32) -> Box<str> {
    Ipv4Addr::from(address).to_string().into()
}

/// The options that are read.
const CODES: [u8; 7] = [HOST_NAME, DOMAIN, REQUESTED, LEASE, MESSAGE, SERVER, VENDOR_CLASS];
const HOST_NAME: u8 = 12;
const DOMAIN: u8 = 15;
const REQUESTED: u8 = 50;
const LEASE: u8 = 51;
const OVERLOAD: u8 = 52;
const MESSAGE: u8 = 53;
const SERVER: u8 = 54;
const VENDOR_CLASS: u8 = 60;

/// The values of options, in the order of [`CODES`]. An option that comes several times is one whose value was split, also over other
/// fields (RFC 2131 section 4.1, RFC 3396 section 7); together they are no longer than the message.
#[derive(Default)]
struct Values([Option<Vec<u8>>; CODES.len()]);

impl Values {
    /// Adds the options of a field; which other fields hold some, as option 52 says.
    fn add(&mut self, bytes: &[u8]) -> u8 {
        let (mut reader, mut overload) = (Reader::new(bytes), 0);
        while let Some(code) = reader.u8() {
            work::add(1);
            if code == 0 {
                continue;
            }
            let Some(value) = (if code == 255 { None } else { reader.block8() }) else { break };
            if let Some(index) = CODES.iter().position(|known| *known == code) {
                work::pass(value.rest().len());
                self.0[index].get_or_insert_default().extend_from_slice(value.rest());
            } else if code == OVERLOAD {
                overload = value.rest().first().copied().unwrap_or_default();
            }
        }
        overload
    }

    fn of(&self, code: u8) -> Option<&[u8]> {
        let index = CODES.iter().position(|known| *known == code)?;
        self.0[index].as_deref()
    }

    fn fields(&self, dhcp: Dhcp) -> Dhcp {
        let words = |code| self.of(code).map(|value| text(until_nul(value)));
        let number = |code| Reader::new(self.of(code)?).u32();
        let message = self.of(MESSAGE).map(|value| {
            let kind = value.first().copied().unwrap_or_default();
            let name = kind.checked_sub(1).and_then(|index| MESSAGES.get(usize::from(index)));
            name.map_or_else(|| kind.to_string().into(), |name| (*name).into())
        });
        Dhcp {
            message,
            host_name: words(HOST_NAME),
            domain: words(DOMAIN),
            requested: number(REQUESTED).map(dotted),
            lease: number(LEASE),
            server: number(SERVER).map(dotted),
            vendor_class: words(VENDOR_CLASS),
            ..dhcp
        }
    }
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

    /// RFC 3396: a value of more than 255 bytes is in several options, which need not follow each other, nor be in one field.
    #[test]
    fn an_option_that_is_split_is_read_whole() {
        let mut bytes = vec![0; FIXED_BYTES];
        bytes[..8].copy_from_slice(&[2, 1, 6, 0, 0, 0, 0, 9]);
        bytes[108..114].copy_from_slice(b"\x0f\x03org\xff");
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(b"\x0f\x08example.\x35\x01\x05\x34\x01\x01\x3c\xff");
        bytes.extend_from_slice(&[b'v'; 255]);
        bytes.extend_from_slice(b"\x33\x02\x00\x00\x3c\x03end\x33\x02\x0e\x10\xff");
        let dhcp = read(&bytes).unwrap();
        assert_eq!(dhcp.domain.as_deref(), Some("example.org"));
        assert_eq!(dhcp.vendor_class.as_deref(), Some(&*("v".repeat(255) + "end")));
        assert_eq!((dhcp.message.as_deref(), dhcp.lease), (Some("ACK"), Some(3600)));
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
