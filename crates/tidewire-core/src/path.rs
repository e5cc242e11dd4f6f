//! How packets of a direction travel, and which of them the receiver may drop: frames to a different link address, in a
//! different encapsulation, and packets with IP headers that hosts drop (`wire::Doubts`).
//!
//! A capture shows frames for many hosts and does not know their link addresses: those of a direction's first packet
//! are expected of the others. A packet that differs, or has a doubt that an earlier one did not have, is noted as an
//! anomaly; if it is TCP, the receiver's acknowledgment decides about its bytes.
//!
//! How a packet arrived is a digest of MAC address, encapsulation and VLAN ids, and these doubts: 18 bits beside the
//! direction's packet counter. Only fragments that arrived in the same way are put together.

use std::collections::{BTreeMap, btree_map::Entry};

use tidewire_types::siphash::siphash13_words;

use crate::{
    Config, Frame, LinkAddresses,
    wire::{Decoded, Doubts, LinkType},
};

/// Bits of the doubts; the name is above them.
const REASONS_BITS: u32 = 4;
pub(crate) const REASONS: u32 = (1 << REASONS_BITS) - 1;
/// The name where link addresses do not exist or are not compared. It shows that an earlier packet exists.
const UNCOMPARED: u32 = 1;
/// Bits of a name.
const NAME_BITS: u32 = u32::BITS - REASONS_BITS;
/// Ways that have a name each, for each worker: link addresses times encapsulations and VLANs.
pub(crate) const NAMED_MAX: usize = 1 << 16;
/// Names from here on are keyed digests: of further ways.
const DIGESTS: u32 = 1 << (NAME_BITS - 1);
/// Ways that are found at once: a power of two.
const RECENT: usize = 1 << 10;
/// Their place begins with these bits of the address, its last ones, and of the VLAN ids.
const PLACE_SHIFT: u32 = u64::BITS - RECENT.trailing_zeros();

/// How a packet travelled: its doubts in the lower bits, above them the name of the destination link address with the
/// encapsulation. 0 means unknown, [`UNCOMPARED`] means not compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path(pub u32);

/// Link addresses and encapsulations by name. Names are equal for equal ways only: up to [`NAMED_MAX`] of them are
/// exact, so that the key of hashes changes no figure, and no sender finds another way with the same name.
#[derive(Debug)]
pub(crate) struct Paths {
    /// The keys of digests: two odd numbers. `None`: link addresses are not compared.
    key: Option<[u64; 2]>,
    recent: Box<[Way]>,
    named: BTreeMap<(u64, u32), u32>,
}

/// The destination link address with the encapsulation, the VLAN ids, and their name.
#[derive(Clone, Copy, Debug)]
struct Way {
    link: u64,
    tags: u32,
    name: u32,
}

impl Paths {
    /// No way has a name yet.
    pub(crate) fn new(config: &Config) -> Self {
        /// Separates these uses of the hash key from others.
        const USES: [u64; 2] = [0x6c69_6e6b_7061_7468, 0x7461_6773_7061_7468];
        let key = match config.link_addresses {
            LinkAddresses::Compare => Some(USES.map(|purpose| siphash13_words(config.hash_key, [purpose]) | 1)),
            LinkAddresses::Ignore => None,
        };
        // Each place holds a way that belongs to another one, so that none of them is ever found.
        let nowhere = |place: usize| Way { link: ((place ^ 1) as u64) << PLACE_SHIFT, tags: 0, name: 0 };
        let recent = (0..if key.is_some() { RECENT } else { 0 }).map(nowhere).collect();
        Self { key, recent, named: BTreeMap::new() }
    }

    /// The path of a packet.
    #[inline(always)]
    pub(crate) fn of(&mut self, frame: &Frame, bytes: &[u8], decoded: &Decoded) -> Path {
        let reasons = u32::from(decoded.doubts.reasons());
        let Some(first) = bytes.first_chunk::<8>().filter(|_| frame.link == LinkType::ETHERNET) else {
            return Path(UNCOMPARED << REASONS_BITS | reasons);
        };
        // Six bytes of address, and what lies between Ethernet and IP.
        let link = u64::from_le_bytes(*first) << 16 | u64::from(decoded.doubts.framing());
        let [outer, inner] = decoded.vlans.raw();
        let tags = u32::from(outer) << 16 | u32::from(inner);
        let place = ((link >> PLACE_SHIFT) as usize ^ tags as usize) & (RECENT - 1);
        let name = match self.recent.get(place) {
            Some(way) if way.link == link && way.tags == tags => way.name,
            _ => self.name(place, link, tags),
        };
        Path(name << REASONS_BITS | reasons)
    }

    /// The name of a way that is not among the recent ones.
    #[cold]
    fn name(&mut self, place: usize, link: u64, tags: u32) -> u32 {
        let Some(key) = self.key else { return UNCOMPARED };
        let next = self.named.len() as u32 + UNCOMPARED + 1;
        let has_room = self.named.len() < NAMED_MAX;
        let name = match self.named.entry((link, tags)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) if has_room => *unknown.insert(next),
            Entry::Vacant(_) => {
                // Multiplication by secret odd numbers makes two of them equal with a probability of 2^-26.
                let sum = link.wrapping_mul(key[0]).wrapping_add(u64::from(tags).wrapping_mul(key[1]));
                DIGESTS | (sum >> (u64::BITS - (NAME_BITS - 1))) as u32
            }
        };
        self.recent[place] = Way { link, tags, name };
        name
    }
}

impl Path {
    /// Nothing is known.
    pub(crate) const NONE: Self = Self(0);

    /// The same name with further doubts.
    pub(crate) fn with(self, doubts: Doubts) -> Self {
        Self(self.0 | u32::from(doubts.reasons()))
    }

    /// The same doubts without a name: the packet did not travel in one frame.
    pub(crate) fn without_name(self) -> Self {
        Self(UNCOMPARED << REASONS_BITS | self.0 & REASONS)
    }

    /// Whether hosts may drop the packet, independent of other packets.
    pub(crate) fn is_doubtful(self) -> bool {
        self.0 & REASONS != 0
    }

    pub(crate) fn name(self) -> u32 {
        self.0 >> REASONS_BITS
    }

    /// Whether a packet travelled another way than known, and whether it has a doubt that others did not have.
    pub(crate) fn differs(self, known: Self) -> (bool, bool) {
        let is_compared = self.name() > UNCOMPARED && known.name() > UNCOMPARED;
        let is_other = is_compared && self.name() != known.name();
        (is_other, self.0 & REASONS & !known.0 != 0)
    }

    /// Whether a packet deviates from what is known.
    pub(crate) fn deviates(self, known: Self) -> bool {
        let (is_other, is_doubtful) = self.differs(known);
        known != Self::NONE && (is_other || is_doubtful)
    }

    /// The path as known after one more packet. A doubt is expected until a packet comes without it; the first comparable
    /// name stays.
    pub(crate) fn and(self, packet: Self) -> Self {
        let name = if self.name() > UNCOMPARED { self.0 } else { packet.0 };
        Self(name & !REASONS | self.0 & packet.0 & REASONS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    /// A frame of an Ethernet address; `vlan`: its id.
    fn path(paths: &mut Paths, address: u64, vlan: u16) -> Path {
        let bytes = [&address.to_be_bytes()[2..], &[2, 0, 0, 0, 0, 1, 8, 0]].concat();
        let mut decoded = crate::wire::decode(LinkType::ETHERNET, &bytes, 60, &crate::wire::Settings::default());
        decoded.vlans = crate::Vlans::new([vlan]);
        let frame = Frame::new(LinkType::ETHERNET, Timestamp::from_nanos(0))
            .with_place(0, bytes.len() as u32)
            .with_wire_bytes(60);
        paths.of(&frame, &bytes, &decoded)
    }

    /// With digests of 14 bits, two of 3,000 addresses were equal, and other ones with each key.
    #[test]
    fn names_are_exact_whatever_the_key() {
        let mut names = Vec::new();
        for key in [[1, 2], [0x1234_5678_9abc_def0, 3]] {
            let mut paths = Paths::new(&Config::default().with_hash_key(key));
            let found: Vec<Path> = (0..3000_u64)
                .map(|at| path(&mut paths, at.wrapping_mul(0x9e37_79b9_7f4a) >> 1, at as u16 % 7))
                .collect();
            let again: Vec<Path> = (0..3000_u64)
                .map(|at| path(&mut paths, at.wrapping_mul(0x9e37_79b9_7f4a) >> 1, at as u16 % 7))
                .collect();
            assert_eq!(found, again);
            let distinct: std::collections::BTreeSet<u32> = found.iter().map(|path| path.0).collect();
            assert_eq!(distinct.len(), 3000);
            assert!(found.iter().all(|path| path.name() > UNCOMPARED));
            names.push(found);
        }
        assert_eq!(names[0], names[1]);
    }

    /// Beyond the bound names are digests, and those that exist stay.
    #[test]
    fn names_are_bounded() {
        let mut paths = Paths::new(&Config::default());
        let first = path(&mut paths, 7, 0);
        for address in 0..NAMED_MAX as u64 + 1000 {
            path(&mut paths, 1000 + address, 0);
        }
        assert_eq!((paths.named.len(), path(&mut paths, 7, 0)), (NAMED_MAX, first));
        let late = [0, 1].map(|at: u64| path(&mut paths, 1 << 40 | at, 0));
        assert!(late[0] != late[1] && late.iter().all(|path| path.name() >= DIGESTS));
        assert_eq!(late[0], path(&mut paths, 1 << 40, 0));
        let ignored = Config::default().with_link_addresses(LinkAddresses::Ignore);
        assert_eq!(path(&mut Paths::new(&ignored), 7, 0).name(), UNCOMPARED);
    }
}
