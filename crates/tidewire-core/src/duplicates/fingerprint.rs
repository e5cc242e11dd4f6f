//! The identity of a packet, and the place where it was seen.

use tidewire_types::siphash::siphash13_words;

use crate::{
    ChecksumStatus, Frame,
    wire::{Decoded, LinkType},
};

/// Bytes of a packet, from the IP header on, that are compared completely: headers and the first bytes of payload.
const HEAD_BYTES: usize = 128;
/// Bytes of each of the two samples of a longer packet.
const SAMPLE_BYTES: usize = 16;
/// Words of the head.
const WORDS: usize = HEAD_BYTES / 8;

/// Secrets of the hashes: a sender who knows them can make two packets look the same.
#[derive(Clone, Debug)]
pub(crate) struct Secrets([u64; WORDS + 6]);

impl Secrets {
    /// Derives the secrets from the key of all hashes.
    pub(crate) fn new(hash_key: [u64; 2]) -> Self {
        /// Separates this use of the hash key from others.
        const USE: u64 = 0x6475_706c_6963_6174;
        Self(std::array::from_fn(|at| siphash13_words(hash_key, [USE, at as u64])))
    }
}

/// The identity of a packet, and where it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    /// Digest of the IP packet without its hop limit and checksums: the header, the transport header, and payload. Of packets
    /// beyond [`HEAD_BYTES`] the length, the end and a sample at a secret place stand for the rest.
    pub content: u64,
    /// Digest of the interface, the link addresses, the tags and the tunnel.
    pub place: u32,
    /// Digest of the addresses and ports in this direction.
    pub pair: u32,
    /// IPv4 identification; 0: none.
    pub id: u16,
    /// Checksum of the transport header; 0 where it is part of `content`.
    pub checksum: u16,
    /// Whether the checksum is not computed yet: copies on their way to a network card have another one.
    pub is_unfinished: bool,
}

#[inline(always)]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline(always)]
fn words(bytes: &[u8; SAMPLE_BYTES]) -> [u64; 2] {
    let (low, high) = bytes.split_at(8);
    [low, high].map(|half| half.first_chunk::<8>().map_or(0, |word| u64::from_le_bytes(*word)))
}

impl Fingerprint {
    /// Whether the checksums of two packets of the same content show no difference of their bytes.
    #[inline]
    pub(crate) fn agrees(&self, checksum: u16, is_unfinished: bool) -> bool {
        self.checksum == checksum || self.is_unfinished || is_unfinished
    }

    /// The fingerprint of the innermost IP packet of a frame; `None` where it has none.
    #[inline]
    pub(crate) fn of(frame: &Frame, bytes: &[u8], decoded: &Decoded, secrets: &Secrets) -> Option<Self> {
        let at = decoded.ip_at as usize;
        let rest = bytes.get(at..)?;
        // Without the padding of short frames, which differs from link to link.
        let packet = rest.get(..decoded.ip_bytes as usize).unwrap_or(rest);
        let mut head = [0_u8; HEAD_BYTES];
        match packet.first_chunk::<HEAD_BYTES>() {
            Some(first) => head = *first,
            None => head.get_mut(..packet.len())?.copy_from_slice(packet),
        }
        let (id, addresses) = match decoded.ip_version {
            4 => {
                head[8] = 0;
                head[10] = 0;
                head[11] = 0;
                (u16::from_be_bytes([head[4], head[5]]), 12)
            }
            6 => {
                head[7] = 0;
                (0, 8)
            }
            _ => return None,
        };
        let checksum_at = match decoded.proto {
            6 => Some(16),
            17 => Some(6),
            _ => None,
        };
        let transport = (decoded.transport_at as usize).wrapping_sub(at);
        let mut checksum = 0;
        // Fragments after the first have no transport header.
        if let (Some(offset), true) = (checksum_at, decoded.transport_at > decoded.ip_at)
            && let Some([high, low]) =
                head.get_mut(transport.wrapping_add(offset)..).and_then(<[u8]>::first_chunk_mut::<2>)
        {
            checksum = u16::from_be_bytes([*high, *low]);
            (*high, *low) = (0, 0);
        }
        let content = content(&head, packet, secrets);
        let pair = pair(&head, addresses, transport, secrets);
        let is_unfinished = frame.checksum == ChecksumStatus::NotReady;
        Some(Self { content, place: place(frame, bytes, decoded, secrets), pair, id, checksum, is_unfinished })
    }
}

/// The digest of a packet, whose head has no fields that change on the way.
#[inline(always)]
fn content(head: &[u8; HEAD_BYTES], packet: &[u8], secrets: &Secrets) -> u64 {
    let Secrets(secrets) = secrets;
    let mut sum = packet.len() as u64 ^ secrets[WORDS];
    for (chunk, secret) in head.chunks_exact(SAMPLE_BYTES).zip(secrets.chunks_exact(2)) {
        if let (Some(chunk), [first, second]) = (chunk.first_chunk(), secret) {
            let [low, high] = words(chunk);
            sum = sum.wrapping_add(folded(low ^ first, high ^ second));
        }
    }
    let beyond = packet.len().saturating_sub(HEAD_BYTES + SAMPLE_BYTES);
    if beyond > 0 {
        let sample = HEAD_BYTES + (folded(sum, secrets[WORDS + 1]) as usize % beyond);
        for (at, secret) in [(sample, secrets[WORDS + 2]), (packet.len() - SAMPLE_BYTES, secrets[WORDS + 3])] {
            if let Some(chunk) = packet.get(at..).and_then(<[u8]>::first_chunk) {
                let [low, high] = words(chunk);
                sum = sum.wrapping_add(folded(low ^ secret, high ^ secrets[WORDS]));
            }
        }
    }
    // 0 is an empty entry.
    folded(sum ^ secrets[WORDS + 4], sum.rotate_left(32) ^ secrets[WORDS + 5]).max(1)
}

/// The digest of addresses and ports. IPv4 addresses begin at 12, IPv6 ones at 8.
#[inline(always)]
fn pair(head: &[u8; HEAD_BYTES], addresses: usize, transport: usize, secrets: &Secrets) -> u32 {
    let Secrets(secrets) = secrets;
    let word = |at: usize| {
        let chunk = head.get(at..).and_then(<[u8]>::first_chunk::<8>);
        chunk.map_or(0, |chunk| u64::from_le_bytes(*chunk))
    };
    let ports = word(transport) & 0xffff_ffff;
    let mut sum = folded(word(addresses) ^ secrets[0], ports ^ secrets[1]);
    if addresses == 8 {
        sum = sum.wrapping_add(folded(word(16) ^ secrets[2], word(24) ^ secrets[3]));
        sum = sum.wrapping_add(word(32).wrapping_mul(secrets[4] | 1));
    }
    (sum >> 32) as u32
}

/// The digest of where a frame was seen: its interface, its link addresses and what lies between them and the packet. What
/// differs from packet to packet (sequence numbers of tunnels, 802.11) is left out.
#[inline(always)]
fn place(frame: &Frame, bytes: &[u8], decoded: &Decoded, secrets: &Secrets) -> u32 {
    let Secrets(secrets) = secrets;
    let link_bytes = match frame.link {
        // Two addresses.
        LinkType::ETHERNET => 12,
        // Kind of packet, hardware, address; of the second version the interface, too.
        LinkType::LINUX_SLL => 16,
        LinkType::LINUX_SLL2 => 20,
        _ => 0,
    };
    let word = |at: usize| {
        let bytes = bytes.get(at..link_bytes).unwrap_or_default();
        match (bytes.first_chunk::<8>(), bytes.first_chunk::<4>()) {
            (Some(chunk), _) => u64::from_le_bytes(*chunk),
            (None, Some(chunk)) => u32::from_le_bytes(*chunk).into(),
            // (These headers are several times four bytes, and frames that were decoded have all of them.)
            (None, None) => 0,
        }
    };
    let [outer, inner] = decoded.vlans.raw();
    let tags = u64::from(outer) << 48 | u64::from(inner) << 32 | u64::from(decoded.tunnel.id);
    let kind = u64::from(frame.interface) << 8 | decoded.tunnel.kind as u64;
    let mut sum = folded(word(0) ^ secrets[5], word(8) ^ secrets[6]);
    sum = sum.wrapping_add(folded(tags ^ secrets[7], kind ^ secrets[8]));
    if link_bytes > 16 {
        sum = sum.wrapping_add(folded(word(16) ^ secrets[9], secrets[10]));
    }
    (sum >> 32) as u32
}
