//! Ethernet, VLAN tags, PPPoE and MPLS.

use super::bounds::{LABELS, TAGS, jump_any};
use super::slot::{AT, ETHER_TYPE, T0, T1, TAG_BYTES, VLAN0, VLAN1};
use crate::ir::{Alu, Builder, Condition, Label, Meta, Operation};

pub(super) const IPV4: u64 = 0x0800;
pub(super) const IPV6: u64 = 0x86dd;
/// IEEE 802.1Q, 802.1ad, and stacked tags as vendors numbered them before.
const TAG_TYPES: [u64; 5] = [0x8100, 0x88a8, 0x9100, 0x9200, 0x9300];
/// Greatest value of the type field that is a length (IEEE 802.3, 3.2.6); LLC follows it.
const LENGTH_MAX: u64 = 1500;
/// Access points and control of SNAP.
const LLC_SNAP: u64 = 0x00aa_aa03;
/// Provider backbone bridging (IEEE 802.1ah): 4 bytes, then Ethernet.
const BACKBONE: u64 = 0x88e7;
/// FabricPath (Cisco): 2 bytes, then Ethernet.
const FABRIC_PATH: u64 = 0x8903;
/// VN-Tag (Cisco): 4 bytes, then the type.
const VN_TAG: u64 = 0x8926;
/// E-TAG (IEEE 802.1BR): 6 bytes, then the type.
const E_TAG: u64 = 0x893f;
/// A PPP frame, as PPTP's GRE carries it.
pub(super) const PPP: u64 = 0x880b;
/// Not an EtherType: an MPLS stack turned out to carry Ethernet.
const PSEUDOWIRE: u64 = 0x1_0000;
/// RFC 5332.
const MPLS: [u64; 2] = [0x8847, 0x8848];
/// RFC 2516: 6 bytes of header, of which the first two are version, type and code; then PPP.
const PPPOE_SESSION: u64 = 0x8864;
const PPPOE_DATA: u64 = 0x1100;
/// Address and control (RFC 1662, 3.1), which some senders keep.
const PPP_ALL_STATIONS: u64 = 0xff03;
/// RFC 3032, 4.3.
const PPP_MPLS: [u64; 2] = [0x0281, 0x0283];
/// PPP protocol numbers (RFC 1332, RFC 5072).
const PPP_IPV4: u64 = 0x0021;
const PPP_IPV6: u64 = 0x0057;

/// Walks the frame's Ethernet header and tags; sets offset and type of the next header.
pub(super) fn outermost(builder: &mut Builder, done: Label) {
    let inline = builder.label();
    builder.set(T1, 0);
    builder.push(Operation::Meta { to: T0, meta: Meta::VlanTag, missing: inline });
    builder.set(T1, 1);
    note_tag(builder);
    builder.place(inline);
    ethernet(builder, true, done);
}

/// Walks an Ethernet header inside another protocol, at `AT`.
pub(super) fn inside(builder: &mut Builder, done: Label) {
    ethernet(builder, false, done);
}

fn ethernet(builder: &mut Builder, outermost: bool, done: Label) {
    builder.load(ETHER_TYPE, AT, 12, 2, done);
    builder.alu(Alu::Add, AT, 14);
    over_bridge_tag(builder, done);
    let [second, tags_end, after] = [(); 3].map(|()| builder.label());
    if outermost {
        // A tag that was removed from the frame (`T1`) is the first one, also where tags are counted.
        builder.jump(T1, Condition::NotEqual, 0, second);
    }
    for tag in 0..TAGS {
        if outermost && tag == 1 {
            builder.place(second);
        }
        let tagged = builder.label();
        jump_any(builder, ETHER_TYPE, &TAG_TYPES, tagged);
        builder.goto(tags_end);
        builder.place(tagged);
        if outermost {
            builder.load(T0, AT, 0, 2, done);
            note_tag(builder);
            if tag == 0 {
                builder.set(TAG_BYTES, 4);
            }
        }
        builder.load(ETHER_TYPE, AT, 2, 2, done);
        builder.alu(Alu::Add, AT, 4);
    }
    builder.place(tags_end);
    builder.jump(ETHER_TYPE, Condition::Greater, LENGTH_MAX, after);
    over_snap(builder, after);
    builder.place(after);
    builder.bound(AT, done);
}

/// A VN-Tag or an E-TAG, which precede all other tags.
fn over_bridge_tag(builder: &mut Builder, done: Label) {
    let [vn, e, after] = [(); 3].map(|()| builder.label());
    builder.jump(ETHER_TYPE, Condition::Equal, VN_TAG, vn);
    builder.jump(ETHER_TYPE, Condition::Equal, E_TAG, e);
    builder.goto(after);
    builder.place(vn);
    builder.load(ETHER_TYPE, AT, 4, 2, done);
    builder.alu(Alu::Add, AT, 6);
    builder.goto(after);
    builder.place(e);
    builder.load(ETHER_TYPE, AT, 6, 2, done);
    builder.alu(Alu::Add, AT, 8);
    builder.place(after);
}

/// LLC with SNAP (RFC 1042) in place of an EtherType; jumps to `other` if it is something else.
fn over_snap(builder: &mut Builder, other: Label) {
    builder.load(T0, AT, 0, 4, other);
    builder.alu(Alu::Shr, T0, 8);
    builder.jump(T0, Condition::NotEqual, LLC_SNAP, other);
    // The organisation: RFC 1042's, or that of IEEE 802.1H.
    builder.load(T0, AT, 3, 2, other);
    builder.jump(T0, Condition::NotEqual, 0, other);
    builder.load(T0, AT, 5, 1, other);
    let organisation = builder.label();
    builder.jump(T0, Condition::Equal, 0, organisation);
    builder.jump(T0, Condition::NotEqual, 0xf8, other);
    builder.place(organisation);
    builder.load(ETHER_TYPE, AT, 6, 2, other);
    builder.alu(Alu::Add, AT, 8);
}

/// Provider backbone bridging, FabricPath, or an MPLS pseudowire: one more Ethernet header.
pub(super) fn over_ethernet(builder: &mut Builder, done: Label) {
    let [backbone, fabric, ethernet, after] = [(); 4].map(|()| builder.label());
    builder.jump(ETHER_TYPE, Condition::Equal, BACKBONE, backbone);
    builder.jump(ETHER_TYPE, Condition::Equal, FABRIC_PATH, fabric);
    builder.jump(ETHER_TYPE, Condition::Equal, PSEUDOWIRE, ethernet);
    builder.goto(after);
    builder.place(backbone);
    builder.alu(Alu::Add, AT, 2);
    builder.place(fabric);
    builder.alu(Alu::Add, AT, 2);
    builder.place(ethernet);
    inside(builder, done);
    builder.place(after);
}

/// Records the tag in `T0` in the first free place. A third one is not recorded, nor one with id 0, which only carries
/// a priority (IEEE 802.1Q, table 9-2).
fn note_tag(builder: &mut Builder) {
    let (second, noted) = (builder.label(), builder.label());
    builder.alu(Alu::And, T0, 0x0fff);
    builder.jump(T0, Condition::Equal, 0, noted);
    builder.alu(Alu::Add, T0, 1);
    builder.jump(VLAN0, Condition::NotEqual, 0, second);
    builder.copy(VLAN0, T0);
    builder.goto(noted);
    builder.place(second);
    builder.jump(VLAN1, Condition::NotEqual, 0, noted);
    builder.copy(VLAN1, T0);
    builder.place(noted);
}

/// A PPPoE session header or a PPP frame, if one is next: version and type 1, code 0; then PPP, its protocol possibly
/// compressed to a byte (RFC 1661, 6.5).
pub(super) fn over_pppoe(builder: &mut Builder, done: Label) {
    let [after, ppp, plain, known, ipv4, ipv6] = [(); 6].map(|()| builder.label());
    builder.jump(ETHER_TYPE, Condition::Equal, PPP, ppp);
    builder.jump(ETHER_TYPE, Condition::NotEqual, PPPOE_SESSION, after);
    builder.load(T0, AT, 0, 2, done);
    builder.jump(T0, Condition::NotEqual, PPPOE_DATA, done);
    builder.alu(Alu::Add, AT, 6);
    builder.place(ppp);
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

/// An MPLS label stack, if one is next. Its content is identified by the first nibble (RFC 4928).
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
    let [no_ip, control_word] = [(); 2].map(|()| builder.label());
    by_nibble(builder, no_ip);
    builder.goto(after);
    // A control word begins with a zero nibble (RFC 4385, 3); Ethernet is assumed if its type is known.
    builder.place(no_ip);
    builder.load(T0, AT, 0, 1, done);
    builder.jump(T0, Condition::LessOrEqual, 0x0f, control_word);
    is_likely(builder, 12, done);
    builder.goto(after);
    builder.place(control_word);
    is_likely(builder, 16, done);
    builder.alu(Alu::Add, AT, 4);
    builder.place(after);
    builder.bound(AT, done);
}

/// An Ethernet header whose type is at this offset, of a kind that is walked.
fn is_likely(builder: &mut Builder, type_at: u16, done: Label) {
    let likely = builder.label();
    builder.load(T0, AT, type_at, 2, done);
    builder.set(ETHER_TYPE, PSEUDOWIRE);
    jump_any(builder, T0, &[IPV4, IPV6, TAG_TYPES[0], TAG_TYPES[1], PPPOE_SESSION], likely);
    builder.goto(done);
    builder.place(likely);
}

/// IPv4 or IPv6, by the first nibble at `AT`.
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
