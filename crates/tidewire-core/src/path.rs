//! How packets of a direction travel, and which of them the receiver may drop: frames to a different link address, in a
//! different encapsulation, and packets with IP headers that hosts drop (`wire::Doubts`).
//!
//! A capture shows frames for many hosts and does not know their link addresses: those of a direction's first packet
//! are expected of the others. A packet that differs, or has a doubt that an earlier one did not have, is noted as an
//! anomaly; if it is TCP, the receiver's acknowledgment decides about its bytes.

use crate::{
    Config, Frame, LinkAddresses,
    hash::siphash13_words,
    wire::{Decoded, Doubts, LinkType},
};

/// Bits of the doubts; the digest is above them.
const REASONS_BITS: u32 = 4;
pub(crate) const REASONS: u32 = (1 << REASONS_BITS) - 1;
/// The digest where link addresses do not exist or are not compared. It shows that an earlier packet exists.
const UNCOMPARED: u32 = 1;
/// Bits of a path.
pub(crate) const PATH_BITS: u32 = 19;

/// How a packet travelled: its doubts in the lower bits, above them a keyed digest of the destination link address and
/// of the encapsulation. A digest of 0 means unknown, [`UNCOMPARED`] means not compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path(pub u32);

impl Path {
    /// Nothing is known.
    pub(crate) const NONE: Self = Self(0);

    /// The key of digests: two odd numbers, or 0 where link addresses are not compared.
    pub(crate) fn key(config: &Config) -> [u64; 2] {
        /// Separates these uses of the hash key from others.
        const USES: [u64; 2] = [0x6c69_6e6b_7061_7468, 0x7461_6773_7061_7468];
        match config.link_addresses {
            LinkAddresses::Compare => USES.map(|purpose| siphash13_words(config.hash_key, [purpose]) | 1),
            LinkAddresses::Ignore => [0; 2],
        }
    }

    /// The path of a packet. `key`: see [`Self::key`].
    #[inline(always)]
    pub(crate) fn of(frame: &Frame, bytes: &[u8], decoded: &Decoded, key: [u64; 2]) -> Self {
        let reasons = u32::from(decoded.doubts.reasons());
        if frame.link != LinkType::ETHERNET || key[0] == 0 {
            return Self(UNCOMPARED << REASONS_BITS | reasons);
        }
        let Some(first) = bytes.first_chunk::<8>() else { return Self(UNCOMPARED << REASONS_BITS | reasons) };
        // Six bytes of address, and what lies between Ethernet and IP. Multiplication by secret odd numbers makes two
        // of them equal with a probability of 2^-13.
        let link = u64::from_le_bytes(*first) << 16 | u64::from(decoded.doubts.framing());
        let [outer, inner] = decoded.vlan;
        let tags = u64::from(outer) << 16 | u64::from(inner);
        let sum = link.wrapping_mul(key[0]).wrapping_add(tags.wrapping_mul(key[1]));
        // Above the reasons. Its lowest bit is set: 0 is no digest.
        let digest = (sum >> (u64::BITS - PATH_BITS)) as u32 & !REASONS | 1 << REASONS_BITS;
        Self(digest | reasons)
    }

    /// The same digest with further doubts.
    pub(crate) fn with(self, doubts: Doubts) -> Self {
        Self(self.0 | u32::from(doubts.reasons()))
    }

    /// The same doubts without a digest: the packet did not travel in one frame.
    pub(crate) fn without_digest(self) -> Self {
        Self(UNCOMPARED << REASONS_BITS | self.0 & REASONS)
    }

    /// Whether hosts may drop the packet, independent of other packets.
    pub(crate) fn is_doubtful(self) -> bool {
        self.0 & REASONS != 0
    }

    pub(crate) fn digest(self) -> u32 {
        self.0 >> REASONS_BITS
    }

    /// Whether a packet travelled another way than known, and whether it has a doubt that others did not have.
    pub(crate) fn differs(self, known: Self) -> (bool, bool) {
        let is_compared = self.digest() > UNCOMPARED && known.digest() > UNCOMPARED;
        let is_other = is_compared && self.digest() != known.digest();
        (is_other, self.0 & REASONS & !known.0 != 0)
    }

    /// Whether a packet deviates from what is known.
    pub(crate) fn deviates(self, known: Self) -> bool {
        let (is_other, is_doubtful) = self.differs(known);
        known != Self::NONE && (is_other || is_doubtful)
    }

    /// What is known after one more packet. A doubt is expected until a packet comes without it; the first comparable
    /// digest stays.
    pub(crate) fn and(self, packet: Self) -> Self {
        let digest = if self.digest() > UNCOMPARED { self.0 } else { packet.0 };
        Self(digest & !REASONS | self.0 & packet.0 & REASONS)
    }
}
