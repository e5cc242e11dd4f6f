//! Packets of streams: each that is counted is shown, and times are known from the first call on.

use std::collections::BTreeMap;

use crate::common::{ACK, FIN, Feed, PSH, SYN, Seg, Sum, config, handshake, udp};
use tidewire_core::{ChecksumMode, Config, Direction, EndReason, Handler, PacketChecksum, Stream, StreamPacket};

/// What was shown of each stream, by its number.
#[derive(Default)]
struct Shown(BTreeMap<u64, [Vec<u64>; 2]>, Vec<(u64, u64)>);

impl Handler for Shown {
    type Data = [Vec<u64>; 2];
    const PACKETS: bool = true;

    fn open(&mut self, stream: &mut Stream<'_, Self::Data>) {
        self.1.push((stream.start().as_nanos(), stream.end().as_nanos()));
    }

    fn packet(&mut self, stream: &mut Stream<'_, Self::Data>, packet: StreamPacket<'_>) {
        assert!(packet.bytes.len() >= 28 && packet.wire_bytes as usize == packet.bytes.len());
        stream.data()[packet.direction as usize].push(packet.number);
    }

    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, _: EndReason) {
        for direction in [Direction::ClientToServer, Direction::ServerToClient] {
            let counted = stream.stats(direction).packets;
            assert_eq!(stream.data()[direction as usize].len() as u64, counted, "every packet is shown");
        }
        let shown = std::mem::take(stream.data());
        assert!(self.0.insert(stream.id(), shown).is_none());
    }
}

fn shown(config: &Config, more: &[Seg]) -> BTreeMap<u64, [Vec<u64>; 2]> {
    let mut segments = handshake(100, 500);
    segments.extend_from_slice(more);
    for (at, segment) in segments.iter_mut().enumerate() {
        segment.time_ms = at as u64;
    }
    let mut feed = Feed::new(config, Shown::default());
    feed.segments(&segments);
    let (handler, ledger) = feed.finish();
    assert_eq!(handler.0.values().flatten().map(Vec::len).sum::<usize>() as u64, ledger.received);
    handler.0
}

/// A SYN with another number in an open connection, and the answer to it.
fn syn() -> Seg {
    Seg::new(true, 9000, 0, SYN, b"")
}

fn answer() -> Seg {
    Seg::new(false, 70_000, 9001, SYN | ACK, b"")
}

#[test]
fn a_syn_that_is_answered_is_shown_to_its_own_stream() {
    let got = shown(&config(), &[syn(), syn(), answer(), Seg::new(true, 9001, 70_001, ACK, b"new")]);
    assert_eq!(got[&1], [vec![1, 3], vec![2]]);
    assert_eq!(got[&4], [vec![4, 5, 7], vec![6]]);
}

#[test]
fn a_syn_that_nobody_answered_is_shown_at_the_end() {
    // As the last word it stands for itself; else it was an attack on the connection.
    let got = shown(&config(), &[syn()]);
    assert_eq!((&got[&1], &got[&4]), (&[vec![1, 3], vec![2]], &[vec![4], vec![]]));
    let got = shown(&config(), &[syn(), Seg::new(true, 101, 501, ACK | PSH, b"go on")]);
    assert_eq!(got[&1], [vec![1, 3, 5, 4], vec![2]]);
    // Another number: the first one began nothing.
    let other = Seg { seq: 8000, ..syn() };
    let got = shown(&config(), &[syn(), other, Seg::new(true, 101, 501, ACK | PSH, b"go on")]);
    assert_eq!(got[&1], [vec![1, 3, 4, 6, 5], vec![2]]);
}

#[test]
fn copies_without_end_take_no_memory_without_end() {
    let payload = vec![b's'; 1400];
    let big = Seg { payload, ..syn() };
    let got = shown(&config(), &vec![big.clone(); 100]);
    assert_eq!(got.values().flatten().map(Vec::len).sum::<usize>(), 103);
    // Little memory: they are the old connection's before it is exceeded.
    let tight = config().with_memory_bytes(16 << 10);
    let segments: Vec<_> = (0..100).map(|number| Seg { seq: 9000 + number * 7, ..big.clone() }).collect();
    let got = shown(&tight, &segments);
    assert_eq!(got.values().flatten().map(Vec::len).sum::<usize>(), 103);
}

#[test]
fn a_full_table_stays_within_its_bound() {
    let tight = config().with_flows_max(Some(2));
    let mut feed = Feed::new(&tight, Shown::default());
    for (number, port) in (2000..2008).enumerate() {
        let mut segments = handshake(100, 500);
        segments.push(syn());
        for (at, mut segment) in segments.into_iter().enumerate() {
            (segment.client_port, segment.time_ms) = (port, (number * 10 + at) as u64);
            feed.segment(&segment);
        }
    }
    let (_, ledger) = feed.finish();
    assert!(ledger.streams_open_max <= 2, "{}", ledger.streams_open_max);
}

#[test]
fn times_are_known_when_a_stream_opens() {
    let time = |ms: u64| 1_000_000_000 + ms * 1_000_000;
    let mut feed = Feed::new(&config(), Shown::default());
    // TCP from its SYN, joined midway from either side, a FIN alone; UDP.
    let [syn, ..] = &handshake(100, 500)[..] else { unreachable!() };
    let midway = [true, false].map(|from_client| Seg::new(from_client, 700, 800, ACK, b"midway"));
    let fin = Seg::new(true, 700, 800, ACK | FIN, b"");
    let segments = [syn.clone(), midway[0].clone(), midway[1].clone(), fin];
    for (number, segment) in segments.into_iter().enumerate() {
        feed.segment(&Seg { client_port: 3000 + number as u16, time_ms: number as u64, ..segment });
    }
    feed.ip(&udp(4000, b"datagram"), time(4));
    let (handler, _) = feed.finish();
    let expected: Vec<_> = (0..5).map(|number| (time(number), time(number))).collect();
    assert_eq!(handler.1, expected);
}

/// What was shown of packets' checksums.
#[derive(Default)]
struct Checksums(Vec<PacketChecksum>);

impl Handler for Checksums {
    type Data = ();
    const PACKETS: bool = true;

    fn packet(&mut self, _: &mut Stream<'_, ()>, packet: StreamPacket<'_>) {
        self.0.push(packet.checksum);
    }
}

#[test]
fn a_packet_has_what_is_known_of_its_checksum() {
    use PacketChecksum::{Doubted, LeftOut, Right, Unverified};
    let data = |at: u32, sum| Seg::new(true, 101 + at, 501, ACK | PSH, b"data").summed(sum);
    let bare = |acked: u32, sum| Seg::new(false, 501, 101 + acked, ACK, b"").summed(sum);
    let mut segments: Vec<Seg> = handshake(100, 500).into_iter().map(|one| one.summed(Sum::Good)).collect();
    // On the fast path and off it; an acknowledgment that was damaged behind one that was right.
    segments.extend([data(0, Sum::Good), bare(4, Sum::Good), data(4, Sum::Bad), bare(4, Sum::Bad), bare(8, Sum::Good)]);
    // A SYN that is held.
    segments.push(syn().summed(Sum::Bad));
    for (mode, expected) in [
        (ChecksumMode::Ignore, [Unverified; 9]),
        (ChecksumMode::Auto, [Right, Right, Right, Right, Right, Doubted, LeftOut, Right, Doubted]),
        (ChecksumMode::Verify, [Right, Right, Right, Right, Right, LeftOut, LeftOut, Right, LeftOut]),
    ] {
        // A minimum time to live forces the slow path, and every packet has a higher one.
        for ttl_min in [0, 1] {
            let mut feed = Feed::new(&config().with_checksum(mode).with_ttl_min(ttl_min), Checksums::default());
            feed.segments(&segments);
            assert_eq!(feed.finish().0.0, expected, "{mode:?}");
        }
    }
}
