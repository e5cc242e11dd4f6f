//! A packet to its flow: found, opened, or joined midway.

use super::{Engine, Prepared, core::Core};
use crate::{
    AnomalyKind, ChecksumMode, Class, Direction, EndReason, Fate, Frame, GapCause, Handler, Stream, StreamPacket,
    TcpState,
    flow::{Flow, Found, Half, HalfOpen, Key, NO_SLOT, bits, checks, half},
    packet::Packet,
    tcp::{Payload, Segment, Verdict, flag, has_right_checksum, has_wrong_checksum, is_merged},
    wire::Kind,
};

impl<H: Handler> Engine<H> {
    /// Takes in a transport packet of a frame.
    #[inline(always)]
    pub(crate) fn prepared_transport(&mut self, frame: &Frame, bytes: &[u8], one: &Prepared) -> Fate {
        let path = self.core.path_of(frame, bytes, &one.decoded);
        if self.has_short_way
            && let Some((flow, data)) = self.table.get_near(one.slot, &one.key)
            && flow.key.has_ids_of(&one.key)
        {
            self.core.slot = one.slot;
            if let Some(fate) = self.core.plain(flow, data, Packet::of(frame, bytes, &one.decoded, path), one.from_a) {
                return fate;
            }
        }
        let packet = Packet::of(frame, bytes, &one.decoded, path);
        let fate = self.transport(&packet, &one.key, one.from_a, one.hash, one.slot);
        if self.core.slot != one.slot {
            self.near.found(one.place, one.hash, self.core.slot);
        }
        fate
    }

    /// Takes in a transport packet.
    #[inline(never)]
    pub(crate) fn transport(&mut self, packet: &Packet<'_>, key: &Key, from_a: bool, hash: u64, guess: u32) -> Fate {
        let slot = match self.table.find_near(guess, hash, key) {
            Found::Flow(slot) => slot,
            _ => match self.flow_for(packet, key, from_a, hash) {
                Ok(slot) => slot,
                Err(fate) => return fate,
            },
        };
        self.core.slot = slot;
        let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
        if self.has_short_way
            && slot != guess
            && !packet.is_rebuilt
            && flow.key.has_ids_of(key)
            && let Some(fate) = self.core.plain(flow, data, *packet, from_a)
        {
            return fate;
        }
        self.long_way(packet, key, from_a, hash, slot)
    }

    /// A packet of a flow with something remarkable about it, or of another protocol than TCP.
    #[inline(always)]
    fn long_way(&mut self, packet: &Packet<'_>, key: &Key, from_a: bool, hash: u64, slot: u32) -> Fate {
        let flow = self.table.flows.get_mut(slot);
        if self.core.is_expired(flow) && !self.core.was_heard_meanwhile(flow) {
            // It timed out before this packet.
            self.expire(slot);
            if !self.table.flows.get(slot).is_reported() {
                return self.transport_new(packet, key, from_a, hash);
            }
        }
        let segment = match packet.decoded.kind {
            Kind::Tcp => Segment::of(packet.bytes, packet.decoded),
            _ => None,
        };
        if let Some(segment) = &segment
            && segment.flags & (flag::SYN | flag::ACK) != flag::ACK
            && let Some(fate) = self.begins_again(packet, key, from_a, hash, slot, segment)
        {
            return fate;
        }
        self.core.slot = slot;
        let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
        if flow.is_reported() {
            return Fate::AfterClose;
        }
        self.core.note_ids(flow, key);
        let fate = self.core.packet(flow, data, packet, from_a, segment.as_ref());
        if self.core.shunt.is_some() {
            self.core.offer(flow);
        }
        self.core.settle_extra(self.table.flows.get_mut(slot));
        self.list_closed(slot);
        if self.core.budget.is_over() {
            self.relieve();
        }
        fate
    }

    #[cold]
    pub(crate) fn transport_new(&mut self, packet: &Packet<'_>, key: &Key, from_a: bool, hash: u64) -> Fate {
        // A SYN that waited in the flow that just ended became a flow under the same key.
        if H::PACKETS
            && let Found::Flow(slot) = self.table.find(hash, key)
        {
            return self.long_way(packet, key, from_a, hash, slot);
        }
        match self.flow_for(packet, key, from_a, hash) {
            Err(fate) => fate,
            Ok(slot) => {
                let segment = match packet.decoded.kind {
                    Kind::Tcp => Segment::of(packet.bytes, packet.decoded),
                    _ => None,
                };
                self.core.slot = slot;
                let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
                self.core.note_ids(flow, key);
                let fate = self.core.packet(flow, data, packet, from_a, segment.as_ref());
                self.core.settle_extra(flow);
                self.list_closed(slot);
                fate
            }
        }
    }

    /// A packet without a flow in the main table: the slot of a new one, or its fate where it needs none.
    #[inline(never)]
    fn flow_for(&mut self, packet: &Packet<'_>, key: &Key, from_a: bool, hash: u64) -> Result<u32, Fate> {
        self.core.slot = NO_SLOT;
        let segment = match packet.decoded.kind {
            Kind::Tcp => Some(Segment::of(packet.bytes, packet.decoded).ok_or(Fate::Malformed)?),
            _ => None,
        };
        let found = self.table.find(hash, key);
        if let Found::Lone(slot) = found {
            if !self.is_lone_expired(slot) {
                return self.promote_lone(slot);
            }
            self.end_lone(slot, EndReason::Timeout);
        }
        if let Found::HalfOpen(slot) = found {
            let entry = *self.table.half_open.get(slot);
            let expired =
                self.core.clock_ns > entry.seen_clock_ns.saturating_add(self.core.config.half_open_timeout_ns);
            let Some(segment) = segment.as_ref() else {
                // A header that was cut: what it would answer or continue is not known.
                if expired {
                    self.end_half_open(slot, EndReason::Timeout);
                    return self.new_flow(packet, key, from_a, hash, None);
                }
                return Ok(self.promote(slot));
            };
            let from_client = from_a == entry.client_is_a;
            let is_syn = segment.flags & (flag::SYN | flag::ACK | flag::RST | flag::FIN) == flag::SYN;
            if expired {
                self.end_half_open(slot, EndReason::Timeout);
            } else if from_client
                && is_syn
                && segment.length == 0
                && segment.seq == entry.isn
                && entry.key.has_ids_of(key)
                // Which of the two ways is the receiver's is not known: that is told.
                && !packet.path.deviates(entry.path)
            {
                self.again(slot, packet);
                return Err(Fate::Tracked);
            } else if from_client
                && is_syn
                && segment.seq != entry.isn
                && !self.core.doubts_syn(packet, entry.good_checksum)
                && !packet.path.deviates(entry.path)
            {
                self.end_half_open(slot, EndReason::Reused);
            } else {
                return Ok(self.promote(slot));
            }
        }
        if let Some(segment) = &segment
            && segment.flags & (flag::SYN | flag::ACK | flag::RST | flag::FIN) == flag::SYN
            && segment.length == 0
            // Whoever wants the packets wants this one, too: the half-open table does not keep it.
            && !H::PACKETS
            && !self.core.refuses_syn(packet)
        {
            self.half_open(packet, key, from_a, hash, segment);
            return Err(Fate::Tracked);
        }
        if let Some(segment) = &segment
            && self.may_wait(packet, segment)
        {
            return Err(self.keep_lone(packet, key, from_a, hash));
        }
        self.new_flow(packet, key, from_a, hash, segment.as_ref())
    }

    /// A SYN came again.
    fn again(&mut self, slot: u32, packet: &Packet<'_>) {
        let clock_ns = self.core.clock_ns;
        let entry = self.table.half_open.get_mut(slot);
        entry.packets += 1;
        entry.last_ns = packet.frame.timestamp_ns;
        entry.seen_clock_ns = clock_ns;
        entry.path = entry.path.and(packet.path);
        entry.ip_bytes += packet.ip_bytes;
        entry.frame_bytes += packet.frame_bytes;
    }

    fn half_open(&mut self, packet: &Packet<'_>, key: &Key, from_a: bool, hash: u64, segment: &Segment) {
        if self.table.half_open.live() >= self.core.config.half_open_max
            && let Some(oldest) = self.table.oldest_half_open()
        {
            self.core.ledger.evicted_half_open += 1;
            self.end_half_open(oldest, EndReason::Evicted);
        }
        let class = self.classify(packet);
        let entry = HalfOpen {
            key: *key,
            hash: hash as u32,
            isn: segment.seq,
            id: packet.frame.number,
            first_ns: packet.frame.timestamp_ns,
            last_ns: packet.frame.timestamp_ns,
            seen_clock_ns: self.core.clock_ns,
            ip_bytes: packet.ip_bytes,
            frame_bytes: packet.frame_bytes,
            packets: 1,
            timestamp: segment.timestamp,
            class,
            path: packet.path,
            client_is_a: from_a,
            scale: segment.scale.unwrap_or(0),
            tcp_flags: segment.flags,
            good_checksum: self.core.config.checksum != ChecksumMode::Ignore && has_right_checksum(packet),
            signed: segment.signed,
            large_frames: segment.large_frames,
            ..HalfOpen::default()
        };
        self.table.add_half_open(entry);
    }

    pub(crate) fn classify(&mut self, packet: &Packet<'_>) -> Class {
        let mut class = match &mut self.classifier {
            Some(classifier) => classifier.classify(packet.frame, packet.bytes),
            None => Class::NONE,
        };
        if H::OUTLETS {
            class.marks = self.core.handler.marks(packet.frame, packet.bytes);
        }
        class
    }

    /// A half-open connection becomes a flow, as if its SYN had just come.
    pub(crate) fn promote(&mut self, slot: u32) -> u32 {
        let entry = self.table.remove_half_open(slot);
        self.make_room();
        let slot = self.table.add(entry.hash, entry.key);
        let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
        entry.begin(flow);
        // Its own timeout was looked at; that of flows begins with the packet that made it one.
        flow.seen_clock_ns = self.core.clock_ns;
        self.core.apply(flow, entry.class);
        self.core.slot = slot;
        self.core.open(flow, data);
        if entry.payload_bytes > 0 {
            self.core.odd_at_beginning(flow, AnomalyKind::SynData);
        }
        slot
    }

    fn new_flow(
        &mut self,
        packet: &Packet<'_>,
        key: &Key,
        from_a: bool,
        hash: u64,
        segment: Option<&Segment>,
    ) -> Result<u32, Fate> {
        let class = self.classify(packet);
        if !self.make_room() {
            return Err(Fate::NoRoom);
        }
        let slot = self.table.add(hash as u32, *key);
        self.begin_flow(slot, packet, key, from_a, segment, class);
        Ok(slot)
    }

    /// Gives a fresh flow what its first packet says of it, and reports it.
    pub(crate) fn begin_flow(
        &mut self,
        slot: u32,
        packet: &Packet<'_>,
        key: &Key,
        from_a: bool,
        segment: Option<&Segment>,
        class: Class,
    ) {
        let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
        flow.id = packet.frame.number;
        flow.seen_clock_ns = self.core.clock_ns;
        // Both: it is not counted yet, and whoever is told of the stream's opening may ask for its times.
        (flow.first_ns, flow.last_ns) = ([packet.frame.timestamp_ns; 2], [packet.frame.timestamp_ns; 2]);
        let mut client_sends = true;
        match segment {
            None if !packet.is_cut_segment() => {
                for half in &mut flow.halves {
                    half.flags |= half::KNOWN;
                }
            }
            Some(segment) if segment.has(flag::SYN) => {
                client_sends = !segment.has(flag::ACK);
                flow.state = TcpState::SynSent;
            }
            _ => {
                flow.state = TcpState::Midstream;
                flow.flags |= bits::MIDSTREAM;
                // The side with a well-known port is taken for the server.
                let (source, destination) = (key.port(from_a), key.port(!from_a));
                client_sends = !(source < 1024 && destination >= 1024);
            }
        }
        if matches!(packet.decoded.kind, Kind::Icmp | Kind::Icmp6) {
            let at = packet.decoded.transport_at as usize;
            if let Some(&[kind, code]) = packet.bytes.get(at..at + 2).and_then(|bytes| bytes.first_chunk()) {
                flow.halves[0].base_seq = u32::from(kind) << 8 | u32::from(code);
            }
        }
        if client_sends == from_a {
            flow.flags |= bits::CLIENT_IS_A;
        }
        self.core.apply(flow, class);
        self.core.slot = slot;
        self.core.open(flow, data);
    }

    /// A SYN, or a packet that follows a pending one, on a flow that exists: whether a new connection begins.
    #[cold]
    fn begins_again(
        &mut self,
        packet: &Packet<'_>,
        key: &Key,
        from_a: bool,
        hash: u64,
        slot: u32,
        segment: &Segment,
    ) -> Option<Fate> {
        let flow = self.table.flows.get(slot);
        let direction = flow.direction(from_a);
        let me = &flow.halves[direction as usize];
        let is_syn = segment.flags & (flag::SYN | flag::ACK | flag::RST | flag::FIN) == flag::SYN;
        if !segment.has(flag::SYN) || self.core.refuses_syn(packet) {
            return None;
        }
        if segment.has(flag::ACK) {
            return self.answered(packet, key, from_a, hash, slot, segment);
        }
        if !is_syn {
            return None;
        }
        let is_same = me.has(half::SYN) && me.base_seq == segment.seq.wrapping_add(1);
        if is_same && !flow.is_reported() && Self::tries_again(self.table.flows.get_mut(slot), direction, segment) {
            return None;
        }
        let flow = self.table.flows.get(slot);
        let me = &flow.halves[direction as usize];
        let is_new = match me.flags & (half::KNOWN | half::SYN) {
            0 => false,
            half::KNOWN => !flow.may_begin_at(direction, segment.seq.wrapping_add(1)),
            _ => !is_same,
        };
        let unanswered = flow.state == TcpState::SynSent && flow.halves[direction.opposite() as usize].packets() == 0;
        let deviates = !flow.is_over() && packet.path.deviates(me.path());
        let has_doubtful_checksum = self.core.doubts_syn(packet, me.checked(checks::GOOD_SYN));
        let is_doubtful = has_doubtful_checksum || deviates;
        let ended = unanswered || flow.is_over() && Self::answers_syn(flow, direction, segment);
        // After both ends it may be the old one's, come late; after a refusal it is another attempt.
        let is_late = flow.state == TcpState::Closed && me.flags & (half::KNOWN | half::SYN) == half::KNOWN;
        let begins = is_new || flow.is_over() && !is_late;
        if ended && begins && !is_doubtful {
            let reason = flow.reason_over().unwrap_or(EndReason::Reused);
            self.end(slot, reason);
            return Some(self.transport_new(packet, key, from_a, hash));
        }
        if !is_new && (flow.state != TcpState::Closed || is_late) {
            return None;
        }
        if deviates {
            self.core.note_path(self.table.flows.get_mut(slot), direction, packet);
        }
        if has_doubtful_checksum {
            self.core.odd_once(self.table.flows.get_mut(slot), AnomalyKind::BadChecksum);
        }
        self.pend(packet, key, slot, direction, segment);
        Some(Fate::Tracked)
    }

    /// Whether the other side of a connection that is over takes a SYN, as far as can be told before it answers: after a
    /// reset, or where it is not heard; and where it has the acknowledgment of its FIN, and the SYN's number lies beyond
    /// our FIN, or its timestamp is newer (RFC 9293 section 3.10.7.4, RFC 6191, Linux: `tcp_timewait_state_process`).
    fn answers_syn(flow: &Flow, direction: Direction, segment: &Segment) -> bool {
        let (me, peer) = (&flow.halves[direction as usize], &flow.halves[direction.opposite() as usize]);
        if flow.state != TcpState::Closed || peer.packets() == 0 || flow.is_reported() {
            return true;
        }
        // A FIN takes a number, too.
        let end = |half: &Half| half.next_seq().wrapping_add(1);
        let is_acknowledged = |of: &Half, by: &Half| by.has(half::ACKED) && by.ack.wrapping_sub(end(of)) as i32 >= 0;
        let age = match segment.timestamp {
            Some(value) if me.has(half::TIMESTAMP) && me.ts_recent != 0 => me.ts_recent.wrapping_sub(value) as i32,
            _ => 0,
        };
        let is_beyond = segment.seq.wrapping_sub(end(me)) as i32 > 0;
        is_acknowledged(me, peer) && is_acknowledged(peer, me) && age <= 0 && (is_beyond || age < 0)
    }

    /// The SYN that was refused comes again with its number, as Windows sends it three times: the same attempt, unless
    /// the other side had said anything before it refused, or its sender more than the SYN.
    fn tries_again(flow: &mut Flow, direction: Direction, segment: &Segment) -> bool {
        let me = &flow.halves[direction as usize];
        let has_begun = me.next > flow.bias(direction) || me.has(half::FIN_SEEN);
        let peer = &mut flow.halves[direction.opposite() as usize];
        if flow.state != TcpState::Reset
            || has_begun
            || peer.payload_wire_bytes > 0
            || peer.has(half::SYN | half::FIN_SEEN | half::QUEUED)
        {
            return false;
        }
        // What was known of it was the refusal's.
        peer.flags &= !(half::KNOWN | half::ACKED | half::HELD | half::TIMESTAMP);
        let me = &mut flow.halves[direction as usize];
        me.flags &= !(half::ACKED | half::TIMESTAMP);
        me.set_scale(segment.scale.unwrap_or(0));
        if let Some(value) = segment.timestamp {
            me.ts_recent = value;
            me.flags |= half::TIMESTAMP;
        }
        flow.state = TcpState::SynSent;
        true
    }
}

impl HalfOpen {
    /// Gives a fresh flow what was noted of its SYN.
    pub(crate) fn begin(&self, flow: &mut Flow) {
        flow.flags |= bits::CLIENT_KNOWN | if self.client_is_a { bits::CLIENT_IS_A } else { 0 };
        flow.state = TcpState::SynSent;
        flow.id = self.id;
        flow.seen_clock_ns = self.seen_clock_ns;
        (flow.first_ns[0], flow.last_ns[0]) = (self.first_ns, self.last_ns);
        let client = &mut flow.halves[0];
        client.add_packets(self.packets.into());
        client.set_path(self.path);
        client.payload_wire_bytes = self.payload_bytes;
        client.base_seq = self.isn.wrapping_add(1);
        client.flags = half::KNOWN | half::SYN;
        client.flags |= if self.signed { half::SIGNED } else { 0 };
        client.set_scale(self.scale);
        // A right checksum of a SYN says nothing about payload.
        for (is_so, bit) in [(self.good_checksum, checks::GOOD_SYN), (self.large_frames, checks::LARGE_FRAMES)] {
            if is_so {
                client.note_check(bit);
            }
        }
        client.tcp_flags = self.tcp_flags;
        if let Some(value) = self.timestamp {
            client.ts_recent = value;
            client.flags |= half::TIMESTAMP;
        }
        flow.count_frames(0, self.frame_bytes, self.ip_bytes);
    }
}

impl<H: Handler> Core<H> {
    /// Applies what an expression said of a new stream.
    pub(crate) fn apply(&mut self, flow: &mut Flow, class: Class) {
        if H::OUTLETS {
            self.outlets.marks = class.marks;
            return;
        }
        if let Some(priority) = class.priority {
            flow.priority = priority.min(self.config.priorities.saturating_sub(1));
        }
        if let Some(cutoff) = class.cutoff {
            flow.extra().cutoff = cutoff;
            for half in &mut flow.halves {
                half.flags |= half::OWN_CUTOFF;
            }
        }
    }

    /// Whether a SYN begins nothing for its checksum.
    fn refuses_syn(&self, packet: &Packet<'_>) -> bool {
        self.config.checksum == ChecksumMode::Verify && has_wrong_checksum(packet)
    }

    /// Whether a SYN takes no other's place until it is answered: it has a wrong checksum. `is_right`: the other's was
    /// right.
    fn doubts_syn(&self, packet: &Packet<'_>, is_right: bool) -> bool {
        is_right && self.config.checksum == ChecksumMode::Auto && has_wrong_checksum(packet)
    }

    /// Counts a packet of the direction `at`.
    #[inline(always)]
    pub(crate) fn count(&mut self, flow: &mut Flow, at: usize, packet: &Packet<'_>, tcp_flags: u8) {
        let timestamp_ns = packet.frame.timestamp_ns;
        flow.count_frames(at, packet.frame_bytes, packet.ip_bytes);
        let half = &mut flow.halves[at];
        let is_first = half.packets() == 0;
        half.add_packets(1);
        half.payload_wire_bytes += u64::from(packet.decoded.payload_bytes);
        half.tcp_flags |= tcp_flags;
        flow.last_ns[at] = timestamp_ns;
        flow.seen_clock_ns = self.clock_ns;
        if is_first {
            half.set_path(packet.path);
            flow.first_ns[at] = timestamp_ns;
            if flow.halves[at ^ 1].packets() != 0 {
                flow.flags |= bits::CONFIRMED;
            }
        }
    }

    /// Takes in a packet of a flow: counts it, and gives its payload to its protocol.
    #[inline(always)]
    pub(crate) fn packet(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        packet: &Packet<'_>,
        from_a: bool,
        segment: Option<&Segment>,
    ) -> Fate {
        let direction = flow.direction(from_a);
        self.count(flow, direction as usize, packet, segment.map_or(0, |segment| segment.flags));
        if packet.frames > 1 {
            flow.extra().more_frames[direction as usize] += u64::from(packet.frames - 1);
        }
        if H::PACKETS {
            self.show(flow, data, packet.shown(direction));
        }
        if self.config.flush_timeout_ns != 0 && flow.extra.is_some() {
            self.flush_due(flow, data);
        }
        if packet.decoded.kind == Kind::HeaderCut {
            return self.header_cut(flow, data, packet, direction);
        }
        let mut is_unconfirmed = false;
        if self.config.checksum != ChecksumMode::Ignore {
            match self.verify(flow, direction, packet, segment) {
                Verdict::Taken => {}
                Verdict::Unconfirmed => is_unconfirmed = true,
                Verdict::LeftOut => {
                    self.leave_out(flow, data, direction, packet, segment);
                    return Fate::BadChecksum;
                }
            }
        }
        if self.config.ttl_min > packet.decoded.ttl {
            self.odd(flow, AnomalyKind::LowTtl);
            return Fate::Ignored;
        }
        let is_refused = self.note_path(flow, direction, packet);
        self.payload(flow, data, packet, direction, segment, [is_unconfirmed, is_refused])
    }

    /// A packet whose transport header was cut by the snap length. A datagram's payload is missing where it would have been;
    /// of a segment nothing is known.
    #[cold]
    fn header_cut(&mut self, flow: &mut Flow, data: &mut H::Data, packet: &Packet<'_>, direction: Direction) -> Fate {
        if !packet.is_cut_segment() {
            let half = &mut flow.halves[direction as usize];
            let (start, bytes) = (half.next, u64::from(packet.decoded.payload_bytes));
            half.next += bytes;
            self.gap(flow, data, direction, start, bytes, GapCause::Snapped);
        }
        Fate::HeaderCut
    }

    /// A packet whose checksum is wrong: a datagram's payload is missing where it would have been, a segment's may be
    /// sent again.
    #[cold]
    fn leave_out(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        packet: &Packet<'_>,
        segment: Option<&Segment>,
    ) {
        if let Some(segment) = segment {
            return self.note_left_out(flow, direction, segment);
        }
        let half = &mut flow.halves[direction as usize];
        let (start, bytes) = (half.next, u64::from(packet.decoded.payload_bytes));
        half.next += bytes;
        self.gap(flow, data, direction, start, bytes, GapCause::BadChecksum);
    }

    #[inline(always)]
    fn payload(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        packet: &Packet<'_>,
        direction: Direction,
        segment: Option<&Segment>,
        [is_unconfirmed, is_refused]: [bool; 2],
    ) -> Fate {
        let mut payload = Payload { is_refused, ..Payload::of(packet, GapCause::Snapped) };
        if is_unconfirmed {
            (payload.is_unconfirmed, payload.is_merged) = (true, is_merged(flow, direction, packet));
        }
        let is_shed = packet.decoded.payload_bytes > 0 && self.is_shed(flow, direction);
        if is_shed {
            self.count_shed(flow, direction, u64::from(packet.decoded.payload_bytes));
            payload.bytes = &[];
            payload.cause = GapCause::Shed;
            payload.has_fate = false;
        }
        let fate = match segment {
            Some(segment) => self.tcp(flow, data, direction, segment, payload),
            None => self.datagram(flow, data, direction, packet.decoded.payload_bytes, payload),
        };
        if is_shed { Fate::Shed } else { fate }
    }

    /// Payload of a protocol without order: each packet's follows the last one's.
    fn datagram(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        stated: u32,
        payload: Payload<'_>,
    ) -> Fate {
        let half = &mut flow.halves[direction as usize];
        let start = half.next;
        half.next += u64::from(stated);
        if stated == 0 {
            return Fate::Tracked;
        }
        self.deliver(flow, data, direction, start, payload.bytes, payload.timestamp_ns);
        let missing = u64::from(stated) - payload.bytes.len() as u64;
        if missing != 0 {
            self.gap(flow, data, direction, start + payload.bytes.len() as u64, missing, payload.cause);
        }
        if flow.halves[direction as usize].has(half::CUT) {
            return self.fate_of_cut(flow, direction, start);
        }
        Fate::Tracked
    }

    /// Shows a packet to those who want packets.
    pub(crate) fn show(&mut self, flow: &mut Flow, data: &mut H::Data, shown: StreamPacket<'_>) {
        if H::OUTLETS {
            return self.show_each(flow, data, shown);
        }
        self.handler.packet(&mut Stream { flow, data, config: &self.config }, shown);
    }
}
