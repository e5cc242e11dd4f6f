//! Retransmissions over what small segments delivered.

use tidewire_lab::craft::{ACK, PSH, tcp_frame};

use super::{Connection, Made, SEGMENT_BYTES};

/// Datagrams between small segments that are scattered, of a full frame each: more than a window of the input.
const BETWEEN: usize = 16;

impl Connection {
    /// Sends a segment that begins at an offset of the client's bytes; 0 is its first one.
    fn send_at(&mut self, made: &mut Made, first_seq: u32, offset: usize, bytes: &[u8]) {
        let [client, server] = &mut self.peers;
        client.seq = first_seq.wrapping_add(offset as u32);
        made.write(&tcp_frame(client, server, ACK | PSH, bytes));
    }
}

/// A segment for each byte, then all bytes again and again.
pub(in super::super) fn bytes_then_whole(made: &mut Made, packets: usize) -> usize {
    let mut connection = made.connect(80);
    let first = connection.peers[0].seq;
    for offset in 0..SEGMENT_BYTES {
        connection.send_at(made, first, offset, b"a");
    }
    for _ in 0..packets {
        connection.send_at(made, first, 0, &[b'a'; SEGMENT_BYTES]);
    }
    connection.close(made);
    packets
}

/// Each segment has eight new bytes, and other ones for those before.
pub(in super::super) fn overlap_by_8(made: &mut Made, packets: usize) -> usize {
    let mut connection = made.connect(80);
    let first = connection.peers[0].seq;
    for number in 0..packets {
        connection.send_at(made, first, number * 8, &[number as u8; SEGMENT_BYTES]);
    }
    connection.close(made);
    packets
}

/// 128 segments of a byte with other traffic between them, then all of them again and again.
pub(in super::super) fn scattered(made: &mut Made, packets: usize) -> usize {
    let mut connection = made.connect(80);
    let first = connection.peers[0].seq;
    let other = [0; SEGMENT_BYTES];
    for offset in 0..128 {
        connection.send_at(made, first, offset, b"a");
        (0..BETWEEN).for_each(|_| made.datagram(9, &other));
    }
    // So much that all of them are far behind.
    (0..512).for_each(|_| made.datagram(9, &other));
    for _ in 0..packets {
        connection.send_at(made, first, 0, &[b'b'; 128]);
    }
    connection.close(made);
    packets
}

/// Segments of a byte, 3,000 in each connection, whose receiver says nothing more.
fn bytewise(made: &mut Made, packets: usize, offset: impl Fn(usize) -> usize, is_right: bool) -> usize {
    const EACH: usize = 3000;
    let mut connection = made.connect(9999);
    let first = connection.peers[0].seq;
    for number in 0..packets {
        if number > 0 && number % EACH == 0 {
            connection = made.connect(9999);
        }
        let number = number % EACH;
        let [client, server] = &mut connection.peers;
        client.seq = first.wrapping_add(offset(number) as u32);
        let mut frame = tcp_frame(client, server, ACK | PSH, b"a");
        if let Some(last) = frame.last_mut().filter(|_| !is_right) {
            *last ^= 1;
        }
        made.write(&frame);
    }
    packets
}

/// Each second byte of a window from its end on, with wrong checksums that no receiver acknowledges.
pub(in super::super) fn wrong_backwards(made: &mut Made, packets: usize) -> usize {
    bytewise(made, packets, |number| 60_000 - 2 * number, false)
}

/// One byte after the other.
pub(in super::super) fn one_by_one(made: &mut Made, packets: usize) -> usize {
    bytewise(made, packets, |number| number, true)
}
