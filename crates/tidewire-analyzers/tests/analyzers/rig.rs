//! Packets in order, as a capture; events that were emitted.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use etherparse::{PacketBuilder, TcpHeader};
use tidewire::Capture;
use tidewire_analyzers::{Analyzers, Counts, Emit, Settings};
use tidewire_events::{Event, Value};
pub use tidewire_types::tcp_flag::{ACK, FIN, RST, SYN};

/// Emitted events; `is_full`: every event is refused.
#[derive(Default)]
pub struct Kept {
    pub events: Mutex<Vec<Event>>,
    pub is_full: AtomicBool,
}

impl Emit for Kept {
    fn try_emit(&self, event: &Event) -> bool {
        event.check().expect("an event within the limits");
        let is_full = self.is_full.load(Ordering::Relaxed);
        if !is_full {
            self.events.lock().unwrap().push(event.clone());
        }
        !is_full
    }
}

/// A capture in memory: raw IP packets in classic pcap.
#[derive(Clone)]
pub struct Made {
    bytes: Vec<u8>,
    pub now_ns: u64,
}

/// An address in the form that tests write it.
pub type Host = [u8; 4];

impl Made {
    pub fn new() -> Self {
        let mut bytes = Vec::new();
        for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 262_144, 101] {
            bytes.extend(word.to_le_bytes());
        }
        Self { bytes, now_ns: 1_700_000_000_000_000_000 }
    }

    /// Time passes.
    pub fn wait(&mut self, milliseconds: u64) -> &mut Self {
        self.now_ns += milliseconds * 1_000_000;
        self
    }

    /// A packet as it is.
    pub fn packet(&mut self, packet: &[u8]) -> &mut Self {
        self.now_ns += 1000;
        let (seconds, rest) = (self.now_ns / 1_000_000_000, self.now_ns % 1_000_000_000);
        for word in [seconds as u32, rest as u32, packet.len() as u32, packet.len() as u32] {
            self.bytes.extend(word.to_le_bytes());
        }
        self.bytes.extend(packet);
        self
    }

    /// A segment.
    pub fn segment(
        &mut self,
        from: (Host, u16),
        to: (Host, u16),
        flags: u8,
        (seq, ack): (u32, u32),
        payload: &[u8],
    ) -> &mut Self {
        let mut header = TcpHeader::new(from.1, to.1, seq, 65_000);
        header.acknowledgment_number = ack;
        (header.syn, header.rst) = (flags & SYN != 0, flags & RST != 0);
        (header.ack, header.fin) = (flags & ACK != 0, flags & FIN != 0);
        let builder = PacketBuilder::ipv4(from.0, to.0, 64).tcp_header(header);
        let mut packet = Vec::new();
        builder.write(&mut packet, payload).unwrap();
        self.packet(&packet)
    }

    pub fn syn(&mut self, from: (Host, u16), to: (Host, u16)) -> &mut Self {
        self.segment(from, to, SYN, (1000, 0), b"")
    }

    /// A SYN that is refused.
    pub fn refused(&mut self, from: (Host, u16), to: (Host, u16)) -> &mut Self {
        self.syn(from, to).segment(to, from, RST | ACK, (0, 1001), b"")
    }

    pub fn handshake(&mut self, from: (Host, u16), to: (Host, u16)) -> &mut Self {
        self.syn(from, to).segment(to, from, SYN | ACK, (5000, 1001), b"").segment(from, to, ACK, (1001, 5001), b"")
    }

    /// A connection that sends these pieces and closes.
    pub fn connection(&mut self, from: (Host, u16), to: (Host, u16), pieces: &[&[u8]]) -> &mut Self {
        self.handshake(from, to);
        let mut seq = 1001;
        for piece in pieces {
            self.segment(from, to, ACK, (seq, 5001), piece);
            seq += piece.len() as u32;
        }
        self.segment(from, to, FIN | ACK, (seq, 5001), b"").segment(to, from, FIN | ACK, (5001, seq + 1), b"");
        self.segment(from, to, ACK, (seq + 1, 5002), b"")
    }

    pub fn datagram(&mut self, from: (Host, u16), to: (Host, u16), payload: &[u8]) -> &mut Self {
        let builder = PacketBuilder::ipv4(from.0, to.0, 64).udp(from.1, to.1);
        let mut packet = Vec::new();
        builder.write(&mut packet, payload).unwrap();
        self.packet(&packet)
    }

    pub fn ping(&mut self, from: Host, to: Host) -> &mut Self {
        let builder = PacketBuilder::ipv4(from, to, 64).icmpv4_echo_request(1, 1);
        let mut packet = Vec::new();
        builder.write(&mut packet, b"abcdefgh").unwrap();
        self.packet(&packet)
    }

    pub fn pong(&mut self, from: Host, to: Host) -> &mut Self {
        let builder = PacketBuilder::ipv4(from, to, 64).icmpv4_echo_reply(1, 1);
        let mut packet = Vec::new();
        builder.write(&mut packet, b"abcdefgh").unwrap();
        self.packet(&packet)
    }

    /// Events of the analyzers, with `workers` workers.
    pub fn analyzed(&self, settings: &Settings, workers: usize) -> Vec<Event> {
        let (kept, _) = self.run(settings, workers, false);
        let mut events = kept.events.lock().unwrap();
        std::mem::take(&mut *events)
    }

    pub fn run(&self, settings: &Settings, workers: usize, is_full: bool) -> (Arc<Kept>, [(&'static str, Counts); 3]) {
        let kept = Arc::new(Kept { is_full: is_full.into(), ..Kept::default() });
        let analyzers = Analyzers::new(settings, Arc::clone(&kept) as Arc<dyn Emit>).unwrap();
        let ran = Capture::reader(std::io::Cursor::new(self.bytes.clone()))
            .workers(workers)
            .run(|_| analyzers.worker())
            .unwrap();
        assert!(ran.ledger.closes());
        ran.handlers.into_iter().for_each(|mut handler| handler.finish());
        let counts = analyzers.counts();
        analyzers.finish();
        (kept, counts)
    }

    /// Their events when the input has ended, and the analyzers, which continue.
    pub fn analyze(&self) -> (Arc<Kept>, Analyzers) {
        let kept = Arc::new(Kept::default());
        let analyzers = Analyzers::new(&Settings::default(), Arc::clone(&kept) as Arc<dyn Emit>).unwrap();
        let input = std::io::Cursor::new(self.bytes.clone());
        let ran = Capture::reader(input).workers(1).run(|_| analyzers.worker()).unwrap();
        ran.handlers.into_iter().for_each(|mut handler| handler.finish());
        (kept, analyzers)
    }

    /// Their events by default.
    pub fn found(&self) -> Vec<Event> {
        self.analyzed(&Settings::default(), 1)
    }
}

/// The kinds of events, in order.
pub fn kinds(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

/// A field that is a number.
pub fn number(event: &Event, name: &str) -> u64 {
    match event.fields.iter().find(|field| field.name == name).map(|field| &field.value) {
        Some(Value::U64(value)) => *value,
        other => panic!("{name}: {other:?}"),
    }
}

/// A field that is a text.
pub fn text<'e>(event: &'e Event, name: &str) -> &'e str {
    match event.fields.iter().find(|field| field.name == name).map(|field| &field.value) {
        Some(Value::Text(value)) => value,
        other => panic!("{name}: {other:?}"),
    }
}

/// The addresses of an event's key.
pub fn addresses(event: &Event) -> [Ipv4Addr; 2] {
    let key = event.key.as_ref().expect("a key");
    [key.client_addr, key.server_addr].map(|address| match address {
        std::net::IpAddr::V4(address) => address,
        other => panic!("{other}"),
    })
}
