use std::time::Duration;

use crate::{BLOCK_TIMEOUT_MAX, Error, Interface, LiveSettings, SettingError, sys::netlink::DeviceSocket};

/// Bytes of a block where the ring is large enough.
///
/// Large ones wake the worker seldom: 1,700 frames of 64 bytes fit, and a wakeup costs one system call. Small ones are many:
/// a quiet link uses one up every 5 ms, however little is in it, so that a worker may be away for blocks times that (1.3 s
/// with a ring of 64 MiB) before frames are lost.
const BLOCK_BYTES: u32 = 256 << 10;
/// Bytes of the smallest block: a frame of 64 KiB fits, with its headers.
const BLOCK_BYTES_MIN: u32 = 128 << 10;
/// The same where frames are cut to [`SNAP_SHORT`] at most, so that none is long.
const BLOCK_BYTES_SHORT: u32 = 32 << 10;
/// Captured bytes of which several fit into the smallest block.
const SNAP_SHORT: u32 = 4 << 10;
/// Blocks that a ring should have, so that a worker may be away for a second.
const BLOCKS_MIN: usize = 256;
/// Pieces that a ring of slots should have.
const PIECES_MIN: usize = 4;
/// Blocks that a ring must have.
const BLOCKS_LEAST: usize = 2;

/// Bytes that a slot has beside its frame: header, address, room for the longest link layer and a tag, alignment.
const SLOT_EXTRA_BYTES: u32 = 160;
/// Alignment of slots (`TPACKET_ALIGNMENT`).
const SLOT_ALIGNMENT: u32 = 64;
/// The largest frame of segments put together: an IP packet, an Ethernet header, two tags.
const JOINED_BYTES: u32 = 65_535 + 14 + 8;
/// Bytes of a frame beyond an MTU.
const LINK_BYTES: u32 = 14 + 8;
/// Pieces of memory that slots lie in.
const PIECE_BYTES: [u32; 4] = [1 << 20, 512 << 10, 256 << 10, 128 << 10];

/// Blocks of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RingGeometry {
    pub blocks: u32,
    pub block_bytes: u32,
    /// Blocks are divided into slots of so many bytes, each for a frame that is handed over at once.
    pub slot_bytes: Option<u32>,
}

/// The longest frame of an interface with this MTU, of which so much is wanted.
fn frame_bytes(mtu: u32, joins_segments: bool, snap_bytes: u32) -> u32 {
    let longest = mtu.saturating_add(LINK_BYTES).max(if joins_segments { JOINED_BYTES } else { 0 });
    longest.min(snap_bytes.saturating_add(4))
}

impl RingGeometry {
    /// The geometry of a ring of slots for frames of this length, of at most `bytes`.
    ///
    /// # Errors
    /// [`Error::Setting`] where that is too little, or more than a ring can have.
    pub fn slots(bytes: usize, frame_bytes: u32) -> Result<Self, Error> {
        let slot_bytes = frame_bytes.saturating_add(SLOT_EXTRA_BYTES).next_multiple_of(SLOT_ALIGNMENT);
        // The largest pieces of which there are several: less is left over in each.
        let fits = |piece: &&u32| bytes / **piece as usize >= BLOCKS_LEAST && **piece >= slot_bytes;
        let piece = PIECE_BYTES.iter().find(|piece| fits(piece) && bytes / **piece as usize >= PIECES_MIN);
        let piece = piece.or_else(|| PIECE_BYTES.iter().rev().find(fits));
        let counted = piece.and_then(|piece| Some((*piece, u32::try_from(bytes / *piece as usize).ok()?)));
        match counted.filter(|(piece, blocks)| piece.checked_mul(*blocks).is_some()) {
            Some((block_bytes, blocks)) => Ok(Self { blocks, block_bytes, slot_bytes: Some(slot_bytes) }),
            None if bytes < u32::MAX as usize => {
                Err(SettingError::SlotRingTooSmall { bytes, frame_bytes: frame_bytes as usize }.into())
            }
            None => Err(SettingError::RingTooLarge { bytes }.into()),
        }
    }

    /// The geometry of a ring of blocks, of at most `bytes`, for frames of which so much is captured.
    ///
    /// # Errors
    /// [`Error::Setting`] where that is too little, or more than a ring can have.
    pub fn of(bytes: usize, snap_bytes: u32) -> Result<Self, Error> {
        let least = if snap_bytes <= SNAP_SHORT { BLOCK_BYTES_SHORT } else { BLOCK_BYTES_MIN };
        let mut block_bytes = BLOCK_BYTES;
        while block_bytes > least && bytes / (block_bytes as usize) < BLOCKS_MIN {
            block_bytes /= 2;
        }
        let blocks = bytes / block_bytes as usize;
        // The kernel counts a ring's bytes in 32 bits.
        let blocks = u32::try_from(blocks).ok().filter(|blocks| blocks.checked_mul(block_bytes).is_some());
        match blocks {
            Some(blocks) if blocks as usize >= BLOCKS_LEAST => Ok(Self { blocks, block_bytes, slot_bytes: None }),
            Some(_) => Err(SettingError::RingTooSmall { bytes, needed_bytes: BLOCKS_LEAST * least as usize }.into()),
            None => Err(SettingError::RingTooLarge { bytes }.into()),
        }
    }

    /// Its length.
    pub fn bytes(self) -> usize {
        self.blocks as usize * self.block_bytes as usize
    }
}

/// Slots for the longest frames of all interfaces.
pub(super) fn slots(settings: &LiveSettings) -> Result<RingGeometry, Error> {
    let device = DeviceSocket::open().ok();
    let mut longest = 0;
    for name in &settings.interfaces {
        let interface = Interface::find(name)?;
        let joins = device.as_ref().and_then(|device| device.joins_segments(name)).unwrap_or(true);
        longest = longest.max(frame_bytes(interface.mtu, joins, settings.snap_bytes));
    }
    RingGeometry::slots(settings.ring_bytes, longest)
}

/// The age at which blocks are handed over.
pub(super) fn retire_ms(settings: &LiveSettings) -> Result<u32, Error> {
    if settings.block_timeout < Duration::from_millis(1) || settings.block_timeout > BLOCK_TIMEOUT_MAX {
        return Err(SettingError::BlockTimeout { given: settings.block_timeout }.into());
    }
    Ok(settings.block_timeout.as_millis() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_fit_what_they_are_given() {
        const WHOLE: u32 = 262_144;
        for (bytes, snap, blocks, block_kib) in [
            (64 << 20, WHOLE, 256, 256),
            (32 << 20, WHOLE, 256, 128),
            (2 << 20, WHOLE, 16, 128),
            (300 << 10, WHOLE, 2, 128),
            (64 << 20, 96, 256, 256),
            (16 << 20, 96, 256, 64),
            (2 << 20, SNAP_SHORT, 64, 32),
            (2 << 20, SNAP_SHORT + 1, 16, 128),
        ] {
            let geometry = RingGeometry::of(bytes, snap).unwrap();
            assert_eq!(geometry, RingGeometry { blocks, block_bytes: block_kib << 10, slot_bytes: None });
            assert!(geometry.bytes() <= bytes);
        }
        for bytes in [0, 255 << 10, 4 << 30, usize::MAX] {
            assert!(RingGeometry::of(bytes, WHOLE).is_err(), "{bytes}");
        }
    }

    #[test]
    fn slots_hold_the_longest_frame() {
        assert_eq!(frame_bytes(1500, false, 262_144), 1522);
        assert_eq!(frame_bytes(1500, true, 262_144), 65_557);
        assert_eq!(frame_bytes(65_536, true, 262_144), 65_558);
        assert_eq!(frame_bytes(9000, true, 96), 100);
        for (bytes, frame) in
            [(64 << 20, 65_557), (2 << 20, 65_557), (2 << 20, 1522), (1 << 20, 100), (300 << 10, 65_557)]
        {
            let geometry = RingGeometry::slots(bytes, frame).unwrap();
            let slot = geometry.slot_bytes.unwrap();
            assert!(
                geometry.bytes() <= bytes
                    && slot >= frame + 100
                    && slot.is_multiple_of(16)
                    && slot <= geometry.block_bytes
            );
            let count = (geometry.block_bytes / slot * geometry.blocks) as usize;
            assert!(count * frame as usize * 2 > bytes / 2, "{bytes} {frame}: {count}");
        }
        for bytes in [0, 100 << 10, 5 << 30, usize::MAX] {
            assert!(RingGeometry::slots(bytes, 1522).is_err(), "{bytes}");
        }
    }
}
