//! Outcomes of fragments and datagrams.

use std::net::IpAddr;

use crate::{ChecksumStatus, DefragPolicy, Rejection, Vlans, wire::Tunnel};

/// A datagram that will not be rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended<'a> {
    /// Number of the fragment that ended it, or of its last one if it ended for time or memory.
    pub packet: u64,
    /// Sender.
    pub source: IpAddr,
    /// Receiver.
    pub destination: IpAddr,
    /// IP identification.
    pub ip_id: u32,
    /// The protocol carried.
    pub proto: u8,
    /// Fragments received so far.
    pub fragments: u32,
    /// Fragments that were held and have no fate yet: `FragmentUnfinished` if `rejection.is_unfinished()`, else
    /// `FragmentRejected`. The fragment that is being inserted counts only if `Held` was returned for it.
    pub unsettled: u32,
    /// Number of fragments that overlapped earlier ones.
    pub overlaps: u32,
    /// The overlap policy.
    pub policy: DefragPolicy,
    /// The reason.
    pub rejection: Rejection,
    /// Numbers of the frames that its fragments came in, in order of arrival.
    pub numbers: &'a [u64],
}

/// A rebuilt datagram.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Rebuilt<'a> {
    /// The IP packet before its fragmentation: the first fragment's headers (lengths and checksum corrected, fields or
    /// header of fragmentation removed) and the payload.
    pub packet: &'a [u8],
    /// Length of the headers: offset of the payload in `packet`.
    pub header_bytes: u32,
    /// Sender.
    pub source: IpAddr,
    /// Receiver.
    pub destination: IpAddr,
    /// IP identification.
    pub ip_id: u32,
    /// The protocol carried, according to the first fragment.
    pub proto: u8,
    /// Time to live or hop limit of the first fragment.
    pub ttl: u8,
    /// VLAN ids of the first fragment.
    pub vlans: Vlans,
    /// Tunnel of the first fragment.
    pub tunnel: Tunnel,
    /// Number of fragments, including repetitions.
    pub fragments: u32,
    /// Of these, those without a fate yet: they get `FragmentRebuilt`.
    pub unsettled: u32,
    /// Bytes on the wire of all fragments.
    pub frame_bytes: u64,
    /// Bytes of all fragments from the IP header on.
    pub ip_bytes: u64,
    /// Number of fragments that overlapped earlier ones.
    pub overlaps: u32,
    /// Bytes that arrived in two versions.
    pub conflict_bytes: u64,
    /// The overlap policy.
    pub policy: DefragPolicy,
    /// [`ChecksumStatus::NotReady`] if all fragments have it, else [`ChecksumStatus::Unknown`].
    pub checksum: ChecksumStatus,
    /// Numbers of the frames that its fragments came in, in order of arrival.
    pub numbers: &'a [u64],
}

impl<'a> Rebuilt<'a> {
    /// The IP payload.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.packet.get(self.header_bytes as usize..).unwrap_or_default()
    }
}

/// The outcome of a fragment.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// Stored; its fate is its datagram's: a later `Rebuilt`, or an [`Ended`] (which may have been reported already).
    Held,
    /// It completed its datagram.
    Rebuilt(Rebuilt<'a>),
    /// Not acceptable: its fate is `FragmentRejected`. If its datagram was discarded with it, that was reported as
    /// [`Ended`].
    Rejected(Rejection),
}
