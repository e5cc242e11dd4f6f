//! Headers that carry IP again. A tunnel is entered when its header is right; where there is no IP packet inside, the slots
//! keep speaking of the packet that carries it.

use super::link::{self, IPV4, IPV6};
use super::slot::{AT, DESTINATION_PORT, ETHER_TYPE, FRAGMENT, L4_AT, PROTO, SOURCE_PORT, T0, T1, T2};
use crate::ir::{Alu, Builder, Condition, Label};
use crate::settings::Settings;
use tidewire_wire::ip_protocol::{GRE, IN_IPV4, IN_IPV6, UDP};

/// Transparent Ethernet bridging.
const BRIDGED: u64 = 0x6558;
/// ERSPAN types I and II, and type III.
const ERSPAN: u64 = 0x88be;
const ERSPAN3: u64 = 0x22eb;
/// GRE's flags: checksum, routing, key, sequence number; version.
const GRE_CHECKSUM: u64 = 0x8000;
const GRE_KEY: u64 = 0x2000;
const GRE_SEQUENCE: u64 = 0x1000;
const GRE_ROUTING: u64 = 0x4000;
const GRE_VERSION: u64 = 0x0007;
/// Version 1 with key and sequence number, and perhaps an acknowledgment: PPTP (RFC 2637); with a key alone: EoIP (MikroTik).
const GRE_PPTP: u64 = 0x3001;
const GRE_ACKNOWLEDGMENT: u64 = 0x0080;
const GRE_EOIP: u64 = 0x2001;
const EOIP: u64 = 0x6400;
/// Redirects to a web cache: IPv4, behind 4 bytes in version 2.
const WCCP: u64 = 0x883e;
/// GTP-U extension headers walked over.
const GTPU_EXTENSIONS: usize = 4;

/// Leaves `AT` and `ETHER_TYPE` of what the tunnel carries; jumps to `done` where there is no tunnel.
pub(super) fn emit(builder: &mut Builder, settings: &Settings, done: Label) {
    let [gre, udp, ipv4, ipv6, ethernet, network] = [(); 6].map(|()| builder.label());
    builder.jump(FRAGMENT, Condition::NotEqual, 0, done);
    builder.copy(AT, L4_AT);
    builder.jump(PROTO, Condition::Equal, u64::from(UDP), udp);
    builder.jump(PROTO, Condition::Equal, u64::from(GRE), gre);
    builder.jump(PROTO, Condition::Equal, u64::from(IN_IPV4), ipv4);
    builder.jump(PROTO, Condition::Equal, u64::from(IN_IPV6), ipv6);
    builder.goto(done);

    builder.place(ipv4);
    builder.set(ETHER_TYPE, IPV4);
    builder.goto(network);
    builder.place(ipv6);
    builder.set(ETHER_TYPE, IPV6);
    builder.goto(network);

    builder.place(gre);
    over_gre(builder, ethernet, network, done);

    builder.place(udp);
    over_udp(builder, settings, ethernet, network, done);

    builder.place(ethernet);
    link::inside(builder, done);
    builder.place(network);
}

/// GRE version 0 (RFC 2784, RFC 2890) at `AT`.
fn over_gre(builder: &mut Builder, ethernet: Label, network: Label, done: Label) {
    let [no_checksum, no_key, no_sequence, version1, erspan1, erspan2, erspan3, bare] =
        [(); 8].map(|()| builder.label());
    builder.load(T1, AT, 0, 2, done);
    builder.load(ETHER_TYPE, AT, 2, 2, done);
    builder.jump(T1, Condition::AnyBit, GRE_VERSION, version1);
    builder.jump(T1, Condition::AnyBit, GRE_ROUTING, done);
    builder.alu(Alu::Add, AT, 4);
    for (flag, after) in [(GRE_CHECKSUM, no_checksum), (GRE_KEY, no_key), (GRE_SEQUENCE, no_sequence)] {
        let present = builder.label();
        builder.jump(T1, Condition::AnyBit, flag, present);
        builder.goto(after);
        builder.place(present);
        builder.alu(Alu::Add, AT, 4);
        builder.place(after);
    }
    builder.bound(AT, done);
    builder.jump(ETHER_TYPE, Condition::Equal, BRIDGED, ethernet);
    builder.jump(ETHER_TYPE, Condition::Equal, ERSPAN, erspan1);
    builder.jump(ETHER_TYPE, Condition::Equal, ERSPAN3, erspan3);
    builder.jump(ETHER_TYPE, Condition::NotEqual, WCCP, network);
    builder.set(ETHER_TYPE, IPV4);
    builder.load(T0, AT, 0, 1, done);
    builder.alu(Alu::Shr, T0, 4);
    builder.jump(T0, Condition::Equal, 4, network);
    builder.alu(Alu::Add, AT, 4);
    builder.goto(network);

    builder.place(version1);
    over_gre1(builder, ethernet, bare, done);
    builder.place(bare);
    builder.bound(AT, done);
    builder.goto(network);

    builder.place(erspan1);
    builder.jump(T1, Condition::AnyBit, GRE_SEQUENCE, erspan2);
    builder.goto(ethernet);
    builder.place(erspan2);
    builder.load(T0, AT, 0, 1, done);
    builder.alu(Alu::Shr, T0, 4);
    builder.jump(T0, Condition::NotEqual, 1, done);
    builder.alu(Alu::Add, AT, 8);
    builder.goto(ethernet);

    builder.place(erspan3);
    builder.load(T0, AT, 0, 1, done);
    builder.alu(Alu::Shr, T0, 4);
    builder.jump(T0, Condition::NotEqual, 2, done);
    builder.load(T0, AT, 10, 1, done);
    builder.load(T1, AT, 11, 1, done);
    builder.alu(Alu::Add, AT, 12);
    let short = builder.label();
    builder.alu(Alu::And, T1, 1);
    builder.jump(T1, Condition::Equal, 0, short);
    builder.alu(Alu::Add, AT, 8);
    builder.place(short);
    builder.bound(AT, done);
    // The frame type: 0 is Ethernet, 2 is IP.
    builder.alu(Alu::Shr, T0, 2);
    builder.alu(Alu::And, T0, 31);
    builder.jump(T0, Condition::Equal, 0, ethernet);
    builder.jump(T0, Condition::NotEqual, 2, done);
    link::by_nibble(builder, done);
    builder.goto(network);
}

/// GRE version 1 at `AT`, flags in `T1` and protocol in `ETHER_TYPE`: PPTP continues at `ppp`, with the type of PPP.
fn over_gre1(builder: &mut Builder, ethernet: Label, ppp: Label, done: Label) {
    let eoip = builder.label();
    builder.jump(ETHER_TYPE, Condition::Equal, EOIP, eoip);
    builder.jump(ETHER_TYPE, Condition::NotEqual, link::PPP, done);
    builder.copy(T0, T1);
    builder.alu(Alu::And, T0, 0xf007);
    builder.jump(T0, Condition::NotEqual, GRE_PPTP, done);
    builder.alu(Alu::Add, AT, 12);
    builder.alu(Alu::And, T1, GRE_ACKNOWLEDGMENT);
    builder.jump(T1, Condition::Equal, 0, ppp);
    builder.alu(Alu::Add, AT, 4);
    builder.goto(ppp);
    builder.place(eoip);
    builder.jump(T1, Condition::NotEqual, GRE_EOIP, done);
    builder.alu(Alu::Add, AT, 8);
    builder.goto(ethernet);
}

/// UDP at `AT`, to or from a port of a tunnel.
fn over_udp(builder: &mut Builder, settings: &Settings, ethernet: Label, network: Label, done: Label) {
    let [vxlan, geneve, gtpu] = [(); 3].map(|()| builder.label());
    let ports = &settings.wire;
    for port in ports.vxlan_ports {
        builder.jump(DESTINATION_PORT, Condition::Equal, u64::from(port), vxlan);
    }
    builder.jump(DESTINATION_PORT, Condition::Equal, u64::from(ports.geneve_port), geneve);
    builder.jump(DESTINATION_PORT, Condition::Equal, u64::from(ports.gtpu_port), gtpu);
    builder.jump(SOURCE_PORT, Condition::Equal, u64::from(ports.gtpu_port), gtpu);
    builder.goto(done);

    // RFC 7348, 5: the flag that the network identifier is valid; 8 bytes, then Ethernet.
    builder.place(vxlan);
    builder.load(T0, AT, 8, 1, done);
    builder.alu(Alu::And, T0, 8);
    builder.jump(T0, Condition::Equal, 0, done);
    builder.alu(Alu::Add, AT, 16);
    builder.goto(ethernet);

    // RFC 8926, 3.4: version 0, options in units of 4 bytes.
    builder.place(geneve);
    builder.load(T0, AT, 8, 1, done);
    builder.jump(T0, Condition::GreaterOrEqual, 0x40, done);
    builder.load(ETHER_TYPE, AT, 10, 2, done);
    builder.alu(Alu::Shl, T0, 2);
    builder.alu(Alu::Add, AT, 16);
    builder.alu_slot(Alu::Add, AT, T0);
    builder.bound(AT, done);
    builder.jump(ETHER_TYPE, Condition::Equal, BRIDGED, ethernet);
    builder.goto(network);

    builder.place(gtpu);
    over_gtpu(builder, done);
    builder.goto(network);
}

/// GTP-U (3GPP TS 29.281, 5): version 1 and a G-PDU; optional fields and extension headers.
fn over_gtpu(builder: &mut Builder, done: Label) {
    let (inner, optional) = (builder.label(), builder.label());
    builder.load(T0, AT, 8, 1, done);
    builder.copy(T1, T0);
    builder.alu(Alu::And, T1, 0xf0);
    builder.jump(T1, Condition::NotEqual, 0x30, done);
    builder.load(T1, AT, 9, 1, done);
    builder.jump(T1, Condition::NotEqual, 255, done);
    builder.alu(Alu::Add, AT, 16);
    builder.jump(T0, Condition::AnyBit, 7, optional);
    builder.goto(inner);
    builder.place(optional);
    builder.load(T1, AT, 3, 1, done);
    builder.alu(Alu::Add, AT, 4);
    builder.alu(Alu::And, T0, 4);
    builder.jump(T0, Condition::Equal, 0, inner);
    for _ in 0..GTPU_EXTENSIONS {
        builder.jump(T1, Condition::Equal, 0, inner);
        // Length in units of 4 bytes; the last byte names the next.
        builder.load(T2, AT, 0, 1, done);
        builder.jump(T2, Condition::Equal, 0, done);
        builder.alu(Alu::Shl, T2, 2);
        builder.alu_slot(Alu::Add, AT, T2);
        builder.bound(AT, done);
        builder.copy(T2, AT);
        builder.alu(Alu::Sub, T2, 1);
        builder.bound(T2, done);
        builder.load(T1, T2, 0, 1, done);
    }
    builder.jump(T1, Condition::NotEqual, 0, done);
    builder.place(inner);
    link::by_nibble(builder, done);
}
