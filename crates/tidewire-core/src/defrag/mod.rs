//! Datagrams from fragments (N3), IPv4 and IPv6.
//!
//! Fragments are kept until their datagram is whole, in a table with bounds for everything; what is wrong with one is
//! seen when it arrives. Bytes that overlap are decided by a [`DefragPolicy`]; for [`DefragPolicy::Linux`] the kernel's
//! own steps are taken. A datagram with an invalid fragment is given up at once: what else comes of it costs one look
//! into the table (with `Linux`, where a host begins anew, a new datagram).

mod datagram;
mod pending;
mod rebuild;
mod rejection;
mod table;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use datagram::Effect;
use pending::{Datagram, Verdict};
pub use rejection::Rejection;
use table::{NIL, Table};

use crate::{
    ChecksumStatus, Config, DefragPolicy, Frame,
    engine::path::Path,
    wire::{Decoded, Tunnel},
};

/// IPv4's total length and IPv6's payload length have 16 bits.
const IP_LENGTH_MAX: u32 = 65_535;
/// What fragments of a datagram have in common: addresses, identification, protocol (IPv4), VLAN and tunnel. These two
/// tell networks with equal addresses apart whatever flows' keys are made of: fragments of a datagram go one way, so
/// that ids that belong to a direction do not divide them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key([u64; 7]);

impl Key {
    /// `path`: fragments of a datagram come by one way, and a host that drops one of them drops what is like it.
    fn of(bytes: &[u8], decoded: &Decoded, path: Path) -> Option<Self> {
        let header = bytes.get(decoded.ip_at as usize..)?;
        let word = |at: usize| Some(u64::from_be_bytes(*header.get(at..at + 8)?.first_chunk()?));
        let mut words = [0; 7];
        let mut kind = u64::from(decoded.ip_version) << 40;
        if decoded.ip_version == 6 {
            words[..4].copy_from_slice(&[word(8)?, word(16)?, word(24)?, word(32)?]);
        } else {
            let addresses = word(12)?;
            (words[0], words[2]) = (addresses >> 32, addresses & 0xffff_ffff);
            // IPv6 does not tell datagrams apart by protocol (RFC 8200 section 4.5).
            kind |= u64::from(decoded.fragment.proto) << 32;
        }
        words[4] = kind | u64::from(decoded.fragment.id);
        words[5] = u64::from(path.0) << 32 | u64::from(decoded.vlan[0]) << 16 | u64::from(decoded.vlan[1]);
        words[6] = (decoded.tunnel.kind as u64) << 32 | u64::from(decoded.tunnel.id);
        Some(Self(words))
    }

    /// How its fragments came.
    fn path(&self) -> Path {
        Path((self.0[5] >> 32) as u32)
    }

    fn is_ipv6(&self) -> bool {
        self.0[4] >> 40 == 6
    }

    fn address(&self, at: usize) -> IpAddr {
        let (high, low) = (self.0[at], self.0[at + 1]);
        if self.is_ipv6() {
            Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low)).into()
        } else {
            Ipv4Addr::from_bits(high as u32).into()
        }
    }
}

/// The settings that bound the table; see [`Config`] for each.
#[derive(Clone, Debug)]
struct Bounds {
    fragment_bytes_min: u32,
    fragments_max: u32,
    datagram_bytes_max: u32,
    fragment_timeout_ns: u64,
    fragment_memory_bytes: u64,
    datagrams_max: u32,
}

/// A datagram that will not be rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// See the module.
#[derive(Debug)]
pub struct Defragmenter {
    bounds: Bounds,
    table: Table,
    /// See `Path::of`.
    path_key: [u64; 2],
    /// The packet that was rebuilt last.
    packet: Vec<u8>,
}

impl Defragmenter {
    /// An empty one.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let bounds = Bounds {
            fragment_bytes_min: config.fragment_bytes_min,
            fragments_max: config.fragments_max,
            datagram_bytes_max: config.datagram_bytes_max,
            fragment_timeout_ns: config.fragment_timeout_ns,
            fragment_memory_bytes: config.fragment_memory_bytes,
            datagrams_max: config.datagrams_max.max(1),
        };
        let path_key = Path::key(config);
        Self { bounds, table: Table::new(config.hash_key), path_key, packet: Vec::new() }
    }

    /// Memory that fragments and their bookkeeping take. (The packet rebuilt last, at most 64 KiB and a header, is not
    /// among it: it is kept for the next one.)
    #[must_use]
    pub fn charged_bytes(&self) -> u64 {
        if self.table.count() == 0 { 0 } else { self.table.charge() }
    }

    /// Everything that is taken, with what is kept for the next fragment.
    pub(crate) fn bytes(&self) -> u64 {
        self.table.charge() + self.packet.capacity() as u64
    }

    /// Datagrams under way, and those rejected whose fragments may still come.
    #[must_use]
    pub fn datagrams(&self) -> u32 {
        self.table.count()
    }

    /// Takes in a fragment: a frame for which `decoded.kind` is `Fragment`. `on_end` is told each datagram that ends
    /// without being rebuilt.
    pub fn insert(
        &mut self,
        policy: DefragPolicy,
        frame: &Frame,
        bytes: &[u8],
        decoded: &Decoded,
        on_end: &mut dyn FnMut(&Ended),
    ) -> Outcome<'_> {
        self.expire(frame.clock_ns, on_end);
        let Some(key) = Key::of(bytes, decoded, Path::of(frame, bytes, decoded, self.path_key)) else {
            return Outcome::Rejected(Rejection::Snapped);
        };
        let hash = self.table.hash(&key);
        let mut at = self.table.find(hash, &key);
        if let Some(Some(rejection)) = self.table.get(at).map(|found| found.rejected.filter(|_| found.is_entombed)) {
            return Outcome::Rejected(rejection);
        }
        if at == NIL {
            let deadline_ns = frame.clock_ns.saturating_add(self.bounds.fragment_timeout_ns);
            at = self.table.add(Box::new(Datagram::new(key, hash, policy, deadline_ns, decoded)));
        }
        let Some(datagram) = self.table.get_mut(at) else { return Outcome::Held };
        let verdict = datagram.judge(&self.bounds, bytes, decoded);
        if !matches!(verdict, Verdict::Final(Effect::Dropped(_))) {
            datagram.note(frame, decoded);
        }
        let effect = match verdict {
            Verdict::Sound => datagram.take(bytes, decoded),
            Verdict::Doomed(rejection) => {
                if datagram.rejected.is_none() {
                    on_end(&datagram.ended(rejection));
                    datagram.doom(rejection);
                }
                datagram.take(bytes, decoded)
            }
            Verdict::Final(effect) => effect,
        };
        self.conclude(at, effect, on_end)
    }

    /// What follows from a fragment's effect on its datagram.
    fn conclude(&mut self, at: u32, effect: Effect, on_end: &mut dyn FnMut(&Ended)) -> Outcome<'_> {
        let Some(datagram) = self.table.get_mut(at) else { return Outcome::Held };
        let doomed = datagram.rejected;
        match effect {
            Effect::Complete => {
                let Some(datagram) = self.table.remove(at) else { return Outcome::Held };
                if let Some(rejection) = doomed {
                    return Outcome::Rejected(rejection);
                }
                if datagram.mixes_ecn() {
                    on_end(&datagram.ended(Rejection::MixedEcn));
                    return Outcome::Rejected(Rejection::MixedEcn);
                }
                if rebuild::rebuild(&datagram, &mut self.packet) {
                    return Outcome::Rebuilt(datagram.rebuilt(&self.packet));
                }
                on_end(&datagram.ended(Rejection::Oversized));
                Outcome::Rejected(Rejection::Oversized)
            }
            Effect::Dropped(rejection) => {
                if datagram.fragments == 0 {
                    // Nothing of its datagram was kept.
                    self.table.remove(at);
                }
                Outcome::Rejected(rejection)
            }
            Effect::Killed(rejection) => {
                let removed = self.table.remove(at).filter(|_| doomed.is_none());
                removed.iter().for_each(|datagram| on_end(&datagram.ended(rejection)));
                Outcome::Rejected(rejection)
            }
            Effect::Poisoned(rejection) => {
                if doomed.is_none() {
                    on_end(&datagram.ended(rejection));
                }
                datagram.entomb(rejection);
                self.table.recharge(at);
                self.evict(on_end);
                Outcome::Rejected(rejection)
            }
            Effect::Held => {
                if let Some(rejection) = doomed {
                    self.table.recharge(at);
                    self.evict(on_end);
                    return Outcome::Rejected(rejection);
                }
                datagram.unsettled += 1;
                self.table.recharge(at);
                self.evict(on_end);
                Outcome::Held
            }
        }
    }

    /// Gives up the datagrams whose time is over.
    pub fn expire(&mut self, clock_ns: u64, on_end: &mut dyn FnMut(&Ended)) {
        loop {
            let oldest = self.table.oldest();
            if self.table.get(oldest).is_none_or(|datagram| datagram.deadline_ns >= clock_ns) {
                return;
            }
            self.give_up(oldest, Rejection::Timeout, on_end);
        }
    }

    /// Gives up everything: the input has ended.
    pub fn finish(&mut self, on_end: &mut dyn FnMut(&Ended)) {
        while self.table.count() > 0 {
            self.give_up(self.table.oldest(), Rejection::EndOfInput, on_end);
        }
    }

    fn evict(&mut self, on_end: &mut dyn FnMut(&Ended)) {
        while self.table.count() > self.bounds.datagrams_max
            || self.table.count() > 0 && self.table.charge() > self.bounds.fragment_memory_bytes
        {
            self.give_up(self.table.worst(), Rejection::Memory, on_end);
        }
    }

    fn give_up(&mut self, at: u32, rejection: Rejection, on_end: &mut dyn FnMut(&Ended)) {
        let Some(datagram) = self.table.remove(at) else { return };
        if datagram.rejected.is_none() {
            on_end(&datagram.ended(rejection));
        }
    }
}
