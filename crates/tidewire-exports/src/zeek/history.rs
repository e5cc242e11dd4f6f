//! `history` and `conn_state`: what each side sent first, and where each side's connection stood at the end.
//!
//! The rules are those of Zeek's TCP analyzer (`TCPSessionAdapter`) and of its script `base/protocols/conn`: letters in the order of first
//! events, in capitals for the originator; those that repeat are written again at ten, a hundred, a thousand times.
//!
//! Of packets with wrong checksums Zeek has the letter `C` alone, unless checksums are ignored. Here those that the engine accepts all the
//! same, because the capture is to blame, have the letter and their effects.

use tidewire::{Direction, Gap, GapCause, PacketChecksum, StreamPacket};

use tidewire_types::{ip_protocol, saturating_nanos, tcp_flag};

use crate::{
    model::FlowRecord,
    zeek::{
        segment::{self, Segment},
        side::{Rare, Side, State, close_by_flags, leave_established, leave_inactive},
        tunnel::{self, Tunnel},
        uid,
    },
};

#[cfg(test)]
mod tests;

/// Most letters of a history: a peer that changes its sequence numbers could make it grow without an end.
const LETTERS_MAX: usize = 64;

/// Most tunnels of a stream: a peer could send each packet through another one.
const TUNNELS_MAX: usize = 16;

/// A jump of sequence numbers by a SYN or RST that is not believed.
const JUMP_MAX: i64 = 1 << 20;

/// Letters that are written once a side, and the first of those that are written again.
#[derive(Clone, Copy)]
enum Once {
    Syn,
    Fin,
    Rst,
    Data,
    Ack,
    FinRst,
    ManyFlags,
}

/// Letters that are written at 1, 10, 100 times.
#[derive(Clone, Copy)]
enum Often {
    Gap,
    Repeated,
    ZeroWindow,
    Checksum,
}

/// The letters that were written, in place: another allocation for each stream costs more than it saves.
#[derive(Clone, Debug)]
struct Letters {
    len: u8,
    ascii: [u8; LETTERS_MAX],
}

impl Default for Letters {
    fn default() -> Self {
        Self { len: 0, ascii: [0; LETTERS_MAX] }
    }
}

impl Letters {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.ascii[..usize::from(self.len)]).unwrap_or_default()
    }

    /// Adds one, as long as there is room.
    fn push(&mut self, letter: char) {
        if let Some(place) = self.ascii.get_mut(usize::from(self.len)) {
            *place = letter as u8;
            self.len += 1;
        }
    }
}

/// A stream's history, fed with its packets and gaps in their order.
// The fields that each packet touches are first: of many streams at once it is out of the cache each time, and is fetched in whole lines.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct History {
    sides: [Side; 2],
    /// Time of the last packet that was not behind the end of both sides.
    last_ns: u64,
    protocol: u8,
    is_begun: bool,
    letters: Letters,
    missed_bytes: u64,
    rare: [Rare; 2],
    /// The tunnels that its packets came through, and the names of those next to them.
    tunnels: Vec<Tunnel>,
    parents: Vec<uid::Name>,
}

impl History {
    /// That of a stream of an IP protocol, before its first packet.
    #[must_use]
    pub fn of(protocol: u8) -> Self {
        Self { protocol, ..Self::default() }
    }

    /// A packet of the stream, before its effects.
    pub fn packet(&mut self, packet: &StreamPacket<'_>) {
        let side = packet.direction as usize;
        if !std::mem::replace(&mut self.is_begun, true) && side == 1 {
            // Who sent first is not who began.
            self.write('^');
        }
        if packet.checksum.is_wrong() {
            self.note_checksum(side);
        }
        if packet.checksum == PacketChecksum::LeftOut {
            self.leave_out(side, packet);
            return;
        }
        match self.protocol {
            ip_protocol::TCP => {
                if let Some(segment) = Segment::of(packet) {
                    self.segment(side, &segment, packet.timestamp.as_nanos());
                }
            }
            ip_protocol::UDP => {
                self.once(side, Once::Data, 'D');
            }
            _ => {}
        }
    }

    fn note_checksum(&mut self, side: usize) {
        if matches!(self.protocol, ip_protocol::TCP | ip_protocol::UDP) {
            self.often(side, Often::Checksum, 'C');
        }
    }

    /// A packet with a wrong checksum that counts in nothing else.
    fn leave_out(&mut self, side: usize, packet: &StreamPacket<'_>) {
        let ip_bytes = segment::ip_bytes(packet).unwrap_or(packet.wire_bytes.saturating_sub(packet.network_at));
        let payload_bytes = ip_bytes.saturating_sub(packet.payload_at.saturating_sub(packet.network_at));
        for (sum, count) in self.rare[side].left_out.iter_mut().zip([1, payload_bytes, ip_bytes]) {
            *sum += u64::from(count);
        }
        self.note_time(packet.timestamp.as_nanos());
    }

    fn note_time(&mut self, ns: u64) {
        if self.sides.iter().any(|side| !side.is_closed) {
            // Clocks may go back: a connection lasts until the latest of its packets.
            self.last_ns = self.last_ns.max(ns);
        }
    }

    /// Notes the tunnels that a packet came through, which are wanted of streams in tunnels; calls `each` with those that are new.
    pub fn tunnels(&mut self, packet: &StreamPacket<'_>, mut each: impl FnMut(&Tunnel)) {
        let mut parent = None;
        for tunnel in tunnel::tunnels(packet) {
            parent = Some(tunnel);
            if self.tunnels.len() < TUNNELS_MAX && !self.tunnels.iter().any(|known| known.is(&tunnel)) {
                self.tunnels.push(tunnel);
                each(&tunnel);
            }
        }
        let parent = parent.filter(|_| self.parents.len() < TUNNELS_MAX).map(|parent| parent.uid());
        self.parents.extend(parent.filter(|parent| !self.parents.contains(parent)));
    }

    /// The names of the tunnels next to its packets.
    pub(super) fn parents(&self) -> impl Iterator<Item = &str> {
        self.parents.iter().filter_map(|name| std::str::from_utf8(name).ok())
    }

    /// Bytes that are missing.
    pub fn gap(&mut self, gap: &Gap) {
        let is_lost = !matches!(gap.cause, GapCause::Cutoff | GapCause::Urgent);
        // At the end of a connection that was not closed cleanly a gap says little.
        let is_reliable = self.sides.iter().all(|side| match side.state {
            State::Established => true,
            State::Closed => side.before == State::Established,
            _ => false,
        });
        // Of a side without segments the other one acknowledged at least so much.
        let is_unseen = self.protocol == ip_protocol::TCP
            && gap.cause.is_unseen()
            && self.sides[gap.direction as usize].state == State::Inactive;
        if is_lost && (is_reliable || is_unseen) {
            self.missed_bytes = self.missed_bytes.saturating_add(gap.bytes);
            self.often(gap.direction as usize, Often::Gap, 'G');
        }
    }

    /// The letters.
    #[must_use]
    pub fn letters(&self) -> &str {
        self.letters.as_str()
    }

    /// Bytes of gaps within an established connection.
    #[must_use]
    pub fn missed_bytes(&self) -> u64 {
        self.missed_bytes
    }

    /// How long the connection lasted, without packets behind the end of both sides.
    pub(super) fn duration_ns(&self, flow: &FlowRecord<'_>) -> u64 {
        if flow.key.proto != ip_protocol::TCP || self.last_ns == 0 {
            return saturating_nanos(flow.duration());
        }
        self.last_ns.saturating_sub(flow.start.as_nanos())
    }

    /// Payload of both sides: of TCP from its sequence numbers.
    pub(super) fn bytes(&self, flow: &FlowRecord<'_>) -> [u64; 2] {
        if flow.key.proto != ip_protocol::TCP || !self.is_begun {
            return [0, 1].map(|side| flow.stats[side].payload_wire_bytes.saturating_sub(self.rare[side].left_out[1]));
        }
        self.sizes()
    }

    /// Packets of a side, and their bytes from the IP header on, without those that were left out.
    pub(super) fn packets(&self, flow: &FlowRecord<'_>, side: usize) -> [u64; 2] {
        let (stats, [packets, _, ip_bytes]) = (&flow.stats[side], self.rare[side].left_out);
        [stats.packets.saturating_sub(packets), stats.ip_bytes.saturating_sub(ip_bytes)]
    }

    fn sizes(&self) -> [u64; 2] {
        Direction::BOTH.map(|direction| {
            let (side, peer) = (&self.sides[direction as usize], &self.sides[direction.opposite() as usize]);
            let is_probe = side.before == State::SynSent && side.state == State::Reset && peer.state == State::Inactive;
            if is_probe && side.acked > 1 {
                return 0;
            }
            let size = side.sent.max(side.acked);
            // The SYN has a sequence number, and so has the FIN.
            let size = if size > 0 { size - 1 } else { 0 };
            (if side.has_fin && size > 0 { size - 1 } else { size }) as u64
        })
    }

    /// The state by Zeek's names: `SF`, `S0`, `REJ`, …
    #[must_use]
    pub fn conn_state(&self, protocol: u8) -> &'static str {
        match protocol {
            ip_protocol::TCP => self.tcp_state(),
            ip_protocol::UDP => match self.sides.each_ref().map(|side| side.seen != 0) {
                [true, true] => "SF",
                [true, false] => "S0",
                [false, true] => "SHR",
                [false, false] => "OTH",
            },
            _ => "OTH",
        }
    }

    fn tcp_state(&self) -> &'static str {
        use State::{Closed, Established, Inactive, Reset, SynAckSent, SynSent};
        let [origin, answer] = self.sides.each_ref().map(|side| side.state);
        match (origin, answer) {
            (SynSent | SynAckSent, Reset) => "REJ",
            (Reset, Reset) if self.sizes() == [0, 0] => "REJ",
            (origin, Reset) if origin.is_idle() => "RSTRH",
            (_, Reset) => "RSTR",
            (Reset, answer) if answer.is_idle() && self.is_aborted_attempt() => "RSTOS0",
            (Reset, answer) if answer.is_idle() => "OTH",
            (Reset, _) => "RSTO",
            (Closed, Closed) => "SF",
            (Closed, answer) if answer.is_idle() => "SH",
            (Closed, _) => "S2",
            (origin, Closed) if origin.is_idle() => "SHR",
            (_, Closed) => "S3",
            (SynSent, Inactive) => "S0",
            (Established, Established) => "S1",
            _ => "OTH",
        }
    }

    /// Whether the originator sent a SYN and then a reset, and nothing that belongs to a connection between.
    fn is_aborted_attempt(&self) -> bool {
        let letters = self.letters().trim_start_matches('^');
        let Some(behind) = letters.strip_prefix('S') else { return false };
        behind.find('R').is_some_and(|reset| !behind[..reset].contains(['H', 'A', 'F', 'G', 'I', 'Q']))
    }

    fn write(&mut self, letter: char) {
        self.letters.push(letter);
    }

    fn write_of(&mut self, side: usize, letter: char) {
        self.write(if side == 0 { letter } else { letter.to_ascii_lowercase() });
    }

    /// Writes a letter the first time; `true`: it was written before.
    fn once(&mut self, side: usize, which: Once, letter: char) -> bool {
        let bit = 1 << which as u8;
        if self.sides[side].seen & bit != 0 {
            return true;
        }
        self.sides[side].seen |= bit;
        self.write_of(side, letter);
        false
    }

    /// Writes a letter at the first, tenth, hundredth time.
    fn often(&mut self, side: usize, which: Often, letter: char) {
        let count = &mut self.rare[side].often[which as usize];
        *count = count.saturating_add(1);
        if 10_u32.pow(count.ilog10()) == *count {
            self.write_of(side, letter);
        }
    }

    /// Writes a letter of a flag: the first time, and where its place is another one than the last.
    fn flag(&mut self, side: usize, which: Once, letter: char, place: i64) {
        let seen = self.once(side, which, letter);
        let last = std::mem::replace(&mut self.rare[side].last[which as usize], place);
        if seen && last != place {
            self.write_of(side, letter);
        }
    }

    fn segment(&mut self, side: usize, segment: &Segment, ns: u64) {
        let has = |flag: u8| segment.flags & flag != 0;
        let counted = if has(tcp_flag::RST) { 0 } else { i64::from(segment.payload_bytes) };
        let bytes = counted + i64::from(has(tcp_flag::SYN)) + i64::from(has(tcp_flag::FIN));
        self.place_beginning(side, segment, bytes);
        let own = &self.sides[side];
        let place = own.place(segment.seq, own.sent);
        self.write_segment(side, segment, place);
        self.note_time(ns);
        let (own, peer) = (&self.sides[side], &self.sides[side ^ 1]);
        if segment.window == 0 && !has(tcp_flag::RST) && peer.state != State::Closed && own.state != State::Reset {
            self.often(side, Often::ZeroWindow, 'W');
        }
        self.sides[side].has_fin |= has(tcp_flag::FIN) && place + bytes != 0;
        if has(tcp_flag::ACK) {
            self.acknowledge(side ^ 1, segment, has(tcp_flag::RST));
        }
        self.advance(side, segment, place + bytes);
        self.change_state(side, segment);
    }

    /// Sets the beginning of a side where a packet shows it.
    fn place_beginning(&mut self, side: usize, segment: &Segment, bytes: i64) {
        let is_syn = segment.flags & tcp_flag::SYN != 0;
        let own = &mut self.sides[side];
        let is_new = match own.state {
            State::Inactive if !is_syn => {
                own.begin(segment.seq.wrapping_sub(1), 1);
                return;
            }
            State::Inactive => true,
            State::SynSent | State::SynAckSent => is_syn && segment.seq != own.start,
            State::Established | State::Partial => is_syn,
            State::Reset => is_syn && own.before == State::Inactive,
            State::Closed => false,
        };
        if is_new {
            own.begin(segment.seq, bytes);
        }
    }

    fn write_segment(&mut self, side: usize, segment: &Segment, place: i64) {
        let has = |flag: u8| segment.flags & flag != 0;
        let (syn, fin, rst) = (has(tcp_flag::SYN), has(tcp_flag::FIN), has(tcp_flag::RST));
        match (syn, fin, rst) {
            (_, true, true) => drop(self.once(side, Once::FinRst, 'I')),
            (true, true, _) | (true, _, true) => drop(self.once(side, Once::ManyFlags, 'Q')),
            (true, false, false) => {
                let letter = if segment.flags & tcp_flag::ACK != 0 { 'H' } else { 'S' };
                self.flag(side, Once::Syn, letter, place);
            }
            (false, true, false) => self.flag(side, Once::Fin, 'F', place + i64::from(segment.payload_bytes)),
            (false, false, true) => self.flag(side, Once::Rst, 'R', place),
            (false, false, false) if segment.payload_bytes > 0 => drop(self.once(side, Once::Data, 'D')),
            (false, false, false) if segment.flags & tcp_flag::ACK != 0 => drop(self.once(side, Once::Ack, 'A')),
            (false, false, false) => {}
        }
    }

    /// The peer of a segment's sender learns what arrived.
    fn acknowledge(&mut self, peer: usize, segment: &Segment, is_reset: bool) {
        let peer = &mut self.sides[peer];
        if peer.state == State::Inactive {
            peer.begin(segment.ack.wrapping_sub(1), 0);
            return;
        }
        let place = peer.place(segment.ack, peer.acked);
        // A number of 0 far away is more likely a broken one.
        let is_broken = segment.ack == 0 && place - peer.acked > JUMP_MAX;
        if !is_reset && !is_broken && place > peer.acked {
            peer.acked = place;
        }
    }

    /// How far a side sent, or that it sent something again.
    fn advance(&mut self, side: usize, segment: &Segment, end: i64) {
        let own = &mut self.sides[side];
        let is_wild = segment.flags & (tcp_flag::SYN | tcp_flag::RST) != 0 && (end - own.sent).abs() > JUMP_MAX;
        if is_wild {
            return;
        }
        if segment.flags & tcp_flag::FIN != 0 && own.sent == 1 {
            own.sent = end;
        } else if own.state != State::Reset {
            if end > own.sent {
                own.sent = end;
            } else if segment.payload_bytes > 0 {
                self.often(side, Often::Repeated, 'T');
            }
        }
    }

    fn change_state(&mut self, side: usize, segment: &Segment) {
        let [origin, answer] = &mut self.sides;
        let is_origin = side == 0;
        let (own, peer) = if is_origin { (origin, answer) } else { (answer, origin) };
        match own.state {
            State::Inactive => leave_inactive(own, peer, is_origin, segment),
            State::SynSent | State::SynAckSent => close_by_flags(own, segment),
            State::Established | State::Partial => leave_established(own, peer, segment),
            State::Closed => {
                // A reset behind both FINs changes nothing.
                if segment.flags & tcp_flag::RST != 0 && peer.state != State::Closed {
                    own.set(State::Reset);
                    own.is_closed = true;
                }
            }
            State::Reset => {}
        }
    }
}
