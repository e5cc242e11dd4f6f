//! Scripts: what an adversary sends.

use crate::craft::{ACK, FIN, PSH, RST, SYN};

/// A TCP segment of the client, relative to the connection.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Offset of its first byte in the client's stream; a SYN has -1.
    pub at: i64,
    /// Its acknowledgment, relative to what the host has sent.
    pub ack: i64,
    /// Flags.
    pub flags: u8,
    /// Window.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
    /// TCP options, a multiple of four bytes.
    pub options: Vec<u8>,
    /// Time to live.
    pub ttl: u8,
    /// IP options, a multiple of four bytes.
    pub ip_options: Vec<u8>,
    /// Whether the TCP checksum is wrong.
    pub bad_checksum: bool,
    /// Whether the IP checksum is wrong.
    pub bad_ip_checksum: bool,
    /// Payload.
    pub payload: Vec<u8>,
    /// Changes the finished frame.
    pub edit: Option<fn(&mut Vec<u8>)>,
    /// Captured, but lost before it reached the host (the capture was made in front of the last router).
    pub is_lost: bool,
}

/// A segment with flags, payload and offset; other fields are ordinary.
#[must_use]
pub fn segment(at: i64, flags: u8, payload: &[u8]) -> Segment {
    Segment {
        at,
        ack: 0,
        flags,
        window: 0xfaf0,
        urgent: 0,
        options: Vec::new(),
        ttl: 64,
        ip_options: Vec::new(),
        bad_checksum: false,
        bad_ip_checksum: false,
        payload: payload.to_vec(),
        edit: None,
        is_lost: false,
    }
}

/// Data.
#[must_use]
pub fn data(at: i64, payload: &str) -> Segment {
    segment(at, ACK | PSH, payload.as_bytes())
}

/// The end of the stream.
#[must_use]
pub fn fin(at: i64) -> Segment {
    segment(at, FIN | ACK, b"")
}

/// A reset.
#[must_use]
pub fn rst(at: i64) -> Segment {
    segment(at, RST, b"")
}

/// A SYN.
#[must_use]
pub fn syn() -> Segment {
    segment(-1, SYN, b"")
}

/// Two no-operations and a timestamp option (RFC 7323).
#[must_use]
pub fn timestamp(value: u32) -> Vec<u8> {
    let mut option = vec![1, 1, 8, 10];
    option.extend(value.to_be_bytes());
    option.extend([0; 4]);
    option
}

impl Segment {
    /// Changes one thing.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// One fragment of a segment: the range of bytes (TCP header included) that it carries.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// First byte, a multiple of eight.
    pub from: usize,
    /// One past the last byte.
    pub to: usize,
    /// Bytes that replace the correct ones.
    pub fill: Option<u8>,
}

/// A step of a script.
#[derive(Clone, Debug)]
pub enum Step {
    /// An ordinary handshake.
    Open,
    /// A segment.
    Send(Segment),
    /// A segment in fragments, in this order.
    Fragments(Segment, Vec<Cut>),
    /// Waits for the host's SYN-ACK.
    Answer,
    /// The application reads all available bytes.
    Read,
    /// Starts a new connection with the same addresses and ports and another initial sequence number.
    NewIsn(u32),
}

/// A case.
#[derive(Clone, Debug)]
pub struct Script {
    /// Its name; its folder is `pn-NAME`.
    pub name: &'static str,
    /// Its purpose, one line.
    pub shows: &'static str,
    /// Packets to send.
    pub steps: Vec<Step>,
    /// Engine settings that the case needs because packets cannot show them, by name.
    pub settings: &'static [(&'static str, u32)],
    /// Receive buffer of the host's socket, bytes; 0: the default.
    pub receive_buffer: i32,
}

/// A script with the handshake before its segments, and no settings.
#[must_use]
pub fn opened(name: &'static str, shows: &'static str, segments: Vec<Segment>) -> Script {
    let steps = [Step::Open].into_iter().chain(segments.into_iter().map(Step::Send)).collect();
    Script { name, shows, steps, settings: &[], receive_buffer: 0 }
}
