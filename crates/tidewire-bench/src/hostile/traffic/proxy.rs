//! Proxies, and streams of no known protocol.

use super::{Made, Side};

/// Bytes of a message that come in a packet each: few, so that captures of each size hold another number of connections.
const BYTEWISE_BYTES: usize = 90;

/// A connection for each first message, in segments of a size. Its packets.
fn first_messages(made: &mut Made, port: u16, message: &[u8], segment_bytes: usize, packets: usize) -> usize {
    let mut sent = 0;
    while sent < packets {
        let mut connection = made.connect(port);
        connection.send_in(made, Side::Client, message, segment_bytes);
        sent += message.len().div_ceil(segment_bytes) + 3;
    }
    sent
}

fn unknown_message() -> Vec<u8> {
    [&[0x99][..], &[b'j'; 511]].concat()
}

fn request() -> Vec<u8> {
    [&b"\x04\x01\x00\x50\xc0\x00\x02\x01"[..], &[b'u'; 503], &[0]].concat()
}

pub(in super::super) fn unknown(made: &mut Made, packets: usize) -> usize {
    first_messages(made, 4444, &unknown_message(), super::SEGMENT_BYTES, packets)
}

pub(in super::super) fn unknown_bytewise(made: &mut Made, packets: usize) -> usize {
    first_messages(made, 4444, &unknown_message()[..BYTEWISE_BYTES], 1, packets)
}

/// A request of SOCKS 4 with a long user.
pub(in super::super) fn socks4(made: &mut Made, packets: usize) -> usize {
    first_messages(made, 1080, &request(), super::SEGMENT_BYTES, packets)
}

pub(in super::super) fn socks4_bytewise(made: &mut Made, packets: usize) -> usize {
    first_messages(made, 1080, &request()[..BYTEWISE_BYTES], 1, packets)
}
