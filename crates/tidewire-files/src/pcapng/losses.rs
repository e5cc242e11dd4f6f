//! Losses of a capture by its own account: drop counts of packets, and statistics of interfaces.

use tidewire_wire::{ChecksumStatus, Frame, PacketLoss};

use crate::{
    encode::{FLAG_CHECKSUM_NOT_READY, FLAG_CHECKSUM_VALID},
    limits::OPTIONS_MAX,
    record_cursor::{u16_at, u32_at},
};

/// Options of an enhanced packet block.
const FLAGS: u16 = 2;
const DROP_COUNT: u16 = 4;
/// Options of interface statistics: packets that the interface and the operating system dropped.
const INTERFACE_DROPPED: u16 = 5;
const SYSTEM_DROPPED: u16 = 7;

/// Packets that a capture lost before it was written, as the file itself says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaptureLoss {
    /// The name of the interface, as `eth0`; empty: it has none.
    pub interface: String,
    /// Packets that the interface dropped, by its last statistics (`isb_ifdrop`).
    pub interface_dropped: u64,
    /// Packets that the operating system dropped, by its last statistics (`isb_osdrop`).
    pub system_dropped: u64,
    /// Packets lost between its packets, as these say (`epb_dropcount`). They may be counted in the statistics, too.
    pub between_packets: u64,
}

impl CaptureLoss {
    /// Whether nothing was lost.
    pub(crate) fn is_none(&self) -> bool {
        self.interface_dropped == 0 && self.system_dropped == 0 && self.between_packets == 0
    }
}

/// Losses read so far.
#[derive(Clone, Debug)]
pub(super) struct Losses {
    /// Of interfaces, by their place among all of the input.
    pub interfaces: Vec<CaptureLoss>,
    /// Before packets, since they were taken.
    pub packets: Vec<PacketLoss>,
}

impl Losses {
    /// None, of a file behind others with so many interfaces.
    pub fn behind(interfaces: usize) -> Self {
        Self { interfaces: vec![CaptureLoss::default(); interfaces], packets: Vec::new() }
    }
}

/// Calls `each` with the code and the value of each option.
fn options(mut options: &[u8], big_endian: bool, mut each: impl FnMut(u16, &[u8])) {
    for _ in 0..OPTIONS_MAX {
        let (Some(code), Some(length)) = (u16_at(options, 0, big_endian), u16_at(options, 2, big_endian)) else {
            return;
        };
        let length = usize::from(length);
        let Some(value) = options.get(4..4 + length).filter(|_| code != 0) else { return };
        each(code, value);
        options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
    }
}

/// A 64-bit number.
fn number(value: &[u8], big_endian: bool) -> Option<u64> {
    let bytes = *value.first_chunk()?;
    Some(if big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
}

/// Reads the options of a packet: what is known of its checksum, which the frame has from now on. Returns the packets that
/// were lost before it.
#[cold]
pub(super) fn of_packet(found: &[u8], big_endian: bool, frame: &mut Frame) -> u64 {
    let mut lost = 0;
    options(found, big_endian, |code, value| match code {
        FLAGS => {
            let flags = u32_at(value, 0, big_endian).unwrap_or_default();
            if flags & FLAG_CHECKSUM_NOT_READY != 0 {
                frame.checksum = ChecksumStatus::NotReady;
            } else if flags & FLAG_CHECKSUM_VALID != 0 {
                frame.checksum = ChecksumStatus::Verified;
            }
        }
        DROP_COUNT => lost = number(value, big_endian).unwrap_or_default(),
        _ => {}
    });
    lost
}

/// How many packets were lost before a packet with these options, which are encoded as a block of a little-endian section has them.
#[must_use]
pub fn lost_before(found: &[u8]) -> u64 {
    let mut lost = 0;
    options(found, false, |code, value| {
        if code == DROP_COUNT {
            lost = number(value, false).unwrap_or_default();
        }
    });
    lost
}

/// Losses of an interface from the beginning of the capture on, by a block of its statistics. `None`: not stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatedLoss {
    /// Number of the interface in its section.
    pub interface: u32,
    /// Packets that the interface dropped (`isb_ifdrop`).
    pub interface_dropped: Option<u64>,
    /// Packets that the operating system dropped (`isb_osdrop`).
    pub system_dropped: Option<u64>,
}

/// Reads the body of an interface statistics block: what is between its two lengths. `None`: it is too short.
#[must_use]
pub fn stated_loss(body: &[u8], big_endian: bool) -> Option<StatedLoss> {
    let mut loss = StatedLoss { interface: u32_at(body, 0, big_endian)?, ..StatedLoss::default() };
    options(body.get(12..)?, big_endian, |code, value| match code {
        INTERFACE_DROPPED => loss.interface_dropped = number(value, big_endian),
        SYSTEM_DROPPED => loss.system_dropped = number(value, big_endian),
        _ => {}
    });
    Some(loss)
}
