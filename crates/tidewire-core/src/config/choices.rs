use std::{fmt, str::FromStr};

use crate::Direction;

/// How TCP streams are reassembled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Mode {
    /// A hole waits as long as the receiver may still get it filled; then it becomes a gap.
    #[default]
    Strict,
    /// A hole waits for a few packets only, so that loss costs neither memory nor delay.
    Fast,
    /// Nothing is buffered or delivered; statistics stay exact.
    Track,
}

/// The treatment of packets with wrong checksums in their TCP, UDP, ICMP or IPv4 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ChecksumMode {
    /// The receiver decides: TCP bytes with wrong checksums are delivered when they are acknowledged and no segment with a
    /// right checksum replaced them, or when the receiver is not seen. A datagram is left out where its sender had right
    /// checksums before and the datagram is no larger than a frame.
    #[default]
    Auto,
    /// Payload with a wrong checksum is dropped; the packet still counts in its stream.
    Verify,
    /// Checksums are not read, whatever [`Settings::verify_outer`](crate::wire::Settings::verify_outer) is.
    Ignore,
}

/// Whether the link addresses (MAC) that frames are sent to are compared.
///
/// A capture shows frames for many hosts and does not know their addresses. The address of a direction's first packet is
/// the one expected of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LinkAddresses {
    /// A packet to another address, or in another encapsulation (MPLS, PPPoE, LLC), is an anomaly. The receiver's
    /// acknowledgment decides about its TCP bytes. Fragments to different addresses are not put together.
    #[default]
    Compare,
    /// Link addresses are not compared: for captures in which packets of a flow go to several routers.
    Ignore,
}

/// Which packets are copies of others, and have the fate [`Fate::Duplicate`](crate::Fate::Duplicate) instead of being processed.
///
/// A copy has the same IP packet: header, transport header and payload, but for hop limit, checksums and tags. Each rule includes
/// those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DuplicateRule {
    /// No packet.
    #[default]
    Keep,
    /// Packets that were seen at another place within [`COPY_TIME_MAX`](crate::COPY_TIME_MAX): another interface, other link addresses
    /// or tags. As many packets are processed as the place that saw the most of them did.
    Places,
    /// Packets that were seen at the same place within [`REPEAT_TIME_MAX`](crate::REPEAT_TIME_MAX), with the same IPv4 identification. Where a sender gives
    /// different packets the same one, or 0, it says nothing.
    Identified,
    /// Every second packet that was seen at the same place within that time: for a mirror that copies each packet.
    Doubled,
}

/// Ids that are part of a flow's key, beside the innermost addresses, ports and protocol (the 5-tuple).
///
/// Default: none. Most ids belong to one direction: each end of a GTP-U tunnel chooses the TEID that it receives with
/// (3GPP TS 29.281 section 5.1), GRE keys are set for each direction, ERSPAN's sessions are often one for each direction
/// of a mirrored port, and VXLAN and GENEVE carry the receiver's network id wherever the sender's side routes (RFC 9135).
/// The same holds for VLANs: ports mirrored on both sides of a router, private VLANs and asymmetric routing show each
/// direction in a different VLAN. With an id in the key, directions with different ids are two flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct KeyIds {
    /// Both VLAN ids. Priority tags (id 0) count as no tag.
    pub vlan: bool,
    /// Kind and id of the innermost tunnel.
    pub tunnel: bool,
}

impl KeyIds {
    /// Sets [`vlan`](Self::vlan), in a method chain.
    #[must_use]
    pub const fn with_vlan(mut self, vlan: bool) -> Self {
        self.vlan = vlan;
        self
    }

    /// Sets [`tunnel`](Self::tunnel), in a method chain.
    #[must_use]
    pub const fn with_tunnel(mut self, tunnel: bool) -> Self {
        self.tunnel = tunnel;
        self
    }
}

impl FromStr for KeyIds {
    type Err = UnknownKeyId;

    /// `5tuple`, or a list of `vlan` and `tunnel` with commas.
    fn from_str(text: &str) -> Result<Self, UnknownKeyId> {
        let mut ids = Self::default();
        for part in text.split(',').map(str::trim) {
            match part {
                "5tuple" => {}
                "vlan" => ids.vlan = true,
                "tunnel" => ids.tunnel = true,
                other => return Err(UnknownKeyId { given: other.into() }),
            }
        }
        Ok(ids)
    }
}

/// A name that [`KeyIds`] does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownKeyId {
    /// The name.
    pub given: String,
}

impl fmt::Display for UnknownKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown part of a key '{}': expected 5tuple, vlan, tunnel, or vlan,tunnel", self.given)
    }
}

impl std::error::Error for UnknownKeyId {}

/// How many bytes of each direction of a stream are delivered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DirectionCutoff(pub(crate) [u64; 2]);

impl DirectionCutoff {
    /// No cutoff: all bytes are delivered.
    pub const UNLIMITED: Self = Self::both(u64::MAX);

    /// The same cutoff for both directions.
    #[must_use]
    pub const fn both(bytes: u64) -> Self {
        Self([bytes; 2])
    }

    /// The same cutoff for both directions; `None`: all bytes are delivered.
    #[must_use]
    pub fn of(bytes: impl Into<Option<u64>>) -> Self {
        bytes.into().map_or(Self::UNLIMITED, Self::both)
    }

    /// A cutoff for each direction.
    #[must_use]
    pub const fn new(client_to_server: u64, server_to_client: u64) -> Self {
        Self([client_to_server, server_to_client])
    }

    /// The cutoff of a direction, in bytes; `None`: all bytes are delivered.
    #[must_use]
    pub const fn get(self, direction: Direction) -> Option<u64> {
        match self.0[direction as usize] {
            u64::MAX => None,
            bytes => Some(bytes),
        }
    }

    /// Sets the cutoff of a direction, in bytes, in a method chain; `None`: all bytes are delivered.
    #[must_use]
    pub fn with(mut self, direction: Direction, bytes: impl Into<Option<u64>>) -> Self {
        self.0[direction as usize] = bytes.into().unwrap_or(u64::MAX);
        self
    }
}

/// Which of several workers an engine is: it accepts the flows whose symmetric hash falls to its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    pub(crate) index: u32,
    pub(crate) count: u32,
}

impl Share {
    /// The only worker.
    pub const ALL: Self = Self { index: 0, count: 1 };

    /// Worker `index` (from 0) of `count`. A count of 0 is taken as 1.
    #[must_use]
    pub const fn new(index: u32, count: u32) -> Self {
        Self { index, count: if count == 0 { 1 } else { count } }
    }

    /// This worker's index, from 0.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.index
    }

    /// Number of workers, at least 1.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.count
    }
}
