//! Multipath TCP: connections of several subflows, put together by data sequence numbers (RFC 8684).

mod cutoffs;
mod holes;
mod invariants;
mod subflows;

use std::collections::BTreeMap;

use crate::common::{ACK, FIN, Feed, PSH, SYN, Seg, StreamLog};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use tidewire_core::{Chunk, Config, Direction, DirectionStats, EndReason, Gap, Handler, Mptcp, Stream};

const CLIENT_KEY: u64 = 0xa1a2_a3a4_a5a6_a7a8;
const SERVER_KEY: u64 = 0xb1b2_b3b4_b5b6_b7b8;
/// Ports of the first subflow and of one that joins.
const FIRST: u16 = 40_000;
const SECOND: u16 = 40_001;

/// A byte of the connection's stream: not periodic in any length a test uses.
fn byte(offset: u64) -> u8 {
    ((offset as u32).wrapping_mul(2_654_435_761) >> 13) as u8
}

fn bytes(offset: u64, length: u64) -> Vec<u8> {
    (offset..offset + length).map(byte).collect()
}

fn digest(version: u8, key: u64) -> Vec<u8> {
    if version == 0 { Sha1::digest(key.to_be_bytes()).to_vec() } else { Sha256::digest(key.to_be_bytes()).to_vec() }
}

fn token(version: u8, key: u64) -> u32 {
    u32::from_be_bytes(*digest(version, key).first_chunk().unwrap())
}

fn first_data(version: u8, key: u64) -> u64 {
    u64::from_be_bytes(*digest(version, key).last_chunk().unwrap()).wrapping_add(1)
}

/// An option of Multipath TCP, with NOPs before it so that its length is a multiple of four.
fn option(body: &[u8]) -> Vec<u8> {
    let length = 2 + body.len();
    let mut option = vec![1; length.next_multiple_of(4) - length];
    option.extend([30, length as u8]);
    option.extend(body);
    option
}

/// How the sender states a mapping.
#[derive(Clone, Copy, Debug, Default)]
struct Form {
    is_short: bool,
    has_checksum: bool,
}

/// A connection under construction: the numbers of each subflow.
#[derive(Clone, Debug)]
struct Connection {
    version: u8,
    /// Bytes sent on each subflow (by port), by direction.
    sent: BTreeMap<u16, [u32; 2]>,
    form: Form,
}

impl Connection {
    fn new(version: u8) -> Self {
        Self { version, sent: BTreeMap::new(), form: Form::default() }
    }

    fn segment(&self, port: u16, from_client: bool, flags: u8, options: Vec<u8>, payload: &[u8]) -> Seg {
        let sent = self.sent.get(&port).copied().unwrap_or_default();
        let (mine, others) = if from_client { (sent[0], sent[1]) } else { (sent[1], sent[0]) };
        let own = |is_client: bool| u32::from(port) * 100_000 + if is_client { 1 } else { 50_001 };
        let (seq, ack) = (own(from_client).wrapping_add(mine), own(!from_client).wrapping_add(others));
        let (seq, ack) = if flags & SYN != 0 { (seq - 1, if flags & ACK != 0 { ack } else { 0 }) } else { (seq, ack) };
        Seg { client_port: port, options, ..Seg::new(from_client, seq, ack, flags, payload) }
    }

    /// The handshake of the first subflow.
    fn open(&mut self) -> Vec<Seg> {
        self.sent.insert(FIRST, [0; 2]);
        let capable = |keys: &[u64]| {
            let keys = keys.iter().flat_map(|key| key.to_be_bytes());
            option(&[self.version, 0x81].into_iter().chain(keys).collect::<Vec<_>>())
        };
        let of_syn: &[u64] = if self.version == 0 { &[CLIENT_KEY] } else { &[] };
        vec![
            self.segment(FIRST, true, SYN, capable(of_syn), b""),
            self.segment(FIRST, false, SYN | ACK, capable(&[SERVER_KEY]), b""),
            self.segment(FIRST, true, ACK, capable(&[CLIENT_KEY, SERVER_KEY]), b""),
        ]
    }

    /// The handshake of a subflow that joins, which the client opens with this token.
    fn join(&mut self, port: u16, token: u32) -> Vec<Seg> {
        self.sent.insert(port, [0; 2]);
        let stated = token.to_be_bytes();
        vec![
            self.segment(port, true, SYN, option(&[&[0x10, 1][..], &stated, &[0, 0, 0, 1]].concat()), b""),
            self.segment(port, false, SYN | ACK, option(&[&[0x10, 1][..], &[7; 12]].concat()), b""),
            self.segment(port, true, ACK, option(&[&[0x10, 0][..], &[8; 20]].concat()), b""),
        ]
    }

    fn both(&mut self) -> Vec<Seg> {
        let mut segments = self.open();
        segments.extend(self.join(SECOND, token(self.version, SERVER_KEY)));
        segments
    }

    /// The number of an offset of the connection's stream.
    fn number(&self, from_client: bool, offset: u64) -> u64 {
        first_data(self.version, if from_client { CLIENT_KEY } else { SERVER_KEY }).wrapping_add(offset)
    }

    /// A signal: what was received, a mapping (offset, subflow's number, length), and whether the data ends with it.
    fn signal(&self, from_client: bool, ack: Option<u64>, mapping: Option<(u64, u32, u16)>, is_last: bool) -> Vec<u8> {
        let (short, mut flags, mut body) = (self.form.is_short, 0, Vec::new());
        let mut number = |of_client: bool, offset: u64, bits: [u8; 2], body: &mut Vec<u8>| {
            let number = self.number(of_client, offset);
            flags |= if short { bits[0] } else { bits[0] | bits[1] };
            if short { body.extend((number as u32).to_be_bytes()) } else { body.extend(number.to_be_bytes()) }
        };
        if let Some(offset) = ack {
            number(!from_client, offset, [1, 2], &mut body);
        }
        if let Some((offset, subflow, length)) = mapping {
            number(from_client, offset, [4, 8], &mut body);
            body.extend(subflow.to_be_bytes());
            body.extend((length + u16::from(is_last)).to_be_bytes());
            if self.form.has_checksum {
                body.extend([0xab, 0xcd]);
            }
        }
        option(&[&[0x20, flags | if is_last { 0x10 } else { 0 }][..], &body].concat())
    }

    /// A segment with the connection's bytes from an offset on, with their mapping.
    fn data(&mut self, port: u16, from_client: bool, offset: u64, length: u16) -> Seg {
        self.data_of(port, from_client, offset, length, &bytes(offset, length.into()), true)
    }

    fn data_of(&mut self, port: u16, from_client: bool, offset: u64, length: u16, payload: &[u8], maps: bool) -> Seg {
        let sent = self.sent[&port][usize::from(!from_client)];
        let options = match maps {
            true => self.signal(from_client, None, Some((offset, sent + 1, length)), false),
            false => Vec::new(),
        };
        let segment = self.segment(port, from_client, ACK | PSH, options, payload);
        self.sent.get_mut(&port).unwrap()[usize::from(!from_client)] += payload.len() as u32;
        segment
    }

    /// Acknowledges the connection's bytes before an offset.
    fn acknowledge(&self, port: u16, from_client: bool, offset: u64) -> Seg {
        self.segment(port, from_client, ACK, self.signal(from_client, Some(offset), None, false), b"")
    }

    /// Says where the connection's bytes end.
    fn end(&self, port: u16, from_client: bool, offset: u64) -> Seg {
        self.segment(port, from_client, ACK, self.signal(from_client, None, Some((offset, 0, 0)), true), b"")
    }

    fn close(&mut self, port: u16) -> Vec<Seg> {
        let mut segments = Vec::new();
        for from_client in [true, false] {
            segments.push(self.segment(port, from_client, ACK | FIN, Vec::new(), b""));
            self.sent.get_mut(&port).unwrap()[usize::from(!from_client)] += 1;
        }
        segments.push(self.segment(port, true, ACK, Vec::new(), b""));
        segments
    }
}

/// The stream with a client's port.
fn of(streams: &BTreeMap<u64, StreamLog>, port: u16) -> &StreamLog {
    streams.values().find(|log| log.client_port == port).unwrap()
}

fn nothing(log: &StreamLog) -> bool {
    log.bytes.iter().all(Vec::is_empty) && log.gaps.iter().all(Vec::is_empty)
}

/// What `Stream` says of each subflow when it ends.
#[derive(Default)]
struct Figures(BTreeMap<u16, (Mptcp, [DirectionStats; 2], EndReason)>);

impl Handler for Figures {
    type Data = ();

    fn data(&mut self, stream: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        let stats = stream.stats(chunk.direction);
        assert!(stats.delivered_bytes <= stats.reassembled_bytes, "{stats:?}");
    }

    fn gap(&mut self, _: &mut Stream<'_, ()>, gap: Gap) {
        assert!(gap.bytes > 0);
    }

    fn close(&mut self, stream: &mut Stream<'_, ()>, reason: EndReason) {
        let stats = [Direction::ClientToServer, Direction::ServerToClient].map(|direction| stream.stats(direction));
        self.0.insert(stream.key().client.port, (stream.mptcp().unwrap(), stats, reason));
    }
}

fn figures(config: &Config, segments: &[Seg]) -> BTreeMap<u16, (Mptcp, [DirectionStats; 2], EndReason)> {
    let mut feed = Feed::new(config, Figures::default());
    feed.segments(segments);
    feed.finish().0.0
}
