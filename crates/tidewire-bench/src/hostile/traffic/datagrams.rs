//! Datagrams of DHCP and QUIC.

use super::Made;

/// A message of DHCP with these options, filled up to the longest one of a frame (RFC 2131 section 2).
fn message(options: &[u8]) -> Vec<u8> {
    let mut message = vec![0; 236];
    message[..4].copy_from_slice(&[1, 1, 6, 0]);
    message.extend(b"\x63\x82\x53\x63\x35\x01\x01");
    message.extend(options);
    message
}

fn datagrams(made: &mut Made, packets: usize, port: u16, message: &[u8]) -> usize {
    for _ in 0..packets {
        made.datagram(port, message);
    }
    packets
}

/// Names of a client, and padding.
pub(in super::super) fn dhcp(made: &mut Made, packets: usize) -> usize {
    let options = [&b"\x0c\x0aworkplace1\x0f\x0bexample.org\x3c\x08MSFT 5.0"[..], &[0; 1000], &[255]].concat();
    datagrams(made, packets, 67, &message(&options))
}

/// A name in pieces of one byte, which needs escapes.
pub(in super::super) fn dhcp_options(made: &mut Made, packets: usize) -> usize {
    let options = [&b"\x0c\x01\xff\x3c\x01\x1b".repeat(180)[..], &[255]].concat();
    datagrams(made, packets, 67, &message(&options))
}

/// A header of QUIC 1 to an identifier of eight bytes (RFC 9000 section 17.2.2), whose packet has so many bytes behind its length.
fn packet(kind: u8, bytes: u16) -> Vec<u8> {
    let token: &[u8] = if kind == 0xc0 { &[0] } else { &[] };
    let header = [&[kind, 0, 0, 0, 1, 8][..], b"\x83\x94\xc8\xf0\x3e\x51\x57\x08\0", token].concat();
    [header, (0x4000 | bytes).to_be_bytes().to_vec(), vec![0x5a; bytes.into()]].concat()
}

/// A first datagram of a client in one packet, which cannot be opened.
pub(in super::super) fn quic(made: &mut Made, packets: usize) -> usize {
    datagrams(made, packets, 443, &packet(0xc0, 1182))
}

/// The same in many small packets, behind others.
pub(in super::super) fn quic_pieces(made: &mut Made, packets: usize) -> usize {
    let small = [packet(0xd0, 20).repeat(10), packet(0xc0, 21).repeat(21)].concat();
    datagrams(made, packets, 443, &small)
}
