//! Lowering of predicates and properties.

use std::net::IpAddr;

use super::field::{Destination, Side, Source};
use super::lowering::Lowering;
use tidewire_wire::ip_protocol::{ICMP, ICMP6, TCP, UDP};

use crate::ir::{Alu, Condition, Label, Slot};
use crate::language::{Argument, BUILTINS, Comparator, Id, Network, Predicate, Term};
use crate::walk::slot::{
    self, FRAGMENT, FRAGMENT_AT, FRAGMENT_FIELD, IP_AT, L3, PORTS, PROTO, T0, VERSION, VLAN0, VLAN1,
};

/// The predicate of a filter.
pub(super) fn twin(filter: &Term) -> Option<Predicate> {
    let (id, negated) = match filter.builtin.id {
        Id::Ip => (Id::IsIp, false),
        Id::Ip6 => (Id::IsIp6, false),
        Id::Udp => (Id::IsUdp, false),
        Id::Tcp => (Id::IsTcp, false),
        Id::Icmp => (Id::IsIcmp, false),
        Id::Vlan => (Id::HasVlan, false),
        Id::Flow => (Id::IsFlow, false),
        Id::L3Proto => (Id::IsL3Proto, false),
        Id::L4Proto => (Id::IsL4Proto, false),
        Id::Port => (Id::HasPort, false),
        Id::SrcPort => (Id::HasSrcPort, false),
        Id::DstPort => (Id::HasDstPort, false),
        Id::Addr => (Id::HasAddr, false),
        Id::SrcAddr => (Id::HasSrcAddr, false),
        Id::DstAddr => (Id::HasDstAddr, false),
        Id::NoFrag => (Id::IsFrag, true),
        Id::NoMoreFrag => (Id::IsMoreFrag, true),
        Id::VlanIdFilter => (Id::VlanId, false),
        _ => return None,
    };
    let builtin = BUILTINS.iter().find(|builtin| builtin.id == id)?;
    let term = Predicate::Term(Term { builtin, arguments: filter.arguments.clone() });
    Some(if negated { Predicate::Not(Box::new(term)) } else { term })
}

impl Lowering<'_> {
    /// Lowers a predicate: jumps to `yes` or to `no`.
    pub(super) fn predicate(&mut self, predicate: &Predicate, yes: Label, no: Label) {
        match predicate {
            Predicate::Term(term) => self.is(term, yes, no),
            Predicate::Not(inner) => self.predicate(inner, no, yes),
            Predicate::And(left, right) => {
                let next = self.builder.label();
                self.predicate(left, next, no);
                self.builder.place(next);
                self.predicate(right, yes, no);
            }
            Predicate::Or(left, right) => {
                let next = self.builder.label();
                self.predicate(left, yes, next);
                self.builder.place(next);
                self.predicate(right, yes, no);
            }
            Predicate::Xor(left, right) => self.xor(left, right, yes, no),
            Predicate::Compare(comparator, property, number) => self.compare(*comparator, property, *number, yes, no),
        }
    }

    fn xor(&mut self, left: &Predicate, right: &Predicate, yes: Label, no: Label) {
        let was = self.builder.take();
        let [first_yes, first_no, second, second_yes, second_no] = [(); 5].map(|()| self.builder.label());
        self.predicate(left, first_yes, first_no);
        self.builder.place(first_yes);
        self.builder.set(was, 1);
        self.builder.goto(second);
        self.builder.place(first_no);
        self.builder.set(was, 0);
        self.builder.place(second);
        self.predicate(right, second_yes, second_no);
        self.builder.place(second_yes);
        self.branch(was, Condition::Equal, 0, yes, no);
        self.builder.place(second_no);
        self.branch(was, Condition::Equal, 1, yes, no);
        self.builder.free(1);
    }

    fn branch(&mut self, slot: Slot, condition: Condition, number: u64, yes: Label, no: Label) {
        self.builder.jump(slot, condition, number, yes);
        self.builder.goto(no);
    }

    fn is(&mut self, term: &Term, yes: Label, no: Label) {
        use Argument::{Network as Net, Number as N, Numbers};
        use Condition::{Equal, NotEqual};
        match (term.builtin.id, term.arguments.as_slice()) {
            (Id::IsIp, _) => self.branch(VERSION, Equal, 4, yes, no),
            (Id::IsIp6, _) => self.branch(VERSION, Equal, 6, yes, no),
            (Id::IsTcp, _) => self.is_proto(u64::from(TCP), yes, no),
            (Id::IsUdp, _) => self.is_proto(u64::from(UDP), yes, no),
            (Id::IsFlow, _) => {
                let next = self.builder.label();
                self.is_proto(u64::from(TCP), yes, next);
                self.builder.place(next);
                self.is_proto(u64::from(UDP), yes, no);
            }
            (Id::IsIcmp, _) => {
                self.jump_unless_icmp(no);
                self.builder.goto(yes);
            }
            (Id::IsL3Proto, [N(number)]) => self.branch(L3, Equal, *number, yes, no),
            (Id::IsL4Proto, [N(number)]) => self.is_proto(*number, yes, no),
            (Id::IsFrag, _) => self.branch(FRAGMENT, NotEqual, 0, yes, no),
            (Id::IsFirstFrag, _) => self.branch(FRAGMENT, Equal, 1, yes, no),
            (Id::IsMoreFrag, _) => self.branch(FRAGMENT, Equal, 2, yes, no),
            (Id::HasPort, [N(number)]) => {
                self.builder.jump(PORTS, Equal, 0, no);
                self.builder.jump(Source.port(), Equal, *number, yes);
                self.branch(Destination.port(), Equal, *number, yes, no);
            }
            (Id::HasSrcPort | Id::HasDstPort, [N(number)]) => {
                let side = if term.builtin.id == Id::HasSrcPort { Source } else { Destination };
                self.builder.jump(PORTS, Equal, 0, no);
                self.branch(side.port(), Equal, *number, yes, no);
            }
            (Id::HasAddr, [Net(network)]) => {
                let next = self.builder.label();
                self.in_network(*network, Source, yes, next);
                self.builder.place(next);
                self.in_network(*network, Destination, yes, no);
            }
            (Id::HasSrcAddr, [Net(network)]) => self.in_network(*network, Source, yes, no),
            (Id::HasDstAddr, [Net(network)]) => self.in_network(*network, Destination, yes, no),
            (Id::HasVlan, _) => {
                // An id of 0 means that the tag only carries a priority (IEEE 802.1Q, 9.6); slots hold ids plus 1.
                self.builder.jump(VLAN0, Condition::Greater, 1, yes);
                self.branch(VLAN1, Condition::Greater, 1, yes, no);
            }
            (Id::HasVid, [N(number)]) => self.has_vid(&[*number], yes, no),
            (Id::VlanId, [Numbers(numbers)]) => self.has_vid(numbers, yes, no),
            (Id::HasMark, [N(number)]) => self.branch(slot::MARK, Equal, *number, yes, no),
            (Id::HasState, [N(number)]) => self.branch(slot::STATE, Equal, *number, yes, no),
            _ => self.builder.goto(no),
        }
    }

    fn has_vid(&mut self, ids: &[u64], yes: Label, no: Label) {
        for id in ids {
            self.builder.jump(VLAN0, Condition::Equal, id + 1, yes);
            self.builder.jump(VLAN1, Condition::Equal, id + 1, yes);
        }
        self.builder.goto(no);
    }

    fn is_proto(&mut self, proto: u64, yes: Label, no: Label) {
        // Without an IP header the protocol would read as 0, which is hop-by-hop options.
        self.builder.jump(VERSION, Condition::Equal, 0, no);
        self.branch(PROTO, Condition::Equal, proto, yes, no);
    }

    fn jump_unless_icmp(&mut self, no: Label) {
        let [six, after] = [(); 2].map(|()| self.builder.label());
        self.builder.jump(VERSION, Condition::Equal, 6, six);
        self.builder.jump(VERSION, Condition::NotEqual, 4, no);
        self.builder.jump(PROTO, Condition::NotEqual, u64::from(ICMP), no);
        self.builder.goto(after);
        self.builder.place(six);
        self.builder.jump(PROTO, Condition::NotEqual, u64::from(ICMP6), no);
        self.builder.place(after);
    }

    /// Whether the address of one end is in a network. Uses `T0`.
    pub(super) fn in_network(&mut self, network: Network, side: Side, yes: Label, no: Label) {
        let v6_at = side.address6_at();
        let prefix = network.prefix();
        match network.address() {
            IpAddr::V4(address) => {
                self.builder.jump(VERSION, Condition::NotEqual, 4, no);
                self.builder.copy(T0, side.address4());
                self.same_bits(32, address.to_bits().into(), prefix, no);
            }
            IpAddr::V6(address) => {
                self.builder.jump(VERSION, Condition::NotEqual, 6, no);
                let bits = address.to_bits();
                for (offset, half, prefix) in
                    [(0, (bits >> 64) as u64, prefix.min(64)), (8, bits as u64, prefix.saturating_sub(64))]
                {
                    if prefix > 0 {
                        self.builder.load(T0, IP_AT, v6_at + offset, 8, no);
                        self.same_bits(64, half, prefix, no);
                    }
                }
            }
        }
        self.builder.goto(yes);
    }

    /// Jumps to `no` unless the first `prefix` of the lowest `bits` bits of `T0` are those of `value`.
    fn same_bits(&mut self, bits: u8, value: u64, prefix: u8, no: Label) {
        let host_bits = u64::from(bits.saturating_sub(prefix));
        if prefix == 0 {
            return;
        }
        if host_bits > 0 {
            self.builder.alu(Alu::Shr, T0, host_bits);
        }
        self.builder.jump(T0, Condition::NotEqual, value >> host_bits, no);
    }

    fn compare(&mut self, comparator: Comparator, property: &Term, number: u64, yes: Label, no: Label) {
        self.property(property, T0, no);
        let condition = match comparator {
            Comparator::Less => Condition::Less,
            Comparator::LessOrEqual => Condition::LessOrEqual,
            Comparator::Equal => Condition::Equal,
            Comparator::NotEqual => Condition::NotEqual,
            Comparator::Greater => Condition::Greater,
            Comparator::GreaterOrEqual => Condition::GreaterOrEqual,
            Comparator::AnyBit => Condition::AnyBit,
            Comparator::AllBit => {
                self.builder.alu(Alu::And, T0, number);
                Condition::Equal
            }
        };
        self.branch(T0, condition, number, yes, no);
    }

    /// A property's value, or a jump to `absent`.
    pub(super) fn property(&mut self, property: &Term, to: Slot, absent: Label) {
        match property.builtin.id {
            Id::GetMark => self.builder.copy(to, slot::MARK),
            Id::GetState => self.builder.copy(to, slot::STATE),
            Id::IpTos => self.by_version(to, absent, (1, 1), (0, 2)),
            Id::IpTotLen => self.by_version(to, absent, (2, 2), (4, 2)),
            Id::IpTtl => self.by_version(to, absent, (8, 1), (7, 1)),
            Id::IpId => self.identification(to, absent),
            Id::IpFrag => {
                self.builder.jump(VERSION, Condition::Equal, 0, absent);
                self.builder.copy(to, FRAGMENT_FIELD);
            }
            Id::TcpSource => self.port(TCP, Source, to, absent),
            Id::TcpDest => self.port(TCP, Destination, to, absent),
            Id::UdpSource => self.port(UDP, Source, to, absent),
            Id::UdpDest => self.port(UDP, Destination, to, absent),
            Id::TcpHdrlen => {
                self.with_ports(TCP, absent);
                self.transport(to, 12, 1, absent);
                self.builder.alu(Alu::Shr, to, 4);
                self.builder.alu(Alu::Shl, to, 2);
            }
            Id::UdpLen => {
                self.with_ports(UDP, absent);
                self.transport(to, 4, 2, absent);
            }
            Id::IcmpType | Id::IcmpCode => {
                self.jump_unless_icmp(absent);
                self.builder.jump(FRAGMENT, Condition::Equal, 2, absent);
                self.transport(to, u16::from(property.builtin.id == Id::IcmpCode), 1, absent);
            }
            _ => self.builder.goto(absent),
        }
        if property.builtin.id == Id::IpTos {
            self.traffic_class(to);
        }
        if property.builtin.id == Id::IpTotLen {
            let four = self.builder.label();
            self.builder.jump(VERSION, Condition::Equal, 4, four);
            self.builder.alu(Alu::Add, to, 40);
            self.builder.place(four);
        }
    }

    /// A field of the IP header: its offset and size in each version.
    fn by_version(&mut self, to: Slot, absent: Label, v4: (u16, u8), v6: (u16, u8)) {
        let [six, after] = [(); 2].map(|()| self.builder.label());
        self.builder.jump(VERSION, Condition::Equal, 6, six);
        self.builder.jump(VERSION, Condition::NotEqual, 4, absent);
        self.builder.load(to, IP_AT, v4.0, v4.1, absent);
        self.builder.goto(after);
        self.builder.place(six);
        self.builder.load(to, IP_AT, v6.0, v6.1, absent);
        self.builder.place(after);
    }

    /// IPv6's first two bytes: version, traffic class, four bits of the flow label.
    fn traffic_class(&mut self, to: Slot) {
        let four = self.builder.label();
        self.builder.jump(VERSION, Condition::Equal, 4, four);
        self.builder.alu(Alu::Shr, to, 4);
        self.builder.alu(Alu::And, to, 0xff);
        self.builder.place(four);
    }

    /// Identification: of the IPv4 header, or of the IPv6 fragment header.
    pub(super) fn identification(&mut self, to: Slot, absent: Label) {
        let [six, after] = [(); 2].map(|()| self.builder.label());
        self.builder.jump(VERSION, Condition::Equal, 6, six);
        self.builder.jump(VERSION, Condition::NotEqual, 4, absent);
        self.builder.load(to, IP_AT, 4, 2, absent);
        self.builder.goto(after);
        self.builder.place(six);
        self.builder.jump(FRAGMENT_AT, Condition::Equal, 0, absent);
        self.builder.load(to, FRAGMENT_AT, 4, 4, absent);
        self.builder.place(after);
    }

    fn with_ports(&mut self, proto: u8, absent: Label) {
        self.builder.jump(PORTS, Condition::Equal, 0, absent);
        self.builder.jump(PROTO, Condition::NotEqual, u64::from(proto), absent);
    }

    fn port(&mut self, proto: u8, side: Side, to: Slot, absent: Label) {
        self.with_ports(proto, absent);
        self.builder.copy(to, side.port());
    }
}
