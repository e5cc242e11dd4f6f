//! The names of the language: types and meanings.
//!
//! The names are those of PFQ's language, which the pcap fan-out paper uses. Their meaning here is stated beside each.

/// Meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuiltinKind {
    /// Takes a packet; passes it on or drops it, and may choose its worker.
    Function,
    /// A condition on packets.
    Predicate,
    /// A number that a packet may have.
    Property,
}

impl BuiltinKind {
    /// The name used in errors.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Function => "a function",
            Self::Predicate => "a predicate",
            Self::Property => "a property",
        }
    }
}

/// The group of a name in the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Group {
    /// Sets the destination.
    Steering,
    /// Passes or drops.
    Filter,
    /// A condition.
    Predicate,
    /// A number of the packet.
    Property,
    /// Compares a property.
    Comparator,
    /// Combines others.
    Combinator,
    /// Chooses by a predicate.
    Conditional,
    /// Changes state.
    Effect,
}

/// Type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parameter {
    /// A number up to this one.
    Number(u64),
    /// A number from 1 to this one.
    Positive(u64),
    /// A list of numbers, each up to this one.
    Numbers(u64),
    /// A network (CIDR), or an address for a network of one.
    Network,
    /// An address.
    Address,
    /// A MAC.
    Mac,
    /// One of [`key`]'s names, or a list of them.
    Key,
    /// A function.
    Function,
    /// A predicate.
    Predicate,
    /// A property.
    Property,
}

/// Counters that `inc` and `dec` can name.
pub const COUNTERS: usize = 64;
/// Steps `sample` in one program, each with its own count.
pub const SAMPLES_MAX: usize = 16;
/// Classes (the fan-out paper's groups have as many).
pub const CLASSES: u64 = 64;
/// Workers that a program can name.
pub const WORKERS_MAX: u64 = 1 << 16;
/// Greatest offset of a field, in bytes: what the fast path of a driver surely has in one piece.
pub const OFFSET_MAX: u64 = 1900;
/// Greatest length of a field, in bytes.
pub const FIELD_BYTES_MAX: u64 = 8;
/// VLAN ids have 12 bits.
pub const VLAN_ID_MAX: u64 = 4095;

/// The fields of `steer_key`, as PFQ numbers them.
pub mod key {
    /// EtherType behind the tags.
    pub const ETH_TYPE: u16 = 1 << 0;
    /// Source MAC.
    pub const ETH_SRC: u16 = 1 << 1;
    /// Destination MAC.
    pub const ETH_DST: u16 = 1 << 2;
    /// Source address.
    pub const IP_SRC: u16 = 1 << 3;
    /// Destination address.
    pub const IP_DST: u16 = 1 << 4;
    /// IP protocol.
    pub const IP_PROTO: u16 = 1 << 5;
    /// Congestion bits of the type of service or traffic class.
    pub const IP_ECN: u16 = 1 << 6;
    /// The other bits of the type of service or traffic class.
    pub const IP_DSCP: u16 = 1 << 7;
    /// Source port.
    pub const SRC_PORT: u16 = 1 << 9;
    /// Destination port.
    pub const DST_PORT: u16 = 1 << 10;
    /// ICMP or ICMPv6 type.
    pub const ICMP_TYPE: u16 = 1 << 11;
    /// ICMP or ICMPv6 code.
    pub const ICMP_CODE: u16 = 1 << 12;
    /// Addresses and protocol.
    pub const THREE_TUPLE: u16 = IP_SRC | IP_DST | IP_PROTO;
    /// Addresses, ports and protocol.
    pub const FIVE_TUPLE: u16 = THREE_TUPLE | SRC_PORT | DST_PORT;

    /// Names and fields, in print order.
    pub const NAMES: &[(&str, u16)] = &[
        ("key_5tuple", FIVE_TUPLE),
        ("key_3tuple", THREE_TUPLE),
        ("key_eth_type", ETH_TYPE),
        ("key_eth_src", ETH_SRC),
        ("key_eth_dst", ETH_DST),
        ("key_ip_src", IP_SRC),
        ("key_ip_dst", IP_DST),
        ("key_ip_proto", IP_PROTO),
        ("key_ip_ecn", IP_ECN),
        ("key_ip_dscp", IP_DSCP),
        ("key_src_port", SRC_PORT),
        ("key_dst_port", DST_PORT),
        ("key_icmp_type", ICMP_TYPE),
        ("key_icmp_code", ICMP_CODE),
    ];
}

/// A name of the language.
#[derive(Debug)]
#[non_exhaustive]
pub struct Builtin {
    /// The name's id, for `match`.
    pub id: Id,
    /// The name as written.
    pub name: &'static str,
    /// The kind of term that it makes with its arguments.
    pub kind: BuiltinKind,
    /// The group in the documentation.
    pub group: Group,
    /// Its arguments.
    pub parameters: &'static [Parameter],
    /// The meaning, and what the name reads of the packet.
    pub meaning: &'static str,
}

impl PartialEq for Builtin {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}
impl Eq for Builtin {}

impl Builtin {
    /// The entry of a name; `None` if the language does not have it.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        BUILTINS.iter().find(|builtin| builtin.name == name)
    }
}

macro_rules! builtins {
    ($($group:ident $kind:ident { $($id:ident $name:literal [$($parameter:expr),*] $meaning:literal;)* })*) => {
        /// The names of the language, for `match`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Id { $($(#[doc = $meaning] $id,)*)* }

        /// Every name of the language.
        pub const BUILTINS: &[Builtin] = &[$($(Builtin {
            id: Id::$id,
            name: $name,
            kind: BuiltinKind::$kind,
            group: Group::$group,
            parameters: &[$($parameter),*],
            meaning: $meaning,
        },)*)*];
    };
}

builtins! {
    Steering Function {
        SteerRrobin "steer_rrobin" [] "One worker after the other, packet by packet: a count of the packets that reached this.";
        SteerRss "steer_rss" [] "By the hash that the card or driver computed; dropped where it computed none.";
        SteerRxQueue "steer_rx_queue" [] "By the number of the receive queue; dropped where it is not known.";
        SteerTo "steer_to" [Parameter::Number(WORKERS_MAX - 1)] "To this worker, counted from 0.";
        SteerLink "steer_link" [] "By both MACs, symmetric; dropped where the frame has none.";
        SteerLocalLink "steer_local_link" [Parameter::Mac] "By the MAC that is not the gateway's, which is the argument; between two local hosts to both their workers; frames to a group by their source.";
        SteerVlan "steer_vlan" [] "By the VLAN id (the outermost that is not 0); dropped where there is none.";
        SteerP2p "steer_p2p" [] "By both IP addresses, symmetric; dropped where the packet is not IP.";
        SteerLocalIp "steer_local_ip" [Parameter::Network] "By the IP address that lies in the network; to both workers where both do; dropped where none does.";
        SteerLocalNet "steer_local_net" [Parameter::Address, Parameter::Number(128), Parameter::Number(128)] "Of the network of this address and prefix, by the subnetwork (second prefix) of the address that lies in it; to both workers where both do; dropped where none does.";
        SteerFlow "steer_flow" [] "By both addresses, both ports and the protocol, symmetric; by the addresses where there are no ports; dropped where the packet is not IP.";
        SteerField "steer_field" [Parameter::Number(OFFSET_MAX), Parameter::Positive(FIELD_BYTES_MAX)] "By the bytes at this offset, of this number; dropped where the frame is shorter. The outermost VLAN tag does not count.";
        SteerFieldSymmetric "steer_field_symmetric" [Parameter::Number(OFFSET_MAX), Parameter::Number(OFFSET_MAX), Parameter::Positive(FIELD_BYTES_MAX)] "By two fields of the same length, the same with both exchanged; dropped where the frame is shorter.";
        DoubleSteerMac "double_steer_mac" [] "To the worker of the source MAC and to that of the destination MAC.";
        DoubleSteerIp "double_steer_ip" [] "To the worker of the source address and to that of the destination address.";
        DoubleSteerField "double_steer_field" [Parameter::Number(OFFSET_MAX), Parameter::Number(OFFSET_MAX), Parameter::Positive(FIELD_BYTES_MAX)] "To the worker of the first field and to that of the second.";
        SteerKey "steer_key" [Parameter::Key] "By the fields of a key, symmetric where both ends of a kind are among them; dropped where one is absent; fragments by their addresses where ports are among them.";
    }
    Filter Function {
        Ip "ip" [] "Passes IPv4.";
        Ip6 "ip6" [] "Passes IPv6.";
        Udp "udp" [] "Passes UDP, fragments included.";
        Tcp "tcp" [] "Passes TCP, fragments included.";
        Icmp "icmp" [] "Passes ICMP and ICMPv6.";
        Vlan "vlan" [] "Passes what has a VLAN id.";
        Flow "flow" [] "Passes TCP and UDP.";
        L3Proto "l3_proto" [Parameter::Number(0xffff)] "Passes this EtherType (that of the innermost IP packet, or what stands behind the tags).";
        L4Proto "l4_proto" [Parameter::Number(0xff)] "Passes this IP protocol (IPv6: the last header reached).";
        Port "port" [Parameter::Number(0xffff)] "Passes what has this port on either side.";
        SrcPort "src_port" [Parameter::Number(0xffff)] "Passes this source port.";
        DstPort "dst_port" [Parameter::Number(0xffff)] "Passes this destination port.";
        Addr "addr" [Parameter::Network] "Passes what has an address of this network on either side.";
        SrcAddr "src_addr" [Parameter::Network] "Passes a source address of this network.";
        DstAddr "dst_addr" [Parameter::Network] "Passes a destination address of this network.";
        NoFrag "no_frag" [] "Drops fragments.";
        NoMoreFrag "no_more_frag" [] "Drops fragments but the first.";
        VlanIdFilter "vlan_id_filter" [Parameter::Numbers(VLAN_ID_MAX)] "Passes what has one of these VLAN ids in either of its two outermost tags.";
        Filter "filter" [Parameter::Predicate] "Passes what the predicate is true of.";
        Unit "unit" [] "Passes everything.";
        Drop "drop" [] "Drops everything.";
    }
    Predicate Predicate {
        IsIp "is_ip" [] "IPv4.";
        IsIp6 "is_ip6" [] "IPv6.";
        IsUdp "is_udp" [] "UDP, fragments included.";
        IsTcp "is_tcp" [] "TCP, fragments included.";
        IsIcmp "is_icmp" [] "ICMP or ICMPv6.";
        IsFlow "is_flow" [] "TCP or UDP.";
        IsL3Proto "is_l3_proto" [Parameter::Number(0xffff)] "Of this EtherType.";
        IsL4Proto "is_l4_proto" [Parameter::Number(0xff)] "Of this IP protocol.";
        IsFrag "is_frag" [] "A fragment.";
        IsFirstFrag "is_first_frag" [] "A datagram's first fragment.";
        IsMoreFrag "is_more_frag" [] "A fragment that is not the first.";
        HasPort "has_port" [Parameter::Number(0xffff)] "This port on either side; false where there are no ports.";
        HasSrcPort "has_src_port" [Parameter::Number(0xffff)] "This source port.";
        HasDstPort "has_dst_port" [Parameter::Number(0xffff)] "This destination port.";
        HasAddr "has_addr" [Parameter::Network] "An address of this network on either side.";
        HasSrcAddr "has_src_addr" [Parameter::Network] "A source address of this network.";
        HasDstAddr "has_dst_addr" [Parameter::Network] "A destination address of this network.";
        HasVlan "has_vlan" [] "A VLAN id that is not 0.";
        HasVid "has_vid" [Parameter::Number(VLAN_ID_MAX)] "This VLAN id in either of the two outermost tags.";
        VlanId "vlan_id" [Parameter::Numbers(VLAN_ID_MAX)] "One of these VLAN ids.";
        HasMark "has_mark" [Parameter::Number(0xffff_ffff)] "This mark, set by `mark`.";
        HasState "has_state" [Parameter::Number(0xffff_ffff)] "This state, set by `put_state`.";
    }
    Property Property {
        IpTos "ip_tos" [] "Type of service, or traffic class.";
        IpTotLen "ip_tot_len" [] "Total length as stated, in bytes; IPv6: 40 and the payload length.";
        IpId "ip_id" [] "Identification; IPv6: only where there is a fragment header.";
        IpFrag "ip_frag" [] "IPv4's 16 bits of flags and offset; IPv6: the same bits made of the fragment header, 0 without one.";
        IpTtl "ip_ttl" [] "Time to live, or hop limit.";
        TcpSource "tcp_source" [] "TCP's source port.";
        TcpDest "tcp_dest" [] "TCP's destination port.";
        TcpHdrlen "tcp_hdrlen" [] "TCP's header length, in bytes.";
        UdpSource "udp_source" [] "UDP's source port.";
        UdpDest "udp_dest" [] "UDP's destination port.";
        UdpLen "udp_len" [] "UDP's length field, in bytes.";
        IcmpType "icmp_type" [] "Type of ICMP or ICMPv6.";
        IcmpCode "icmp_code" [] "Code of ICMP or ICMPv6.";
        GetMark "get_mark" [] "The mark; 0 until `mark` set it.";
        GetState "get_state" [] "The state; 0 until `put_state` set it.";
    }
    Comparator Predicate {
        AnyBit "any_bit" [Parameter::Property, Parameter::Number(u64::MAX)] "At least one of these bits is set in the property.";
        AllBit "all_bit" [Parameter::Property, Parameter::Number(u64::MAX)] "All of these bits are set in the property.";
    }
    Combinator Predicate {
        Not "not" [Parameter::Predicate] "True where the predicate is false.";
    }
    Combinator Function {
        Inv "inv" [Parameter::Function] "Passes what the function drops, and drops what it passes; worker as before it.";
        Par "par" [Parameter::Function, Parameter::Function] "The first function, or where that drops, the second, which begins with the worker as before the first.";
    }
    Conditional Function {
        When "when" [Parameter::Predicate, Parameter::Function] "The function where the predicate is true, else passes.";
        Unless "unless" [Parameter::Predicate, Parameter::Function] "The function where the predicate is false, else passes.";
        Conditional "conditional" [Parameter::Predicate, Parameter::Function, Parameter::Function] "The first function where the predicate is true, else the second.";
    }
    Effect Function {
        Class "class" [Parameter::Number(CLASSES - 1)] "Puts the packet into this class.";
        Mark "mark" [Parameter::Number(0xffff_ffff)] "Marks the packet.";
        PutState "put_state" [Parameter::Number(0xffff_ffff)] "Sets the state of this evaluation.";
        Inc "inc" [Parameter::Number(COUNTERS as u64 - 1)] "Adds one to this counter.";
        Dec "dec" [Parameter::Number(COUNTERS as u64 - 1)] "Takes one from this counter.";
        Sample "sample" [Parameter::Positive(0xffff_ffff)] "Passes the first of every so many packets that reach it, and drops the others.";
    }
}

/// Names of PFQ and of the paper for the same things.
pub(crate) const ALIASES: &[(&str, &str)] = &[("classify", "class")];

/// Names of PFQ that have no meaning without packet forwarding, and what to use instead.
pub(crate) const ABSENT: &[(&str, &str)] = &[
    ("broadcast", "no engine delivers a packet to every worker; steer it to one of them"),
    ("kernel", "run with --host: the machine's own traffic then reaches its stack untouched"),
    ("detour", "run with --host: the machine's own traffic then reaches its stack untouched"),
    ("forward", "programs choose workers and do not forward"),
    ("bridge", "programs choose workers and do not forward"),
    ("log_msg", "count with inc and read the counter"),
    ("log_packet", "count with inc and read the counter"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_are_unique_and_explained() {
        for (index, builtin) in BUILTINS.iter().enumerate() {
            assert!(builtin.meaning.ends_with('.'), "{}", builtin.name);
            for other in &BUILTINS[index + 1..] {
                assert_ne!(builtin.name, other.name);
            }
        }
        for (alias, name) in ALIASES {
            assert!(Builtin::named(alias).is_none() && Builtin::named(name).is_some());
        }
    }
}
