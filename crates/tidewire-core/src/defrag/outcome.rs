//! What becomes of a fragment, and of its datagram.

use std::net::IpAddr;

use super::Rejection;
use crate::{ChecksumStatus, DefragPolicy, path::Path, wire::Tunnel};

/// A datagram that will not be rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// Number of the fragment that ended it, or of its last one where time or memory did.
    pub packet: u64,
    /// Sender.
    pub source: IpAddr,
    /// Receiver.
    pub destination: IpAddr,
    /// IP identification.
    pub ip_id: u32,
    /// The protocol carried.
    pub proto: u8,
    /// Fragments that belong to it so far.
    pub fragments: u32,
    /// How many of them were held and have no fate yet: `FragmentUnfinished` if `rejection.is_unfinished()`, else
    /// `FragmentRejected`. The fragment that is just being inserted is not among them unless `Held` was returned for it.
    pub unsettled: u32,
    /// How many fragments overlapped earlier ones.
    pub overlaps: u32,
    /// The policy that was followed.
    pub policy: DefragPolicy,
    /// Why.
    pub rejection: Rejection,
}

/// A datagram made whole.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Rebuilt<'a> {
    /// The IP packet as it was before it was fragmented: the first fragment's headers (lengths and checksum put right,
    /// fields or header of fragmentation removed) and the payload.
    pub packet: &'a [u8],
    /// Length of the headers: where the payload begins in `packet`.
    pub header_bytes: u32,
    /// Sender.
    pub source: IpAddr,
    /// Receiver.
    pub destination: IpAddr,
    /// IP identification.
    pub ip_id: u32,
    /// The protocol carried, as the first fragment says.
    pub proto: u8,
    /// Time to live or hop limit of the first fragment.
    pub ttl: u8,
    /// VLAN ids of the first fragment.
    pub vlan: [u16; 2],
    /// Tunnel of the first fragment.
    pub tunnel: Tunnel,
    /// Fragments, repeated ones included; all of them get the fate `FragmentRebuilt`.
    pub fragments: u32,
    /// Bytes on the wire of all fragments.
    pub frame_bytes: u64,
    /// Bytes of all fragments from the IP header on.
    pub ip_bytes: u64,
    /// How many fragments overlapped earlier ones.
    pub overlaps: u32,
    /// Bytes that came in two versions.
    pub conflict_bytes: u64,
    /// The policy that decided overlaps.
    pub policy: DefragPolicy,
    /// [`ChecksumStatus::NotReady`] where all fragments are that, else [`ChecksumStatus::Unknown`].
    pub checksum: ChecksumStatus,
    /// How its fragments came.
    pub(crate) path: Path,
}

impl<'a> Rebuilt<'a> {
    /// The IP payload.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.packet.get(self.header_bytes as usize..).unwrap_or_default()
    }
}

/// What became of a fragment.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// Kept; its fate comes with its datagram's: a later `Rebuilt`, or an [`Ended`] (perhaps already told).
    Held,
    /// It made its datagram whole.
    Rebuilt(Rebuilt<'a>),
    /// Not acceptable: its fate is `FragmentRejected`. If its datagram was given up with it, an [`Ended`] told so.
    Rejected(Rejection),
}
