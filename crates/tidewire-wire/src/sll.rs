//! Linux "cooked" captures, both versions (LINKTYPE_LINUX_SLL, LINKTYPE_LINUX_SLL2): big-endian pseudo-headers.

use crate::decoded::Kind;
use crate::ethernet::ETHER_TYPE_MIN;
use crate::malformation::Malformation::{self, LinkCut, LinkShort};
use crate::walk::{Next, Walk, be16};
use crate::{frame_relay, ieee80211, radiotap};

/// Version 1: packet type, ARPHRD, address length, address (8), protocol.
const HEADER_BYTES: usize = 16;
/// Version 2: protocol, reserved, interface index, ARPHRD, packet type, address length, address (8).
const HEADER2_BYTES: usize = 20;

/// `ARPHRD_FRAD`: a frame relay header follows.
const FRAME_RELAY: u16 = 770;
/// `ARPHRD_IEEE80211`: an 802.11 header follows.
const IEEE80211: u16 = 801;
/// `ARPHRD_IEEE80211_RADIOTAP`: a radiotap header follows.
const RADIOTAP: u16 = 803;
/// `ARPHRD_NETLINK`: a netlink message follows.
const NETLINK: u16 = 824;

/// `ETH_P_802_2`: an LLC header follows.
const LLC: u16 = 4;

/// Version 1.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = walk.header::<HEADER_BYTES>(at, LinkShort, LinkCut)?;
    payload(walk, be16(header, 2), be16(header, 14), at + HEADER_BYTES)
}

/// Version 2.
pub(crate) fn walk2(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = walk.header::<HEADER2_BYTES>(at, LinkShort, LinkCut)?;
    payload(walk, be16(header, 8), be16(header, 0), at + HEADER2_BYTES)
}

fn payload(walk: &mut Walk<'_>, hardware: u16, protocol: u16, at: usize) -> Result<Next, Malformation> {
    match hardware {
        FRAME_RELAY => frame_relay::walk(walk, at),
        IEEE80211 => ieee80211::walk(walk, at, false),
        RADIOTAP => radiotap::walk(walk, at),
        NETLINK => Ok(Next::Done(Kind::OtherLink)),
        _ if protocol == LLC => Ok(Next::Llc { at }),
        _ if protocol < ETHER_TYPE_MIN => Ok(Next::Done(Kind::OtherLink)),
        _ => Ok(Next::EtherType { ether_type: protocol, at }),
    }
}
