//! A script: the packets of one connection and the actions of the host's application, step by step.

use tidewire_types::tcp_flag::{ACK, CWR, ECE, FIN, PSH, RST, SYN, URG};

/// The host's socket: a listening one with its options, or one that connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Listener {
    /// Urgent data stays in the stream (`SO_OOBINLINE`), as by the engine's default.
    Inline,
    /// Urgent data is removed, the default of Linux: `--urgent out`.
    UrgentOut,
    /// A small receive buffer, and with it a small window.
    Small,
    /// Data on a SYN is accepted without a cookie (TCP Fast Open, RFC 7413).
    FastOpen,
    /// Segments without a correct MD5 signature (RFC 2385) are dropped.
    Signed,
    /// The host connects to the script's end, which thus answers its SYN. Urgent data stays in the stream.
    Connect,
}

impl Listener {
    /// Every kind that listens.
    pub const LISTENING: [Self; 5] = [Self::Inline, Self::UrgentOut, Self::Small, Self::FastOpen, Self::Signed];
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Inline, Self::UrgentOut, Self::Small, Self::FastOpen, Self::Signed, Self::Connect];

    /// Its name in a script's text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::UrgentOut => "urgent-out",
            Self::Small => "small",
            Self::FastOpen => "fast-open",
            Self::Signed => "signed",
            Self::Connect => "connect",
        }
    }
}

/// A TCP option.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Opt {
    /// One byte of padding.
    Nop,
    /// The end of the options.
    End,
    /// Largest segment.
    Mss(u16),
    /// Window scale.
    Scale(u8),
    /// Selective acknowledgments are permitted.
    SackOk,
    /// A timestamp's value, and the echo: `None` repeats the host's last value.
    Stamp(u32, Option<u32>),
    /// An MD5 signature, correct or not.
    Sign(bool),
    /// Any kind, with a stated length and these bytes.
    Raw(u8, u8, Vec<u8>),
}

/// A packet's TCP checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sum {
    /// Correct.
    #[default]
    Right,
    /// Wrong.
    Wrong,
    /// Zero.
    Zero,
}

/// A deviation from the ordinary IPv4 or IPv6 packet around a segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// Time to live or hop limit.
    Ttl(u8),
    /// The lower eight bits of type of service or traffic class.
    Tos(u8),
    /// IPv4 options, a multiple of four bytes.
    Options(Vec<u8>),
    /// A wrong IPv4 header checksum.
    BadSum,
    /// An IPv6 extension header: its number and its bytes, the first of which (next header) is set when it is written.
    Extension(u8, Vec<u8>),
    /// Fragments in order of arrival: first byte, byte after the last, traffic class.
    Fragments(Vec<(u16, u16, u8)>),
    /// The destination MAC's six bytes.
    Mac([u8; 6]),
    /// An 802.1Q tag.
    Vlan(u16),
    /// LLC and SNAP instead of an Ethernet type.
    Snap,
    /// Bytes behind the packet.
    Trailer(u8),
    /// Bytes cut off at the end of the frame.
    Cut(u8),
}

/// A TCP segment from the client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Offset of its first byte in the client's stream; a SYN has -1.
    pub at: i64,
    /// Its acknowledgment, relative to what the host has sent so far.
    pub ack: i64,
    /// Flags.
    pub flags: u8,
    /// Window field of the header, not scaled.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
    /// Options; padded to a multiple of four bytes.
    pub options: Vec<Opt>,
    /// Bytes of payload.
    pub length: u16,
    /// Version of these bytes: see [`byte`].
    pub version: u8,
    /// The TCP checksum.
    pub sum: Sum,
    /// Header length in words, if it is wrong.
    pub words: Option<u8>,
    /// Deviations of the packet around it.
    pub wraps: Vec<Wrap>,
}

/// Window of segments that do not specify another.
pub const WINDOW: u16 = 0xfaf0;

impl Segment {
    /// A segment with ordinary fields.
    #[must_use]
    pub fn new(at: i64, flags: u8, length: u16) -> Self {
        Self {
            at,
            ack: 0,
            flags,
            window: WINDOW,
            urgent: 0,
            options: Vec::new(),
            length,
            version: 0,
            sum: Sum::Right,
            words: None,
            wraps: Vec::new(),
        }
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The client's segment arrives.
    Send(Segment),
    /// Waits for the host's SYN-ACK, or for its SYN if it connects.
    Answer,
    /// Time passes, milliseconds.
    Wait(u16),
    /// The host's application reads all available bytes.
    Read,
    /// It writes this many bytes.
    Write(u16),
    /// It shuts down its direction.
    Shutdown,
    /// It reads all available bytes and closes.
    Close,
    /// It reads all available bytes and resets the connection.
    Abort,
}

/// A script.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Script {
    /// IPv6 instead of IPv4.
    pub is_ipv6: bool,
    /// The host's socket.
    pub listener: Listener,
    /// The client's initial sequence number.
    pub isn: u32,
    /// The steps.
    pub steps: Vec<Step>,
}

/// The byte of a version of the stream at an offset. Two versions differ at every offset.
#[must_use]
pub fn byte(version: u8, at: i64) -> u8 {
    (b'A' + (version % 8) * 7).wrapping_add(at.rem_euclid(7) as u8)
}

/// Letters of flags, lowest bit first.
pub const FLAGS: [(u8, char); 8] =
    [(FIN, 'F'), (SYN, 'S'), (RST, 'R'), (PSH, 'P'), (ACK, 'A'), (URG, 'U'), (ECE, 'E'), (CWR, 'C')];
