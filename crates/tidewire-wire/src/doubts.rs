use std::ops::{BitOr, BitOrAssign};

/// Why a receiving host may drop a packet whose headers are valid, and the encapsulation of its frame.
///
/// Whether a host accepts such a packet depends on its kind and its settings. Statements about hosts mean Linux hosts;
/// functions of the kernel are named beside the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Doubts(u8);

impl Doubts {
    /// No doubt, and only tags between Ethernet and IP.
    pub const NONE: Self = Self(0);
    /// IPv4 options or IPv6 extension headers for which a host drops the packet.
    pub const HEADER: Self = Self(1);
    /// Options or headers that a host accepts only if configured to: source routes, AH, CIPSO, CALIPSO, mobility.
    pub const UNCONFIGURED: Self = Self(2);
    /// IP in a frame from which no host accepts it: in LLC (RFC 1042) over Ethernet, or a packet for one host in a
    /// frame to a group address.
    pub const LINK: Self = Self(4);
    /// Wrong header checksum or UDP checksum of a packet that carries the tunnel.
    pub const OUTER_CHECKSUM: Self = Self(8);
    /// (Not a doubt.) The frame carried MPLS labels.
    pub const MPLS: Self = Self(16);
    /// (Not a doubt.) The frame carried PPP (RFC 2516).
    pub const PPPOE: Self = Self(32);
    /// (Not a doubt.) The frame carried LLC.
    pub const LLC: Self = Self(64);
    /// (Not a doubt.) An IPv6 fragment header without other fragments was skipped (RFC 6946).
    pub const ATOMIC: Self = Self(128);

    const REASONS: u8 = 0x0f;
    const FRAMING: u8 = 0x70;

    /// Whether any of these is set.
    #[inline]
    #[must_use]
    pub fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    /// The doubts alone, in the lower four bits.
    #[inline]
    #[must_use]
    pub fn reasons(self) -> u8 {
        self.0 & Self::REASONS
    }

    /// The encapsulation of IP in the frame.
    #[inline]
    #[must_use]
    pub fn framing(self) -> u8 {
        self.0 & Self::FRAMING
    }

    /// The doubts about an outer packet that remain for the packet in its tunnel: the ends of a tunnel are configured.
    pub(crate) fn of_outside(self) -> Self {
        Self(self.0 & !(Self::UNCONFIGURED.0 | Self::ATOMIC.0))
    }
}

impl BitOr for Doubts {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Doubts {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}
