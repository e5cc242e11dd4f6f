//! A stream beyond 4 GiB, whose sequence numbers wrap twice: made while it is read, stored nowhere.

use std::{
    io::{self, Read, Write as _},
    net::Ipv4Addr,
    process::Stdio,
};

use crate::common::*;
use tidewire::{AnomalyKind, Capture, Chunk, Conflict, Direction, EndReason, Gap, GapCause, Handler, Mode, Stream};
use tidewire_testing::Ends as _;

/// Payload of a segment, such as a card that merges segments hands over.
const PIECE: u64 = 64_000;
/// The first wrap is in the first segment, the second one in this one, behind byte 2^32 of the stream.
const WRAPS: u64 = (1 << 32) / PIECE;
const INITIAL: u32 = u32::MAX - 4095;
/// Seen once more, with other bytes.
const FORGED: u64 = WRAPS + 3;
/// Never captured, but acknowledged.
const LOST: u64 = WRAPS + 40;
/// Has the words that are looked for.
const WORDS: u64 = WRAPS + 80;
const LAST: u64 = WRAPS + 120;
const NEEDLE: &[u8] = b"behind the second wrap";

const CLIENT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);

/// Payload of segment `index`, which begins with its number.
fn piece(index: u64) -> Vec<u8> {
    let mut payload = vec![b'.'; PIECE as usize];
    payload[..8].copy_from_slice(&index.to_be_bytes());
    if index == WORDS {
        payload[1000..1000 + NEEDLE.len()].copy_from_slice(NEEDLE);
    }
    payload
}

/// One's complement sum (RFC 1071), eight bytes at a time.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let of = |word: &[u8; 8]| {
        let word = u64::from_be_bytes(*word);
        (word >> 48) + (word >> 32 & 0xffff) + (word >> 16 & 0xffff) + (word & 0xffff)
    };
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    words.iter().map(of).sum::<u64>() + of(&last)
}

fn folded(mut sum: u64) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// A capture of it, made packet by packet.
struct Long {
    /// The record that was made and not read yet.
    record: Vec<u8>,
    read: usize,
    /// Packets so far.
    packets: u64,
    /// The next segment.
    next: u64,
    /// Of a segment without number or words.
    plain: (Vec<u8>, u64),
}

impl Long {
    fn new() -> Self {
        let mut plain = piece(0);
        plain[..8].fill(0);
        let of_plain = sum(&plain);
        let mut long =
            Self { record: Pcap::new().bytes().to_vec(), read: 0, packets: 0, next: 0, plain: (plain, of_plain) };
        let scale = [2, 4, 0xff, 0xd7, 1, 3, 3, 14];
        long.packet(false, INITIAL, 0, SYN, &scale, &[]);
        long.packet(true, 77, INITIAL.wrapping_add(1), SYN | ACK, &scale, &[]);
        long.packet(false, INITIAL.wrapping_add(1), 78, ACK, &[], &[]);
        // The window of a SYN is not scaled (RFC 7323 section 2.2): this one is.
        long.packet(true, 78, INITIAL.wrapping_add(1), ACK, &[], &[]);
        long
    }

    fn packet(&mut self, from_server: bool, sequence: u32, ack: u32, flags: u8, options: &[u8], payload: &[u8]) {
        let of_payload = match payload.get(8..) {
            Some(rest) if *rest == self.plain.0[8..] => self.plain.1 + sum(&payload[..8]),
            _ => sum(payload),
        };
        let (from, to, ports) =
            if from_server { (SERVER, CLIENT, [80, 40_000]) } else { (CLIENT, SERVER, [40_000, 80]) };
        let mut tcp: Vec<u8> = ports.map(u16::to_be_bytes).concat();
        tcp.extend_from_slice(&sequence.to_be_bytes());
        tcp.extend_from_slice(&ack.to_be_bytes());
        tcp.extend_from_slice(&[((20 + options.len()) as u8 / 4) << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
        tcp.extend_from_slice(options);
        let length = (tcp.len() + payload.len()) as u64;
        let pseudo = sum(&[from.octets(), to.octets()].concat()) + 6 + length;
        let checksum = folded(pseudo + sum(&tcp) + of_payload);
        tcp[16..18].copy_from_slice(&checksum);
        let mut frame = ipv4(from, to, 6, 1, 0x4000, &tcp);
        let whole = 20 + length as u16;
        frame[16..18].copy_from_slice(&whole.to_be_bytes());
        frame[24..26].fill(0);
        let checksum = folded(sum(&frame[14..34]));
        frame[24..26].copy_from_slice(&checksum);
        let (bytes, microseconds) = ((frame.len() + payload.len()) as u32, self.packets * 20);
        self.packets += 1;
        for word in [1_700_000_000 + (microseconds / 1_000_000) as u32, (microseconds % 1_000_000) as u32, bytes, bytes]
        {
            self.record.extend_from_slice(&word.to_le_bytes());
        }
        self.record.extend_from_slice(&frame);
        self.record.extend_from_slice(payload);
    }

    fn segment(&mut self, index: u64, payload: &[u8]) {
        let sequence = INITIAL.wrapping_add(1).wrapping_add((index * PIECE) as u32);
        self.packet(false, sequence, 78, ACK, &[], payload);
    }

    fn acknowledge(&mut self, pieces: u64, flags: u8) {
        let fin = u32::from(flags & FIN != 0);
        self.packet(
            true,
            78,
            INITIAL.wrapping_add(1 + fin).wrapping_add((pieces * PIECE) as u32),
            ACK | flags,
            &[],
            &[],
        );
    }

    /// Makes what comes next; false at the end.
    fn make(&mut self) -> bool {
        let index = self.next;
        self.next += 1;
        match index {
            // The two around the wrap the other way round.
            WRAPS => self.segment(index + 1, &piece(index + 1)),
            _ if index == WRAPS + 1 => self.segment(index - 1, &piece(index - 1)),
            LOST => {}
            WORDS => self.segment(index, &piece(index)),
            LAST => {
                let sequence = INITIAL.wrapping_add(1).wrapping_add((index * PIECE) as u32);
                self.packet(false, sequence, 78, FIN | ACK, &[], &[]);
                self.acknowledge(index, FIN);
                self.packet(false, sequence.wrapping_add(1), 79, ACK, &[], &[]);
            }
            _ => {
                let mut payload = std::mem::take(&mut self.plain.0);
                payload[..8].copy_from_slice(&index.to_be_bytes());
                self.plain.0 = payload.clone();
                self.segment(index, &payload);
            }
        }
        if index == FORGED {
            let mut other = piece(index);
            other[500..507].copy_from_slice(b"forgery");
            self.segment(index, &other);
        }
        if index % 8 == 7 && index != WRAPS {
            self.acknowledge(index + 1, 0);
        }
        index < LAST
    }
}

impl Read for Long {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.record.len() {
            (self.read, _) = (0, self.record.clear());
            if self.next > LAST || !self.make() && self.record.is_empty() {
                return Ok(0);
            }
        }
        let bytes = (self.record.len() - self.read).min(buffer.len());
        buffer[..bytes].copy_from_slice(&self.record[self.read..self.read + bytes]);
        self.read += bytes;
        Ok(bytes)
    }
}

/// Looks at every byte.
#[derive(Default)]
struct Check {
    next: u64,
    bytes: u64,
    gaps: Vec<Gap>,
    conflicts: Vec<Conflict>,
    ends: Vec<EndReason>,
    plain: Vec<u8>,
}

impl Handler for Check {
    type Data = ();

    fn data(&mut self, _: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        assert_eq!((chunk.direction, chunk.offset), (Direction::ClientToServer, self.next));
        let (mut at, mut rest) = (chunk.offset, chunk.bytes);
        while !rest.is_empty() {
            let (index, within) = (at / PIECE, (at % PIECE) as usize);
            let (now, later) = rest.split_at(rest.len().min(PIECE as usize - within));
            if index == WORDS {
                assert!(*now == piece(index)[within..within + now.len()], "at {at}");
            } else {
                self.plain.resize(PIECE as usize, b'.');
                self.plain[..8].copy_from_slice(&index.to_be_bytes());
                assert!(*now == self.plain[within..within + now.len()], "at {at}");
            }
            (at, rest) = (at + now.len() as u64, later);
        }
        (self.next, self.bytes) = (at, self.bytes + chunk.bytes.len() as u64);
    }

    fn gap(&mut self, _: &mut Stream<'_, ()>, gap: Gap) {
        assert_eq!(gap.offset, self.next);
        self.next += gap.bytes;
        self.gaps.push(gap);
    }

    fn close(&mut self, stream: &mut Stream<'_, ()>, end: EndReason) {
        self.conflicts.extend_from_slice(stream.conflicts(Direction::ClientToServer));
        self.ends.push(end);
    }
}

#[test]
fn a_stream_beyond_4_gib_is_whole_and_its_offsets_go_on() {
    let outcome = Capture::reader(Long::new()).mode(Mode::Strict).run_with(Check::default()).expect("it is read");
    let found = outcome.handler();
    let [all, lost] = [LAST * PIECE, LOST * PIECE];
    assert!(lost > 1 << 32);
    assert_eq!((found.next, found.bytes), (all, all - PIECE));
    let gap = Gap::new(Direction::ClientToServer, lost, PIECE, GapCause::NotCaptured);
    assert_eq!(found.gaps, [gap]);
    assert_eq!(found.ends, [EndReason::Fin]);
    let conflict = found.conflicts.iter().map(|conflict| (conflict.offset, conflict.bytes)).collect::<Vec<_>>();
    assert_eq!(conflict, [(FORGED * PIECE + 500, 7)]);
    assert!(outcome.ledger.closes());
    let anomalies = |kind: AnomalyKind| outcome.ledger.anomaly(kind);
    assert_eq!(anomalies(AnomalyKind::OverlapConflict), 1, "{:?}", outcome.ledger);
    assert_eq!(anomalies(AnomalyKind::OutOfWindow) + anomalies(AnomalyKind::InvalidAck), 0, "{:?}", outcome.ledger);
}

/// The same through the command, from a pipe.
#[test]
fn what_is_behind_4_gib_is_found() {
    let mut child = command(&["match", "-", "-e", std::str::from_utf8(NEEDLE).unwrap(), "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    io::copy(&mut Long::new(), &mut input).unwrap();
    input.flush().unwrap();
    drop(input);
    let output = child.output_in_time("the command");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = lines(&output.stdout);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["offset"], WORDS * PIECE + 1000, "{}", found[0]);
}
