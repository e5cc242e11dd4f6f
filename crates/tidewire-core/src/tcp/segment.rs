use tidewire_wire::{Decoded, tcp_flag};

use crate::Mptcp;

/// SACK blocks that the options have room for (RFC 2018 section 3).
pub(crate) const SACKS_MAX: usize = 4;

/// The fields of a TCP header that reassembly needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    pub flags: u8,
    /// The flags in the byte before: AE (RFC 9768), and three that are reserved.
    pub high_flags: u8,
    /// Payload as stated, in bytes.
    pub length: u32,
    /// Timestamp value (RFC 7323), where the option is present.
    pub timestamp: Option<u32>,
    /// The timestamp that it echoes; 0: none.
    pub echo: u32,
    /// Window scale of a SYN (RFC 7323 section 2.3: at most 14), where the option is present.
    pub scale: Option<u8>,
    /// Left and right edges of SACK blocks (RFC 2018), in their order; equal edges: no block.
    pub sacks: [(u32, u32); SACKS_MAX],
    /// The option of Multipath TCP of a SYN.
    pub mptcp: Option<Mptcp>,
    /// Whether a SYN announces a largest segment that exceeds a usual frame.
    pub large_frames: bool,
    /// The urgent pointer.
    pub urgent: u16,
    /// Whether it has a TCP MD5 signature (RFC 2385), or one of TCP-AO (RFC 5925).
    pub signed: bool,
    /// Whether a host finds no signature in its options because they are malformed, and therefore drops the segment.
    pub unreadable: bool,
}

impl Segment {
    /// Reads the header at `decoded.transport_at`. `None` where fewer than 20 bytes were captured.
    #[inline(always)]
    pub(crate) fn of(bytes: &[u8], decoded: &Decoded) -> Option<Self> {
        let header = bytes.get(decoded.transport_at as usize..)?;
        let fixed: &[u8; 20] = header.first_chunk()?;
        let word = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
        let header_bytes = usize::from(fixed[12] >> 4) * 4;
        let options = match header.get(20..32) {
            // NOP NOP timestamps: the layout of nearly every stack (RFC 7323 appendix A).
            Some(&[1, 1, 8, 10, a, b, c, d, e, f, g, h]) if header_bytes == 32 => {
                Options { stamps: Some(pair([a, b, c, d, e, f, g, h])), ..Options::NONE }
            }
            _ if header_bytes > 20 => Options::of(header, header_bytes),
            _ => Options::NONE,
        };
        // No option of usual form is long enough.
        let signature = match header_bytes < 20 + SIGNATURE_BYTES {
            true => Signature::None,
            false => signature(header, header_bytes),
        };
        Some(Self {
            seq: word(4),
            ack: word(8),
            window: u16::from_be_bytes([fixed[14], fixed[15]]),
            flags: fixed[13],
            high_flags: fixed[12] & 0x0f,
            length: decoded.payload_bytes,
            timestamp: options.stamps.map(|stamps| stamps.0),
            echo: options.stamps.map_or(0, |stamps| stamps.1),
            scale: options.scale,
            sacks: options.sacks,
            mptcp: options.mptcp,
            large_frames: options.mss.is_some_and(|mss| mss > MSS_USUAL),
            urgent: u16::from_be_bytes([fixed[18], fixed[19]]),
            signed: matches!(signature, Signature::Md5 | Signature::Ao),
            unreadable: signature == Signature::Unreadable,
        })
    }

    #[inline(always)]
    pub(crate) fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }
}

/// Payload of a usual Ethernet frame without options: 1500 bytes less the headers of IPv4 and TCP.
const MSS_USUAL: u16 = 1460;

/// The contents of the options; of a SYN alone scale, MPTCP and the largest segment.
#[derive(Clone, Copy)]
struct Options {
    /// Timestamp value and echo. Of several timestamps the last one counts (Linux: `tcp_parse_options`).
    stamps: Option<(u32, u32)>,
    /// The blocks of the last SACK option.
    sacks: [(u32, u32); SACKS_MAX],
    scale: Option<u8>,
    mptcp: Option<Mptcp>,
    /// The largest segment that the sender accepts (RFC 9293 section 3.7.1).
    mss: Option<u16>,
}

impl Options {
    const NONE: Self = Self { stamps: None, sacks: [(0, 0); SACKS_MAX], scale: None, mptcp: None, mss: None };

    /// Reads all options up to the first malformed one.
    #[cold]
    fn of(header: &[u8], header_bytes: usize) -> Self {
        let mut all = Self::NONE;
        let mut options = header.get(20..header_bytes.min(header.len())).unwrap_or_default();
        let flags = header.get(13).copied().unwrap_or_default();
        let (is_syn, is_answer) = (flags & tcp_flag::SYN != 0, flags & tcp_flag::ACK != 0);
        loop {
            let length = match *options {
                [1, ref rest @ ..] => {
                    options = rest;
                    continue;
                }
                [0, ..] | [] | [_] => return all,
                [_, length, ..] => usize::from(length),
            };
            let (kind, Some(body)) = (options[0], options.get(2..length)) else { return all };
            match (kind, body) {
                (2, &[high, low]) if is_syn && all.mss.is_none() => all.mss = Some(u16::from_be_bytes([high, low])),
                (3, _) if is_syn && all.scale.is_none() => {
                    all.scale = Some(body.first().map_or(0, |scale| *scale).min(14))
                }
                (5, _) => all.note_sacks(body),
                (8, &[a, b, c, d, e, f, g, h]) => all.stamps = Some(pair([a, b, c, d, e, f, g, h])),
                (Mptcp::OPTION, _) if is_syn && all.mptcp.is_none() => all.mptcp = Mptcp::of(body, is_answer),
                _ => {}
            }
            options = &options[length..];
        }
    }

    fn note_sacks(&mut self, body: &[u8]) {
        let (edges, rest) = body.as_chunks();
        if rest.is_empty() {
            self.sacks = [(0, 0); SACKS_MAX];
            for (block, edges) in self.sacks.iter_mut().zip(edges) {
                *block = pair(*edges);
            }
        }
    }
}

/// Two numbers, as they stand in timestamps and in SACK blocks.
#[inline(always)]
fn pair([a, b, c, d, e, f, g, h]: [u8; 8]) -> (u32, u32) {
    (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
}

/// The result of a host's search for a signature among the options.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signature {
    None,
    Md5,
    Ao,
    /// Malformed options, or a signature of another length.
    Unreadable,
}

/// Length of the MD5 option (RFC 2385): Linux stops its search where less remains.
const SIGNATURE_BYTES: usize = 18;

/// Searches as Linux does (`tcp_do_parse_auth_options` of a kernel without TCP-AO, which looks for its option
/// nevertheless, and completes no handshake with it). Other hosts skip malformed options.
#[cold]
fn signature(header: &[u8], header_bytes: usize) -> Signature {
    const MD5: u8 = 19;
    /// TCP-AO (RFC 5925), and the length of its fixed part.
    const AO: (u8, usize) = (29, 4);
    let mut options = header.get(20..header_bytes.min(header.len())).unwrap_or_default();
    let mut found = Signature::None;
    while options.len() >= SIGNATURE_BYTES {
        match *options {
            [0, ..] => break,
            [1, ref rest @ ..] => options = rest,
            [kind, length, ..] => {
                let length = usize::from(length);
                let is_wrong = match kind {
                    MD5 => length != SIGNATURE_BYTES || found != Signature::None,
                    _ => kind == AO.0 && (length <= AO.1 || found != Signature::None),
                };
                match options.get(length..) {
                    Some(rest) if length >= 2 && !is_wrong => options = rest,
                    _ => return Signature::Unreadable,
                }
                match kind {
                    MD5 => found = Signature::Md5,
                    _ if kind == AO.0 => found = Signature::Ao,
                    _ => {}
                }
            }
            _ => break,
        }
    }
    found
}

/// Whether `a` comes after `b` in sequence space (RFC 9293 section 3.4): defined for every pair, never panics.
#[inline(always)]
pub(crate) fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}
