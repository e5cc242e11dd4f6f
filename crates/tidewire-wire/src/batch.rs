use std::fmt;

use tidewire_types::Timestamp;

use crate::LinkType;

/// Status of a frame's transport checksum, as its source reports it.
///
/// Between a sender's stack and its network card a checksum is not computed yet; the same holds for segments that a
/// receiving host has merged. Linux reports both to packet sockets (`linux/if_packet.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChecksumStatus {
    /// Nothing is reported (files, AF_XDP): the bytes must be verified.
    #[default]
    Unknown,
    /// Not computed yet; every receiver accepts it (`TP_STATUS_CSUMNOTREADY`).
    NotReady,
    /// Verified by the network card or the kernel (`TP_STATUS_CSUM_VALID`, from Linux 6.2 on: earlier kernels also set
    /// it for checksums that were computed, but not compared).
    Verified,
}

/// A frame: its place in a batch's memory, and its metadata.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// Offset of the frame's first byte in [`Batch::memory`].
    pub at: u32,
    /// Captured bytes.
    pub captured_bytes: u32,
    /// Bytes on the wire; at least `captured_bytes`.
    pub wire_bytes: u32,
    /// The link type that the frame begins with.
    pub link: LinkType,
    /// Index of its interface, in the order of their first appearance in the whole input.
    pub interface: u16,
    /// When it was captured.
    pub timestamp: Timestamp,
    /// The clock of timers: the greatest timestamp of this frame and all before it in the whole input, without outliers
    /// (see [`PacketClock`](crate::PacketClock)).
    pub clock: Timestamp,
    /// Number of the frame in the whole input, from 1.
    pub number: u64,
    /// [`offset`](Self::offset) plus one, or 0.
    #[doc(hidden)]
    pub origin: u64,
    /// Status of its transport checksum.
    pub checksum: ChecksumStatus,
}

impl Frame {
    /// A frame of this link type, captured at this time: number 1 of the first interface, without bytes yet. Its clock is its time,
    /// and nothing is known of its checksum.
    #[must_use]
    #[inline]
    pub const fn new(link: LinkType, timestamp: Timestamp) -> Self {
        Self {
            at: 0,
            captured_bytes: 0,
            wire_bytes: 0,
            link,
            interface: 0,
            timestamp,
            clock: timestamp,
            number: 1,
            origin: 0,
            checksum: ChecksumStatus::Unknown,
        }
    }

    /// Sets its place in [`Batch::memory`]; its bytes on the wire are at least those captured.
    #[must_use]
    #[inline]
    pub const fn with_place(mut self, at: u32, captured_bytes: u32) -> Self {
        (self.at, self.captured_bytes) = (at, captured_bytes);
        if self.wire_bytes < captured_bytes {
            self.wire_bytes = captured_bytes;
        }
        self
    }

    /// Sets [`wire_bytes`](Self::wire_bytes): of a frame that was truncated more than was captured.
    #[must_use]
    #[inline]
    pub const fn with_wire_bytes(mut self, bytes: u32) -> Self {
        self.wire_bytes = bytes;
        self
    }

    /// Sets [`link`](Self::link).
    #[must_use]
    #[inline]
    pub const fn with_link(mut self, link: LinkType) -> Self {
        self.link = link;
        self
    }

    /// Sets [`interface`](Self::interface).
    #[must_use]
    #[inline]
    pub const fn with_interface(mut self, interface: u16) -> Self {
        self.interface = interface;
        self
    }

    /// Sets [`number`](Self::number).
    #[must_use]
    #[inline]
    pub const fn with_number(mut self, number: u64) -> Self {
        self.number = number;
        self
    }

    /// Sets [`timestamp`](Self::timestamp), and leaves the clock.
    #[must_use]
    #[inline]
    pub const fn with_timestamp(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = timestamp;
        self
    }

    /// Sets [`clock`](Self::clock); see [`PacketClock`](crate::PacketClock).
    #[must_use]
    #[inline]
    pub const fn with_clock(mut self, clock: Timestamp) -> Self {
        self.clock = clock;
        self
    }

    /// Where the frame's bytes can be read again: an offset in a plain file that is the input.
    #[must_use]
    #[inline]
    pub const fn offset(&self) -> Option<u64> {
        self.origin.checked_sub(1)
    }

    /// The same as [`origin`](Self::origin) has it.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub const fn with_origin(mut self, origin: u64) -> Self {
        self.origin = origin;
        self
    }

    /// Sets [`checksum`](Self::checksum).
    #[must_use]
    #[inline]
    pub const fn with_checksum(mut self, checksum: ChecksumStatus) -> Self {
        self.checksum = checksum;
        self
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("at", &self.at)
            .field("captured_bytes", &self.captured_bytes)
            .field("wire_bytes", &self.wire_bytes)
            .field("link", &self.link)
            .field("interface", &self.interface)
            .field("timestamp", &self.timestamp)
            .field("clock", &self.clock)
            .field("number", &self.number)
            .field("origin", &(self.origin != 0).then_some(self.origin))
            .field("checksum", &self.checksum)
            .finish()
    }
}

/// Packets that a capture lost, by its own account, between a frame and the one before it at the same interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketLoss {
    /// Number of the frame behind them; `None`: not known.
    pub number: Option<u64>,
    /// Its interface.
    pub interface: u16,
    /// Its timestamp: the latest time at which they were lost.
    pub timestamp: Timestamp,
    /// The earliest time at which they were lost, where the capture knows more than its timestamp: when it read its counts before.
    pub since: Timestamp,
    /// How many packets.
    pub packets: u64,
}

impl PacketLoss {
    /// So many packets before this frame, at its time.
    #[must_use]
    pub const fn before(frame: &Frame, packets: u64) -> Self {
        let Frame { number, interface, timestamp, .. } = *frame;
        Self { number: Some(number), interface, timestamp, since: timestamp, packets }
    }

    /// So many packets at an interface, at a time between these two; the frame behind them is not known.
    #[must_use]
    pub const fn between(interface: u16, since: Timestamp, timestamp: Timestamp, packets: u64) -> Self {
        Self { number: None, interface, timestamp, since, packets }
    }

    /// Sets the number of the frame behind them, in a method chain.
    #[must_use]
    pub const fn with_number(mut self, number: u64) -> Self {
        self.number = Some(number);
        self
    }
}

/// Memory that may be read only in part: rings, to which the kernel writes beside the frames that it handed over.
pub trait Parts: Sync {
    /// The bytes, if all of them may be read and do not change while `self` is borrowed.
    fn part(&self, at: usize, bytes: usize) -> Option<&[u8]>;
}

/// The memory that a batch's frames point into.
#[derive(Clone, Copy)]
pub struct Memory<'a>(MemoryKind<'a>);

#[derive(Clone, Copy)]
enum MemoryKind<'a> {
    Whole(&'a [u8]),
    Parts(&'a dyn Parts),
}

impl<'a> Memory<'a> {
    /// Memory that may be read only in part.
    #[must_use]
    pub fn of(parts: &'a dyn Parts) -> Self {
        Self(MemoryKind::Parts(parts))
    }

    /// These bytes; `None` if they do not exist, or some of them may not be read.
    #[must_use]
    #[inline]
    pub fn get(&self, at: usize, bytes: usize) -> Option<&'a [u8]> {
        match self.0 {
            MemoryKind::Whole(memory) => memory.get(at..at.checked_add(bytes)?),
            MemoryKind::Parts(parts) => parts.part(at, bytes),
        }
    }
}

impl<'a> From<&'a [u8]> for Memory<'a> {
    fn from(memory: &'a [u8]) -> Self {
        Self(MemoryKind::Whole(memory))
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Memory<'a> {
    fn from(memory: &'a [u8; N]) -> Self {
        memory.as_slice().into()
    }
}

impl<'a> From<&'a Vec<u8>> for Memory<'a> {
    fn from(memory: &'a Vec<u8>) -> Self {
        Self(MemoryKind::Whole(memory))
    }
}

impl fmt::Debug for Memory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            MemoryKind::Whole(memory) => write!(f, "Memory({} bytes)", memory.len()),
            MemoryKind::Parts(_) => f.write_str("Memory(parts)"),
        }
    }
}

/// Frames in one borrowed piece of memory: a block of a ring, or of a file.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Batch<'a> {
    /// The memory that all frames point into.
    pub memory: Memory<'a>,
    /// The frames, in capture order.
    pub frames: &'a [Frame],
}

impl<'a> Batch<'a> {
    /// Frames, in capture order, and the memory that they point into.
    #[must_use]
    pub fn new(memory: impl Into<Memory<'a>>, frames: &'a [Frame]) -> Self {
        Self { memory: memory.into(), frames }
    }

    /// The captured bytes of one of this batch's frames; empty if the frame points outside the memory.
    #[must_use]
    #[inline]
    pub fn bytes(&self, frame: &Frame) -> &'a [u8] {
        self.memory.get(frame.at as usize, frame.captured_bytes as usize).unwrap_or_default()
    }
}
