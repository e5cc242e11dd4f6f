//! A pending datagram, with what is reported at its end.

use super::{
    Rejection,
    bounds::{Bounds, IP_LENGTH_MAX},
    datagram::{Assembly, Effect, Part},
    key::Key,
    links::{Links, NIL},
    outcome::{Ended, Rebuilt},
};
use crate::{
    ChecksumStatus, DefragPolicy, Frame, Vlans,
    wire::{Decoded, Tunnel, ip_protocol},
};

/// TCP's header without options.
const TCP_HEADER_BYTES: u32 = 20;

/// A pending datagram.
#[derive(Debug)]
pub(super) struct Datagram {
    pub key: Key,
    pub hash: u64,
    pub next_of_hash: u32,
    pub links: [Links; 2],
    pub source: u8,
    pub charged: u64,

    pub policy: DefragPolicy,
    pub assembly: Assembly,
    /// Why it will not be rebuilt. Its end was reported.
    pub rejected: Option<Rejection>,
    /// Whether it is a tombstone, whose later fragments are not examined. (Another rejected datagram is still followed,
    /// to know when a host would have begun a new one.)
    pub is_tombstone: bool,
    /// The headers of its first fragment; empty until that arrived.
    pub header: Box<[u8]>,
    /// IPv6: where in `header` the fragment header is named as next header.
    pub next_header_at: u32,
    pub proto: u8,
    pub vlans: Vlans,
    pub tunnel: Tunnel,
    /// Clock of its timeout: it is expired for fragments that arrive later.
    pub deadline_ns: u64,
    pub fragments: u32,
    /// Fragments without a fate yet.
    pub unsettled: u32,
    pub frame_bytes: u64,
    pub ip_bytes: u64,
    pub last_number: u64,
    /// Numbers of the frames that its fragments came in, until it is rejected.
    pub numbers: Vec<u64>,
    /// A bit for each value of the two ECN bits (RFC 3168 section 5) that a fragment had.
    pub ecn: u8,
    /// `NotReady` if all fragments have it: the kernel verifies a datagram whose fragments differ
    /// (`inet_frag_reasm_finish`).
    pub checksum: ChecksumStatus,
}

impl Datagram {
    /// Bytes charged for it.
    pub fn charge(&self) -> u64 {
        // Allocators keep about two words for each block.
        let header = if self.header.is_empty() { 0 } else { self.header.len() as u64 + 16 };
        let numbers = size_of_val(self.numbers.as_slice()) as u64;
        size_of::<Self>() as u64 + 16 + header + numbers + self.assembly.store.charge()
    }
}

impl Datagram {
    pub fn new(key: Key, hash: u64, policy: DefragPolicy, deadline_ns: u64, decoded: &Decoded) -> Self {
        Self {
            key,
            hash,
            next_of_hash: NIL,
            links: [Links::NONE; 2],
            source: 0,
            charged: 0,
            policy,
            assembly: Assembly::default(),
            rejected: None,
            is_tombstone: false,
            header: Box::default(),
            next_header_at: 0,
            proto: decoded.fragment.proto,
            vlans: decoded.vlans,
            tunnel: decoded.tunnel,
            deadline_ns,
            fragments: 0,
            unsettled: 0,
            frame_bytes: 0,
            ip_bytes: 0,
            last_number: 0,
            numbers: Vec::new(),
            ecn: 0,
            checksum: ChecksumStatus::Unknown,
        }
    }

    /// Counts a fragment, which came in frames of these numbers.
    pub fn note(&mut self, frame: &Frame, decoded: &Decoded, numbers: &[u64]) {
        let is_ready = frame.checksum != ChecksumStatus::NotReady;
        if self.fragments == 0 && !is_ready {
            self.checksum = ChecksumStatus::NotReady;
        } else if is_ready {
            self.checksum = ChecksumStatus::Unknown;
        }
        self.fragments += 1;
        self.frame_bytes += u64::from(frame.wire_bytes);
        self.ip_bytes += u64::from(decoded.ip_bytes);
        self.last_number = frame.number;
        if self.rejected.is_none() {
            self.numbers.extend_from_slice(numbers);
        }
    }

    /// The verdict on a fragment that does not depend on the place of others.
    pub fn judge(&self, bounds: &Bounds, bytes: &[u8], decoded: &Decoded) -> Verdict {
        let fragment = &decoded.fragment;
        let (length, is_ipv6) = (fragment.data_bytes, self.key.is_ipv6());
        let end = fragment.offset_bytes.saturating_add(length);
        let is_aligned = !fragment.more || length.is_multiple_of(8);
        let poisoned = |rejection| Verdict::Final(Effect::Poisoned(rejection));
        if self.fragments >= bounds.fragments_max {
            return poisoned(Rejection::TooMany);
        }
        // RFC 8200 requires all headers in the first fragment.
        let is_cut =
            is_ipv6 && fragment.offset_bytes == 0 && fragment.proto == ip_protocol::TCP && length < TCP_HEADER_BYTES;
        if self.policy == DefragPolicy::Linux {
            let is_cut = is_ipv6 && header_is_cut(bytes, decoded).unwrap_or(false);
            if is_ipv6 && (is_cut || !is_aligned || end > IP_LENGTH_MAX) {
                let other = if is_aligned { Rejection::Oversized } else { Rejection::Unaligned };
                return Verdict::Final(Effect::Dropped(if is_cut { Rejection::HeaderIncomplete } else { other }));
            }
            // (Fragments of less than eight bytes are judged as in the kernel.)
            if fragment.more && length < bounds.fragment_bytes_min && length >= 8 {
                return poisoned(Rejection::Tiny);
            }
        } else if length == 0 || fragment.more && length < bounds.fragment_bytes_min {
            return poisoned(Rejection::Tiny);
        } else if !is_aligned {
            return poisoned(Rejection::Unaligned);
        } else if is_cut && self.policy == DefragPolicy::Rfc5722 {
            return poisoned(Rejection::HeaderIncomplete);
        }
        let headers = if is_ipv6 { 0 } else { fragment.unfragmentable_bytes };
        let reject = if end > bounds.datagram_bytes_max || end.saturating_add(headers) > IP_LENGTH_MAX {
            Rejection::Oversized
        } else if data_of(bytes, decoded).len() < length as usize {
            Rejection::Snapped
        } else {
            return Verdict::Sound;
        };
        if self.policy == DefragPolicy::Linux { Verdict::Rejected(reject) } else { poisoned(reject) }
    }

    /// Stores a fragment.
    pub fn take(&mut self, bytes: &[u8], decoded: &Decoded) -> Effect {
        let fragment = &decoded.fragment;
        let part = Part {
            offset: fragment.offset_bytes,
            end: fragment.offset_bytes.saturating_add(fragment.data_bytes),
            more: fragment.more,
            data: data_of(bytes, decoded),
        };
        let overlaps = self.assembly.overlaps;
        let effect = self.assembly.insert(self.policy, &part, self.rejected.is_some());
        let is_taken = matches!(effect, Effect::Held | Effect::Complete);
        // A repetition is not examined further.
        if is_taken && self.assembly.overlaps == overlaps {
            self.ecn |= 1 << ecn_of(bytes, decoded);
        }
        if is_taken && fragment.offset_bytes == 0 && self.header.is_empty() {
            let from = decoded.ip_at as usize;
            let header = bytes.get(from..from + fragment.unfragmentable_bytes as usize);
            self.header = header.unwrap_or_default().into();
            self.next_header_at = fragment.next_header_at.saturating_sub(decoded.ip_at);
            (self.proto, self.vlans, self.tunnel) = (fragment.proto, decoded.vlans, decoded.tunnel);
        }
        effect
    }

    /// Whether a host drops the complete datagram because some of its fragments had ECN and others had not.
    pub fn mixes_ecn(&self) -> bool {
        const WITHOUT: u8 = 1;
        self.policy == DefragPolicy::Linux && self.ecn & WITHOUT != 0 && self.ecn != WITHOUT
    }

    /// Rejects the datagram, but keeps track of the place of its fragments.
    pub fn reject(&mut self, rejection: Rejection) {
        self.rejected = Some(rejection);
        self.unsettled = 0;
        self.numbers = Vec::new();
        self.assembly.store.forget_bytes();
    }

    /// Makes the datagram a tombstone: it is rejected, and later fragments are not examined.
    pub fn make_tombstone(&mut self, rejection: Rejection) {
        (self.rejected, self.is_tombstone) = (Some(rejection), true);
        self.unsettled = 0;
        (self.assembly, self.header, self.numbers) = (Assembly::default(), Box::default(), Vec::new());
    }

    pub fn ended(&self, rejection: Rejection) -> Ended<'_> {
        Ended {
            packet: self.last_number,
            source: self.key.address(0),
            destination: self.key.address(2),
            ip_id: self.key.0[4] as u32,
            proto: self.proto,
            fragments: self.fragments,
            unsettled: self.unsettled,
            overlaps: self.assembly.overlaps,
            policy: self.policy,
            rejection,
            numbers: &self.numbers,
        }
    }

    pub fn rebuilt<'a>(&self, packet: &'a [u8], numbers: &'a [u64]) -> Rebuilt<'a> {
        let ttl_at = if self.key.is_ipv6() { 7 } else { 8 };
        Rebuilt {
            packet,
            header_bytes: self.header.len() as u32,
            source: self.key.address(0),
            destination: self.key.address(2),
            ip_id: self.key.0[4] as u32,
            proto: self.proto,
            ttl: self.header.get(ttl_at).copied().unwrap_or(0),
            vlans: self.vlans,
            tunnel: self.tunnel,
            fragments: self.fragments,
            unsettled: self.unsettled,
            frame_bytes: self.frame_bytes,
            ip_bytes: self.ip_bytes,
            overlaps: self.assembly.overlaps,
            conflict_bytes: self.assembly.conflict_bytes,
            policy: self.policy,
            checksum: self.checksum,
            numbers,
        }
    }
}

/// The verdict on one fragment.
pub(super) enum Verdict {
    /// The fragment by itself is valid.
    Sound,
    /// Its datagram will not be rebuilt, but a host would continue it (Linux).
    Rejected(Rejection),
    /// The fragment is not stored.
    Final(Effect),
}

/// Whether a first fragment ends before its transport header does, by Linux's rules (`ipv6frag_thdr_truncated`): the
/// kernel begins at the fragment header with the protocol that the IPv6 header names, so behind other headers it takes
/// the fragment header for one of them, and every fragment for a first one. `None`: a header is missing, and the kernel
/// stops.
fn header_is_cut(bytes: &[u8], decoded: &Decoded) -> Option<bool> {
    const NEXT_HEADER: usize = 6;
    let fragment = &decoded.fragment;
    let end = fragment.data_at as usize + fragment.data_bytes as usize;
    let byte = |at: usize| bytes.get(at).copied().filter(|_| at < end).map(usize::from);
    let mut next = byte(decoded.ip_at as usize + NEXT_HEADER)?;
    let mut at = (fragment.data_at as usize).checked_sub(8)?;
    loop {
        let (named, length) = (byte(at), byte(at + 1));
        let header_bytes = match next {
            44 if (byte(at + 2)? << 8 | byte(at + 3)?) & !7 != 0 => return None,
            44 => 8,
            0 | 43 | 60 => (length? + 1) * 8,
            51 => (length? + 2) * 4,
            59 => return None,
            _ => break,
        };
        next = named?;
        at += header_bytes;
    }
    let least = match next {
        6 => TCP_HEADER_BYTES as usize,
        17 | 58 => 8,
        _ => 1,
    };
    Some(at + least > end)
}

/// The two bits of ECN in a fragment's IP header.
fn ecn_of(bytes: &[u8], decoded: &Decoded) -> u8 {
    let at = decoded.ip_at as usize + 1;
    let byte = bytes.get(at).copied().unwrap_or(0);
    // IPv6: the traffic class begins in the middle of a byte.
    (if decoded.ip_version == 6 { byte >> 4 } else { byte }) & 3
}

/// The captured part of the fragment's data.
fn data_of<'a>(bytes: &'a [u8], decoded: &Decoded) -> &'a [u8] {
    let data = bytes.get(decoded.fragment.data_at as usize..).unwrap_or_default();
    data.get(..decoded.fragment.data_bytes as usize).unwrap_or(data)
}
