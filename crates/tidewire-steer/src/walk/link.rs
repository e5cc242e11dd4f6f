//! Ethernet, VLAN tags, PPPoE and MPLS.

use super::slot::{AT, ETHER_TYPE, T0, T1, TAG_BYTES, VLAN0, VLAN1};
use super::{LABELS, TAGS, jump_any};
use crate::ir::{Alu, Builder, Condition, Label, Meta, Operation};

pub(super) const IPV4: u64 = 0x0800;
pub(super) const IPV6: u64 = 0x86dd;
/// IEEE 802.1Q, 802.1ad, and stacked tags as vendors numbered them before.
const TAG_TYPES: [u64; 5] = [0x8100, 0x88a8, 0x9100, 0x9200, 0x9300];
/// RFC 5332.
const MPLS: [u64; 2] = [0x8847, 0x8848];
/// RFC 2516: 6 bytes of header, of which the first two are version, type and code; then PPP.
const PPPOE_SESSION: u64 = 0x8864;
const PPPOE_DATA: u64 = 0x1100;
/// Address and control (RFC 1662, 3.1), which some leave in.
const PPP_ALL_STATIONS: u64 = 0xff03;
/// RFC 3032, 4.3.
const PPP_MPLS: [u64; 2] = [0x0281, 0x0283];
/// PPP protocol numbers (RFC 1332, RFC 5072).
const PPP_IPV4: u64 = 0x0021;
const PPP_IPV6: u64 = 0x0057;

/// The frame's own Ethernet header and tags; leaves where and of what type the next header is.
pub(super) fn outermost(builder: &mut Builder, done: Label) {
    let inline = builder.label();
    builder.push(Operation::Meta { to: T0, meta: Meta::VlanTag, missing: inline });
    note_tag(builder, true);
    builder.place(inline);
    ethernet(builder, true, done);
}

/// An Ethernet header inside of a tunnel, at `AT`.
pub(super) fn inside(builder: &mut Builder, done: Label) {
    ethernet(builder, false, done);
}

fn ethernet(builder: &mut Builder, outermost: bool, done: Label) {
    builder.load(ETHER_TYPE, AT, 12, 2, done);
    builder.alu(Alu::Add, AT, 14);
    let after = builder.label();
    for tag in 0..TAGS {
        let tagged = builder.label();
        jump_any(builder, ETHER_TYPE, &TAG_TYPES, tagged);
        builder.goto(after);
        builder.place(tagged);
        if outermost {
            builder.load(T0, AT, 0, 2, done);
            note_tag(builder, tag == 0);
            if tag == 0 {
                let was_removed = builder.label();
                builder.jump(VLAN1, Condition::NotEqual, 0, was_removed);
                builder.set(TAG_BYTES, 4);
                builder.place(was_removed);
            }
        }
        builder.load(ETHER_TYPE, AT, 2, 2, done);
        builder.alu(Alu::Add, AT, 4);
    }
    builder.place(after);
    builder.bound(AT, done);
}

/// Notes the tag in `T0` in the first place that is free; a third one is not noted.
fn note_tag(builder: &mut Builder, may_be_first: bool) {
    builder.alu(Alu::And, T0, 0x0fff);
    builder.alu(Alu::Add, T0, 1);
    let (second, noted) = (builder.label(), builder.label());
    if may_be_first {
        builder.jump(VLAN0, Condition::NotEqual, 0, second);
        builder.copy(VLAN0, T0);
        builder.goto(noted);
        builder.place(second);
    }
    builder.jump(VLAN1, Condition::NotEqual, 0, noted);
    builder.copy(VLAN1, T0);
    builder.place(noted);
}

/// A PPPoE session header, if one is next: version and type 1, code 0; then PPP, its protocol perhaps compressed to a byte
/// (RFC 1661, 6.5).
pub(super) fn over_pppoe(builder: &mut Builder, done: Label) {
    let [after, plain, known, ipv4, ipv6] = [(); 5].map(|()| builder.label());
    builder.jump(ETHER_TYPE, Condition::NotEqual, PPPOE_SESSION, after);
    builder.load(T0, AT, 0, 2, done);
    builder.jump(T0, Condition::NotEqual, PPPOE_DATA, done);
    builder.alu(Alu::Add, AT, 6);
    builder.load(T0, AT, 0, 2, done);
    builder.jump(T0, Condition::NotEqual, PPP_ALL_STATIONS, plain);
    builder.alu(Alu::Add, AT, 2);
    builder.place(plain);
    builder.load(T0, AT, 0, 1, done);
    builder.alu(Alu::Add, AT, 1);
    builder.jump(T0, Condition::AnyBit, 1, known);
    builder.load(T1, AT, 0, 1, done);
    builder.alu(Alu::Add, AT, 1);
    builder.alu(Alu::Shl, T0, 8);
    builder.alu_slot(Alu::Or, T0, T1);
    builder.place(known);
    builder.jump(T0, Condition::Equal, PPP_IPV4, ipv4);
    builder.jump(T0, Condition::Equal, PPP_IPV6, ipv6);
    builder.set(ETHER_TYPE, MPLS[0]);
    jump_any(builder, T0, &PPP_MPLS, after);
    builder.goto(done);
    builder.place(ipv6);
    builder.set(ETHER_TYPE, IPV6);
    builder.goto(after);
    builder.place(ipv4);
    builder.set(ETHER_TYPE, IPV4);
    builder.place(after);
}

/// An MPLS label stack, if one is next. What it carries is told by its first nibble (RFC 4928).
pub(super) fn over_mpls(builder: &mut Builder, done: Label) {
    let (after, stack, bottom) = (builder.label(), builder.label(), builder.label());
    jump_any(builder, ETHER_TYPE, &MPLS, stack);
    builder.goto(after);
    builder.place(stack);
    for _ in 0..LABELS {
        builder.load(T0, AT, 2, 1, done);
        builder.alu(Alu::Add, AT, 4);
        builder.jump(T0, Condition::AnyBit, 1, bottom);
    }
    builder.goto(done);
    builder.place(bottom);
    by_nibble(builder, done);
    builder.place(after);
    builder.bound(AT, done);
}

/// IPv4 or IPv6, as the first nibble at `AT` says.
pub(super) fn by_nibble(builder: &mut Builder, done: Label) {
    let (ipv4, after) = (builder.label(), builder.label());
    builder.load(T0, AT, 0, 1, done);
    builder.alu(Alu::Shr, T0, 4);
    builder.jump(T0, Condition::Equal, 4, ipv4);
    builder.jump(T0, Condition::NotEqual, 6, done);
    builder.set(ETHER_TYPE, IPV6);
    builder.goto(after);
    builder.place(ipv4);
    builder.set(ETHER_TYPE, IPV4);
    builder.place(after);
}
