//! IP headers and ports. A header counts once it is captured with its right version; then the slots describe it.

use super::bounds::{EXTENSIONS, jump_any};
use super::link::{IPV4, IPV6};
use super::slot::{
    AT, DESTINATION_PORT, DESTINATION4, ETHER_TYPE, FRAGMENT, FRAGMENT_AT, FRAGMENT_FIELD, IP_AT, L3, L4_AT, PORTS,
    PROTO, SOURCE_PORT, SOURCE4, T0, T1, T2, T3, T4, T5, T6, VERSION,
};
use crate::ir::{Alu, Builder, Condition, Label};
use tidewire_wire::ip_protocol::{self, AH, HOP_BY_HOP, NO_NEXT_HEADER, SCTP, TCP, UDP, UDP_LITE};

/// Extension headers of one form: length in units of 8 bytes beyond the first.
const EXTENSION_HEADERS: [u8; 2] = [ip_protocol::ROUTING, ip_protocol::DESTINATION_OPTIONS];
/// Of the same form, but complete messages if nothing follows.
const MESSAGES: [u8; 3] = [ip_protocol::MOBILITY, ip_protocol::HIP, ip_protocol::SHIM6];

/// The IP packet at `AT`, of the version in `ETHER_TYPE`. Jumps to `done` if there is none.
pub(super) fn emit(builder: &mut Builder, done: Label) {
    let (ipv4, after) = (builder.label(), builder.label());
    builder.jump(ETHER_TYPE, Condition::Equal, IPV4, ipv4);
    builder.jump(ETHER_TYPE, Condition::NotEqual, IPV6, done);
    v6(builder, done);
    builder.goto(after);
    builder.place(ipv4);
    v4(builder, done);
    builder.place(after);
}

/// Common to both versions: protocol in `T2`, transport at `T3`, fragment field in `T1`, its header at `T5`.
fn found(builder: &mut Builder, version: u64, ether_type: u64) {
    builder.set(VERSION, version);
    builder.set(L3, ether_type);
    builder.copy(IP_AT, AT);
    builder.copy(PROTO, T2);
    builder.copy(L4_AT, T3);
    builder.copy(FRAGMENT_FIELD, T1);
    builder.copy(FRAGMENT_AT, T5);
    builder.set(FRAGMENT, 0);
    builder.set(PORTS, 0);
    let (first, whole) = (builder.label(), builder.label());
    builder.alu(Alu::And, T1, 0x3fff);
    builder.jump(T1, Condition::Equal, 0, whole);
    builder.alu(Alu::And, T1, 0x1fff);
    builder.jump(T1, Condition::Equal, 0, first);
    builder.set(FRAGMENT, 2);
    builder.goto(whole);
    builder.place(first);
    builder.set(FRAGMENT, 1);
    builder.place(whole);
}

fn v4(builder: &mut Builder, done: Label) {
    // Few loads of many bytes: each is a helper call in a socket's program.
    builder.load(T0, AT, 0, 8, done);
    builder.copy(T1, T0);
    builder.alu(Alu::And, T1, 0xffff);
    builder.alu(Alu::Shr, T0, 56);
    builder.copy(T2, T0);
    builder.alu(Alu::Shr, T2, 4);
    builder.jump(T2, Condition::NotEqual, 4, done);
    builder.alu(Alu::And, T0, 15);
    builder.jump(T0, Condition::Less, 5, done);
    builder.alu(Alu::Shl, T0, 2);
    builder.load(T2, AT, 9, 1, done);
    builder.load(T5, AT, 12, 8, done);
    builder.copy(T3, AT);
    builder.alu_slot(Alu::Add, T3, T0);
    // The whole header must be captured: its last byte is.
    let no_options = builder.label();
    builder.jump(T0, Condition::Equal, 20, no_options);
    builder.copy(T4, T3);
    builder.alu(Alu::Sub, T4, 1);
    builder.bound(T4, done);
    builder.load(T4, T4, 0, 1, done);
    builder.place(no_options);
    builder.bound(T3, done);
    // An authentication header protects what is behind it and does not encrypt it (RFC 4302).
    let plain = builder.label();
    builder.jump(T2, Condition::NotEqual, u64::from(AH), plain);
    builder.jump(T1, Condition::AnyBit, 0x3fff, plain);
    authentication(builder, done);
    builder.place(plain);
    builder.copy(SOURCE4, T5);
    builder.alu(Alu::Shr, SOURCE4, 32);
    builder.copy(DESTINATION4, T5);
    builder.alu(Alu::And, DESTINATION4, 0xffff_ffff);
    builder.set(T5, 0);
    found(builder, 4, IPV4);
}

/// Skips the authentication header at `T3`: "length in 4-octet units, minus 2".
fn authentication(builder: &mut Builder, done: Label) {
    builder.load(T2, T3, 0, 1, done);
    builder.load(T4, T3, 1, 1, done);
    builder.alu(Alu::Add, T4, 2);
    builder.alu(Alu::Shl, T4, 2);
    builder.alu_slot(Alu::Add, T3, T4);
    builder.bound(T3, done);
}

fn v6(builder: &mut Builder, done: Label) {
    let end = builder.label();
    builder.load(T0, AT, 0, 8, done);
    builder.copy(T2, T0);
    builder.alu(Alu::Shr, T0, 60);
    builder.jump(T0, Condition::NotEqual, 6, done);
    builder.alu(Alu::Shr, T2, 8);
    builder.alu(Alu::And, T2, 0xff);
    builder.load(T4, AT, 39, 1, done);
    builder.set(T1, 0);
    builder.set(T5, 0);
    builder.copy(T3, AT);
    builder.alu(Alu::Add, T3, 40);
    builder.bound(T3, done);
    for index in 0..EXTENSIONS {
        extension(builder, index, end, done);
    }
    builder.place(end);
    found(builder, 6, IPV6);
}

/// Skips one extension header at `T3` of the kind `T2`; jumps to `end` if it is not one.
fn extension(builder: &mut Builder, index: usize, end: Label, done: Label) {
    let [common, message, fragment, auth, next] = [(); 5].map(|()| builder.label());
    // Nearly every packet has none: one jump decides.
    jump_any(builder, T2, &[TCP, UDP], end);
    jump_any(builder, T2, &EXTENSION_HEADERS, common);
    // Hop-by-hop options must be first (RFC 8200, 4.1).
    builder.jump(T2, Condition::Equal, u64::from(HOP_BY_HOP), if index == 0 { common } else { done });
    builder.jump(T2, Condition::Equal, u64::from(ip_protocol::FRAGMENT), fragment);
    builder.jump(T2, Condition::Equal, u64::from(AH), auth);
    jump_any(builder, T2, &MESSAGES, message);
    builder.goto(end);

    builder.place(message);
    builder.load(T6, T3, 0, 1, done);
    builder.jump(T6, Condition::Equal, u64::from(NO_NEXT_HEADER), end);

    builder.place(common);
    builder.load(T2, T3, 0, 1, done);
    builder.load(T4, T3, 1, 1, done);
    builder.alu(Alu::Add, T4, 1);
    builder.alu(Alu::Shl, T4, 3);
    builder.alu_slot(Alu::Add, T3, T4);
    builder.bound(T3, done);
    builder.goto(next);

    builder.place(auth);
    authentication(builder, done);
    builder.goto(next);

    builder.place(fragment);
    builder.load(T6, T3, 2, 2, done);
    builder.load(T2, T3, 0, 1, done);
    builder.load(T4, T3, 7, 1, done);
    builder.copy(T5, T3);
    builder.alu(Alu::Add, T3, 8);
    // In IPv4's form: the offset in units of 8 bytes, and more fragments in bit 13. Both 0: an atomic fragment (RFC
    // 6946).
    builder.copy(T1, T6);
    builder.alu(Alu::Shr, T1, 3);
    builder.alu(Alu::And, T6, 1);
    builder.alu(Alu::Shl, T6, 13);
    builder.alu_slot(Alu::Or, T1, T6);
    builder.jump(T1, Condition::NotEqual, 0, end);
    builder.place(next);
}

/// Loads the ports, if protocol and place have them. A fragment that is not the first ends the walk.
pub(super) fn ports(builder: &mut Builder, done: Label) {
    let (with, without) = (builder.label(), builder.label());
    builder.jump(FRAGMENT, Condition::Equal, 2, done);
    jump_any(builder, PROTO, &[TCP, UDP, SCTP, UDP_LITE], with);
    builder.goto(without);
    builder.place(with);
    builder.load(SOURCE_PORT, L4_AT, 0, 4, done);
    builder.copy(DESTINATION_PORT, SOURCE_PORT);
    builder.alu(Alu::Shr, SOURCE_PORT, 16);
    builder.alu(Alu::And, DESTINATION_PORT, 0xffff);
    builder.set(PORTS, 1);
    builder.place(without);
}
