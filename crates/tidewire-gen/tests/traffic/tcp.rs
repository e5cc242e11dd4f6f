//! Connections without anomalies: every one is opened, closed by its FINs, and carries the expected bytes.

use std::net::IpAddr;

use super::common::{arrived, engine, inside, made, send};
use tidewire::{Chunk, EndReason, Fate, Handler, Stream};
use tidewire_gen::{
    Plan, Rate, Sender,
    net::Layout,
    traffic::{Class, Connections, Link, Order, TcpSettings, Traffic},
};
use tidewire_live::sys::net::PacketSocket;

/// Checks what streams carry, and how they end.
#[derive(Debug, Default)]
struct Watcher {
    closed: u64,
    bytes: [u64; 2],
    ports: Vec<u16>,
}

impl Handler for Watcher {
    type Data = [Vec<u8>; 2];

    fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>) {
        stream.data()[chunk.direction as usize].extend_from_slice(chunk.fresh());
    }

    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason) {
        assert_eq!(reason, EndReason::Fin);
        assert!(stream.client_known() && stream.gaps().is_empty() && stream.anomalies().is_empty());
        self.ports.push(stream.key().server.port);
        // The client's address identifies the connection, which determines its bytes.
        let number = match stream.key().client.address {
            IpAddr::V4(address) => address.octets()[3],
            IpAddr::V6(address) => address.octets()[15],
        };
        for (said, bytes) in stream.data().iter().zip(&mut self.bytes) {
            let wanted = b"tidewire".iter().cycle().skip(usize::from(number % 8));
            assert!(said.iter().zip(wanted).all(|(said, wanted)| said == wanted), "the payload of {number}");
            *bytes += said.len() as u64;
        }
        self.closed += 1;
    }
}

fn settings(sizes: &str, concurrent: u64, connections: u64) -> TcpSettings {
    TcpSettings {
        sizes: sizes.parse().unwrap(),
        concurrent,
        connections: Some(connections),
        ..TcpSettings::new().unwrap()
    }
}

fn variants() -> Vec<TcpSettings> {
    let mut random = settings("imix", 50, 400);
    (random.order, random.link.ipv6, random.seed) = (Order::Random, true, 9);
    let mut tagged = settings("64,1000", 7, 20);
    tagged.link = Link { ipv6: false, vlan: Some(12) };
    let mut bare = settings("1518", 3, 3);
    (bare.numbered, bare.segments) = (false, 101);
    let mut classes = settings("64", 1000, 3000);
    (classes.segments, classes.link) = (0, Link { ipv6: true, vlan: Some(4000) });
    classes.classes = [(80, 0, 1), (443, 10, 1)].map(|(port, dscp, share)| Class { port, dscp, share }).to_vec();
    vec![settings("512", 10, 10), random, tagged, bare, classes, settings("9018", 4, 8)]
}

fn check(frames: &[Vec<u8>], connections: &Connections, count: u64) -> Watcher {
    let outcome = engine(frames, Watcher::default());
    let watcher = outcome.handlers.into_iter().next().unwrap();
    assert_eq!(watcher.closed, count);
    assert_eq!(outcome.ledger.fate(Fate::Tracked), frames.len() as u64, "{:?}", outcome.ledger);
    assert!(outcome.ledger.anomalies().all(|(_, count)| count == 0), "{:?}", outcome.ledger);
    let tally = connections.tally();
    let of = |name: &str| tally.iter().find(|entry| entry.0 == name).unwrap().1;
    assert_eq!([of("client_payload_bytes"), of("server_payload_bytes")], watcher.bytes);
    assert_eq!((of("connections_opened"), of("connections_closed"), of("connections_open")), (count, count, 0));
    watcher
}

#[test]
fn lives_are_whole() {
    for settings in variants() {
        let count = settings.connections.unwrap();
        let classes = settings.classes.len();
        let mut connections = Connections::new(settings).unwrap();
        let frames = made(&mut connections, u64::MAX);
        assert_eq!(frames.len() as u64, count * connections.packets_each());
        let watcher = check(&frames, &connections, count);
        if classes > 1 {
            let share = watcher.ports.iter().filter(|port| **port == 443).count() as f64 / count as f64;
            assert!((0.4..0.6).contains(&share), "{share}");
        }
        connections.rewind();
        assert!(made(&mut connections, u64::MAX) == frames, "the same again");
    }
}

#[test]
fn as_many_are_open_at_once_as_configured() {
    let mut connections = Connections::new(settings("64", 1000, 5000)).unwrap();
    made(&mut connections, 1500);
    assert_eq!(connections.tally()[2], ("connections_open", 1000));
    made(&mut connections, 20_000);
    assert_eq!(connections.tally()[2], ("connections_open", 1000));
}

#[test]
fn what_arrives_is_what_was_made() {
    let layout = Layout { cables: 2, mtu: 9004, ..Layout::default() };
    inside(&layout, |_| {
        for (settings, sender) in
            variants().into_iter().flat_map(|v| [(v.clone(), Sender::Kernel), (v, Sender::Socket)])
        {
            let count = settings.connections.unwrap();
            let mut connections = Connections::new(settings).unwrap();
            // GRO merges segments without numbers; the kernel sender cannot send long frames.
            if !connections.numbered() || sender == Sender::Kernel && connections.bytes_max() > 3328 {
                continue;
            }
            let socket = PacketSocket::open("rx0").unwrap();
            let mut plan = Plan::new(["tx0"]);
            (plan.sender, plan.rate) = (sender, Rate::Packets(200_000.0));
            let report = send(&mut connections, &plan);
            let expected = count * connections.packets_each();
            assert_eq!((report.packets, report.arrived(), report.dropped()), (expected, expected, 0));
            let mut frames = arrived(&socket);
            assert_eq!(frames.len() as u64, expected);
            restore_tags(&mut frames, &made_again(&connections));
            check(&frames, &connections, count);
        }
    });
}

fn made_again(connections: &Connections) -> Vec<Vec<u8>> {
    let mut connections = connections.clone();
    connections.rewind();
    made(&mut connections, u64::MAX)
}

/// The kernel removes the tag from a packet socket's data; everything else must be unchanged.
fn restore_tags(frames: &mut [Vec<u8>], wanted: &[Vec<u8>]) {
    for (frame, wanted) in frames.iter_mut().zip(wanted) {
        if wanted[12..14] == [0x81, 0] {
            frame.splice(12..12, wanted[12..16].iter().copied());
        }
        assert!(frame == wanted, "{frame:x?}\n{wanted:x?}");
    }
}

#[test]
fn each_end_sends_its_own() {
    inside(&Layout { cables: 2, ..Layout::default() }, |_| {
        for sender in [Sender::Kernel, Sender::Socket] {
            let sockets = ["rx0", "rx1"].map(|name| PacketSocket::open(name).unwrap());
            let mut connections = Connections::new(settings("256", 5, 50)).unwrap();
            let mut plan = Plan::new(["tx0", "tx1"]);
            (plan.sender, plan.rate) = (sender, Rate::Packets(100_000.0));
            let report = send(&mut connections, &plan);
            let [near, far] = sockets.map(|socket| arrived(&socket));
            assert_eq!(report.interfaces[0].packets, near.len() as u64);
            assert_eq!(report.interfaces[1].packets, far.len() as u64);
            assert!(near.iter().all(|frame| frame[26] == 10) && far.iter().all(|frame| frame[26] == 192));
            let mut all = [near, far].concat();
            all.sort_by_key(|frame| tidewire_gen::number::of(frame));
            check(&all, &connections, 50);
        }
    });
}
