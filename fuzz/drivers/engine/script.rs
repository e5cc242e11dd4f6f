//! The frames that the fuzz input describes: mostly connections between a few hosts, with small deviations.

use super::{
    input::Input,
    packets::{ACK, FIN, PSH, Path, RST, SYN, Segment, URG, framed, stream_byte},
};
use tidewire_core::{Frame, Timestamp, wire::LinkType};

/// More frames teach nothing that fewer do not.
const FRAMES_MAX: usize = 600;
/// Bytes of all frames.
const MEMORY_MAX: usize = 1 << 19;

/// A connection as far as its script got: the next sequence number of each side.
#[derive(Clone, Copy)]
struct Connection {
    next: [u32; 2],
    /// What was acknowledged last.
    acked: [u32; 2],
}

/// Frames and their memory.
pub struct Script {
    pub memory: Vec<u8>,
    pub frames: Vec<Frame>,
    /// Bytes of the largest packet that the frames may become.
    pub packet_bytes_max: usize,
    connections: [Connection; 4],
    timestamp_ns: u64,
    clock_ns: u64,
    ip_id: u16,
}

/// What an operation's first bytes say of the frames it makes.
#[derive(Clone, Copy)]
struct Head {
    connection: usize,
    from_server: bool,
    link: u8,
    snapped: usize,
}

impl Script {
    pub fn read(input: &mut Input<'_>) -> Self {
        let connection = Connection { next: [1000, u32::MAX - 200], acked: [1000, u32::MAX - 200] };
        let mut script = Self {
            memory: Vec::new(),
            frames: Vec::new(),
            packet_bytes_max: 0,
            connections: [connection; 4],
            timestamp_ns: 1_000_000_000_000,
            clock_ns: 0,
            ip_id: 0,
        };
        while !input.is_empty() && script.frames.len() < FRAMES_MAX && script.memory.len() < MEMORY_MAX {
            script.operation(input);
        }
        script
    }

    fn operation(&mut self, input: &mut Input<'_>) {
        let [operation, head] = [input.byte(), input.byte()];
        let steps: [i64; 8] = [0, 1, 1_000, 100_000, 2_000_000, -1_000, -5_000_000, 200_000_000];
        self.timestamp_ns = self.timestamp_ns.saturating_add_signed(steps[usize::from(head >> 3 & 7)] * 1000);
        let mut head =
            Head { connection: usize::from(head & 3), from_server: head & 4 != 0, link: head >> 6, snapped: 0 };
        match operation % 16 {
            0..=5 => {
                let segment = self.segment(input, &mut head);
                self.packet(head, &segment.path.ip(6, None, &segment.bytes()));
            }
            6 => self.handshake(input, head),
            7 => {
                let segment = self.segment(input, &mut head);
                self.fragments(input, head, segment.path, 6, &segment.bytes());
            }
            8 => self.fragment(input, head),
            9 => self.datagram(input, head),
            10 => self.raw(input),
            11 => {
                let payload = [&[input.byte(), input.byte(), 0, 0, 0, 0, 0, 1][..], input.take(8)].concat();
                let path = self.path(head);
                self.packet(head, &path.ip(if path.is_ipv6 { 58 } else { 1 }, None, &payload));
            }
            12 => self.tunnel(input, head),
            13 => self.close(head),
            14 => self.again(input, false),
            _ => self.again(input, true),
        }
    }

    fn path(&self, head: Head) -> Path {
        let (a, b, client, server) =
            [(1, 2, 1000, 80), (1, 2, 1001, 80), (3, 2, 40_000, 443), (2, 1, 500, 500)][head.connection];
        let path = Path {
            is_ipv6: head.connection == 2,
            source: a,
            destination: b,
            source_port: client,
            destination_port: server,
            ttl: 64,
        };
        if head.from_server {
            return Path { source: b, destination: a, source_port: server, destination_port: client, ..path };
        }
        path
    }

    fn push(&mut self, link: u16, bytes: &[u8], snapped: usize) {
        let captured = bytes.len() - snapped.min(bytes.len());
        self.clock_ns = self.clock_ns.max(self.timestamp_ns);
        self.packet_bytes_max = self.packet_bytes_max.max(bytes.len());
        self.frames.push(
            Frame::new(LinkType(link), Timestamp::from_nanos(self.timestamp_ns))
                .with_number(self.frames.len() as u64 + 1)
                .with_place(self.memory.len() as u32, captured as u32)
                .with_wire_bytes(bytes.len() as u32)
                .with_clock(Timestamp::from_nanos(self.clock_ns))
                .with_origin(self.memory.len() as u64 + 1),
        );
        self.memory.extend(&bytes[..captured]);
    }

    fn packet(&mut self, head: Head, packet: &[u8]) {
        let (link, bytes) = framed(head.link, packet);
        self.push(link, &bytes, head.snapped);
    }

    /// A segment near where its connection is.
    fn segment(&mut self, input: &mut Input<'_>, head: &mut Head) -> Segment {
        let [places, length] = [input.byte(), input.byte()];
        let length = if length < 192 { usize::from(length) } else { (usize::from(length) - 191) * 24 };
        let extras = if places & 0x80 != 0 { input.byte() } else { 0 };
        let flags = match places >> 4 & 7 {
            choice @ 0..=6 => [ACK, ACK | PSH, FIN | ACK, RST, SYN, SYN | ACK, RST | ACK][usize::from(choice)],
            _ => input.byte(),
        };
        let (me, peer) = (usize::from(head.from_server), usize::from(!head.from_server));
        let connection = &mut self.connections[head.connection];
        let mut near = |mode: u8, exact: u32, stale: u32| match mode & 3 {
            0 => exact,
            1 => exact.wrapping_add_signed(i32::from(input.byte() as i8)),
            2 if stale != exact => stale,
            2 => exact.wrapping_add_signed(i32::from(input.byte() as i8) * 64),
            _ => input.word(),
        };
        let seq = near(places, connection.next[me], connection.acked[peer]);
        let ack = near(places >> 2, connection.next[peer], connection.acked[me]);
        if flags & ACK != 0 {
            connection.acked[me] = ack;
        }
        let end = seq.wrapping_add(length as u32).wrapping_add(u32::from(flags & (SYN | FIN) != 0));
        if places & 3 == 0 || flags & SYN != 0 {
            connection.next[me] = end;
        }
        let is_forged = extras & 1 != 0;
        let payload = (0..length as u32).map(|at| stream_byte(seq.wrapping_add(at)) ^ if is_forged { 0xff } else { 0 });
        let mut path = self.path(*head);
        if extras & 2 != 0 {
            path.ttl = 3;
        }
        head.snapped = if extras & 4 != 0 { usize::from(input.byte()).min(length) } else { 0 };
        let urgent = if extras & 8 != 0 { u16::from(input.byte()) } else { 0 };
        Segment {
            path,
            seq,
            ack,
            flags: flags | if urgent != 0 { URG } else { 0 },
            window: [65_535, 0, 300, 20][usize::from(extras >> 6)],
            timestamp: (extras & 16 != 0).then(|| self.clock_ns as u32 / 1000 % 4096 + u32::from(input.byte())),
            scale: (flags & SYN != 0 && extras & 16 != 0).then_some(3),
            urgent,
            payload: payload.collect(),
            is_sealed: extras & 32 == 0,
        }
    }

    fn plain(&mut self, head: Head, flags: u8) {
        let (me, peer) = (usize::from(head.from_server), usize::from(!head.from_server));
        let connection = &mut self.connections[head.connection];
        let (seq, ack) = (connection.next[me], connection.next[peer]);
        connection.next[me] = seq.wrapping_add(u32::from(flags & (SYN | FIN) != 0));
        connection.acked[me] = ack;
        let path = self.path(head);
        let segment = Segment {
            path,
            seq,
            ack: if flags & ACK != 0 { ack } else { 0 },
            flags,
            window: 65_535,
            timestamp: None,
            scale: None,
            urgent: 0,
            payload: Vec::new(),
            is_sealed: true,
        };
        self.packet(head, &path.ip(6, None, &segment.bytes()));
    }

    fn handshake(&mut self, input: &mut Input<'_>, head: Head) {
        let mut start = || match input.byte() {
            0 => 1000,
            low @ 1..=99 => u32::MAX - u32::from(low),
            low @ 100..=199 => (1 << 31) - u32::from(low),
            low => u32::from(low) << 24,
        };
        self.connections[head.connection].next = [start(), start()];
        let answer = Head { from_server: !head.from_server, ..head };
        self.plain(head, SYN);
        self.plain(answer, SYN | ACK);
        self.plain(head, ACK);
    }

    fn close(&mut self, head: Head) {
        let answer = Head { from_server: !head.from_server, ..head };
        self.plain(head, FIN | ACK);
        self.plain(answer, FIN | ACK);
        self.plain(head, ACK);
    }

    /// A packet in two or three fragments, in any order, one of them perhaps twice or not at all.
    fn fragments(&mut self, input: &mut Input<'_>, head: Head, path: Path, proto: u8, payload: &[u8]) {
        let [cut, order] = [input.byte(), input.byte()];
        self.ip_id = self.ip_id.wrapping_add(1);
        let first = (8 + usize::from(cut & 15) * 8).min(payload.len());
        let second = (first + 8 + usize::from(cut >> 4) * 16).min(payload.len());
        let mut pieces = Vec::new();
        for (from, to) in [(0, first), (first, second), (second, payload.len())] {
            if from < to || from == 0 {
                let place = Some((self.ip_id, from as u16, to < payload.len()));
                pieces.push(path.ip(proto, place, &payload[from..to]));
            }
        }
        let count = pieces.len();
        pieces.rotate_left(usize::from(order & 3) % count);
        if order & 4 != 0 {
            pieces.swap(0, count - 1);
        }
        match order >> 3 & 3 {
            1 => pieces.push(pieces[0].clone()),
            2 => pieces.insert(0, pieces[0].clone()),
            3 => pieces.truncate(count - 1),
            _ => {}
        }
        self.packet_bytes_max = self.packet_bytes_max.max(payload.len() + 60);
        for piece in pieces {
            let snapped = if order & 32 != 0 { head.snapped } else { 0 };
            self.packet(Head { snapped, ..head }, &piece);
        }
    }

    /// One fragment, anywhere.
    fn fragment(&mut self, input: &mut Input<'_>, head: Head) {
        let [place, length, id] = [input.byte(), input.byte(), input.byte()];
        let offset = u16::from(place & 0x7f) * if id & 0x40 != 0 { 512 } else { 8 };
        let payload: Vec<u8> = (0..length).map(|at| at ^ id >> 3).collect();
        let path = self.path(head);
        let proto = if id & 0x80 != 0 { 6 } else { 17 };
        self.packet_bytes_max = 66_000;
        self.packet(head, &path.ip(proto, Some((u16::from(id & 7), offset, place & 0x80 != 0)), &payload));
    }

    fn datagram(&mut self, input: &mut Input<'_>, head: Head) {
        let [kind, length] = [input.byte(), input.byte()];
        let mut path = self.path(head);
        path.destination_port = [53, 4789, 2152, 6081, 3544, 8472, 443, 0][usize::from(kind & 7)];
        let payload: Vec<u8> = match kind & 8 {
            0 => (0..length).collect(),
            _ => input.take(usize::from(length)).to_vec(),
        };
        let bytes = path.udp(&payload, kind & 16 == 0);
        match kind & 32 {
            0 => self.packet(head, &path.ip(17, None, &bytes)),
            _ => self.fragments(input, head, path, 17, &bytes),
        }
    }

    fn raw(&mut self, input: &mut Input<'_>) {
        let [link, length] = [input.byte(), input.byte()];
        let link = match usize::from(link) {
            0 => LinkType(0xfff0),
            at => LinkType::SUPPORTED[at % LinkType::SUPPORTED.len()],
        };
        let bytes = input.take(usize::from(length)).to_vec();
        self.push(link.0, &bytes, 0);
    }

    /// A segment in another packet, which may be fragmented itself.
    fn tunnel(&mut self, input: &mut Input<'_>, mut head: Head) {
        let kind = input.byte();
        let segment = self.segment(input, &mut head);
        let inner = segment.path.ip(6, None, &segment.bytes());
        let outer =
            Path { is_ipv6: kind & 8 != 0, source: 9, destination: 8, source_port: 9, destination_port: 4789, ttl: 9 };
        let (proto, payload) = match kind & 3 {
            0 => (if segment.path.is_ipv6 { 41 } else { 4 }, inner),
            1 => (47, [&[0, 0][..], if segment.path.is_ipv6 { &[0x86, 0xdd] } else { &[8, 0] }, &inner].concat()),
            2 => (17, outer.udp(&[&[8, 0, 0, 0, 0, 0, 5, 0][..], &framed(1, &inner).1].concat(), true)),
            _ => {
                self.ip_id = self.ip_id.wrapping_add(1);
                let bytes = segment.bytes();
                let cut = 16.min(bytes.len());
                for (offset, more, part) in [(0, true, &bytes[..cut]), (16, false, &bytes[cut..])] {
                    let inner = segment.path.ip(6, Some((self.ip_id, offset, more)), part);
                    let proto = if segment.path.is_ipv6 { 41 } else { 4 };
                    match kind & 4 {
                        0 => self.packet(Head { snapped: 0, ..head }, &outer.ip(proto, None, &inner)),
                        _ => self.fragments(input, head, outer, proto, &inner),
                    }
                }
                return;
            }
        };
        match kind & 4 {
            0 => self.packet(head, &outer.ip(proto, None, &payload)),
            _ => self.fragments(input, head, outer, proto, &payload),
        }
    }

    /// An earlier frame once more, perhaps with another byte.
    fn again(&mut self, input: &mut Input<'_>, changed: bool) {
        let back = 1 + usize::from(input.byte());
        let Some(&frame) = self.frames.get(self.frames.len().wrapping_sub(back)) else { return };
        let at = frame.at as usize;
        let mut bytes = self.memory[at..at + frame.captured_bytes as usize].to_vec();
        if changed {
            let at = usize::from(input.byte());
            let change = input.byte();
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= change;
            }
        }
        let missing = (frame.wire_bytes - frame.captured_bytes) as usize;
        bytes.resize(bytes.len() + missing, 0);
        self.push(frame.link.0, &bytes, missing);
    }
}
