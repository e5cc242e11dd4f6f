//! Blocks and slots with a kernel that the tests play, in memory of their own: these run under Miri, too (scripts/sanitize.sh).

use tidewire_wire::Parts as _;

use super::*;
use crate::sys::arena::{Arena, View, page_bytes};

const BLOCKS: u32 = 4;

/// Acts as the kernel: writes into its blocks, and hands them over.
fn hand_over(blocks: &Blocks, index: u32, header: libc::tpacket_hdr_v1, frame: Option<(u32, Header, &[u8])>) {
    let at = blocks.start(index);
    // SAFETY: the block is inside the memory, and no other reference to it exists now.
    unsafe {
        let start = blocks.place.address().add(at);
        start.add(offset_of!(libc::tpacket_block_desc, hdr)).cast::<libc::tpacket_hdr_v1>().write(header);
        if let Some((at, header, bytes)) = frame {
            let frame = start.add(at as usize);
            frame.cast::<Header>().write_unaligned(header);
            ptr::copy_nonoverlapping(bytes.as_ptr(), frame.add(usize::from(header.tp_mac)), bytes.len());
        }
    }
    blocks.status(index).unwrap().store(libc::TP_STATUS_USER, Ordering::Release);
}

fn block_header(frames: u32, first: u32) -> libc::tpacket_hdr_v1 {
    // SAFETY: the structure is plain integers, for which zeroes are valid.
    let mut header: libc::tpacket_hdr_v1 = unsafe { std::mem::zeroed() };
    (header.num_pkts, header.offset_to_first_pkt) = (frames, first);
    header
}

fn frame_header(mac: u16, bytes: u32) -> Header {
    // SAFETY: as above.
    let mut header: Header = unsafe { std::mem::zeroed() };
    (header.tp_mac, header.tp_snaplen, header.tp_len) = (mac, bytes, bytes);
    header
}

fn ring() -> (View, Blocks, u32) {
    let block_bytes = page_bytes() as u32;
    let arena = Arena::reserve(page_bytes() * 8).unwrap();
    let first = arena.take(page_bytes()).unwrap();
    let mut blocks = Blocks::new(arena.take(page_bytes() * BLOCKS as usize).unwrap(), BLOCKS, block_bytes).unwrap();
    drop(first);
    blocks.of_memory().unwrap();
    (View::new(&arena), blocks, block_bytes)
}

#[test]
fn what_was_given_back_cannot_be_read() {
    let (view, mut blocks, block_bytes) = ring();
    assert!(blocks.take().is_none(), "the kernel has handed nothing over");
    let mac = HEADER_BYTES as u16;
    for round in 0..10_u32 {
        let index = round % BLOCKS;
        let bytes = [round as u8; 60];
        hand_over(&blocks, index, block_header(1, 64), Some((64, frame_header(mac, 60), &bytes)));
        let block = blocks.take().unwrap();
        assert!(blocks.take().is_none(), "a block was handed over twice");
        assert_eq!((block.frames, block.first), (1, 64));
        let header = blocks.header(&block, 64).unwrap();
        assert_eq!(blocks.bytes(&block, 64, &header).unwrap(), bytes);
        let at = blocks.at(&block) + 64 + usize::from(mac);
        assert_eq!(view.part(at, 60), Some(&bytes[..]));
        // Beyond the block is the next one, which the kernel has.
        assert_eq!(view.part(blocks.at(&block), block_bytes as usize + 1), None);
        assert!(blocks.release(block));
        assert_eq!(view.part(at, 60), None, "it is the kernel's again");
    }
    assert!(view.part(0, page_bytes()).is_none(), "the place before is not mapped");
    assert!(view.part(usize::MAX, 2).is_none() && view.part(page_bytes() * 8, 1).is_none());
}

#[test]
fn blocks_of_another_mapping_are_nothing() {
    let (_view, mut blocks, _) = ring();
    let (_other_view, other, _) = ring();
    hand_over(&blocks, 0, block_header(1, 64), Some((64, frame_header(HEADER_BYTES as u16, 60), &[7; 60])));
    let block = blocks.take().unwrap();
    assert!(other.header(&block, 64).is_none(), "it is another ring's");
    let header = blocks.header(&block, 64).unwrap();
    assert!(other.bytes(&block, 64, &header).is_none());
    blocks.unmap();
    assert!(blocks.header(&block, 64).is_none() && blocks.bytes(&block, 64, &header).is_none());
    blocks.of_memory().unwrap();
    assert!(blocks.header(&block, 64).is_none(), "what is mapped now is not what it was of");
    assert!(!blocks.release(block));
}

#[test]
fn blocks_go_back_in_order_and_all_can_be_held() {
    let (_view, mut blocks, _) = ring();
    (0..BLOCKS).for_each(|index| hand_over(&blocks, index, block_header(0, 0), None));
    let mut held: Vec<Block> = std::iter::from_fn(|| blocks.take()).collect();
    assert_eq!(held.len(), BLOCKS as usize);
    let last = held.pop().unwrap();
    assert!(!blocks.release(last), "not before the older ones");
    for block in held {
        assert!(blocks.release(block));
    }
}

/// Whatever a kernel writes there, nothing outside of the block is read or written.
#[test]
fn hostile_headers_stay_inside() {
    let (_view, mut blocks, block_bytes) = ring();
    let ends =
        [0, 1, 63, 64, 65, block_bytes - 61, block_bytes - 1, block_bytes, block_bytes + 1, u32::MAX - 1, u32::MAX];
    let mut round = 0;
    for first in ends {
        for mac in [0, 1, HEADER_BYTES as u16, 2000, u16::MAX] {
            for length in [0, 12, 60, 4000, u32::MAX] {
                hand_over(&blocks, round % BLOCKS, block_header(u32::MAX, first), None);
                round += 1;
                let block = blocks.take().unwrap();
                let header = frame_header(mac, length);
                let _ = blocks.header(&block, first);
                let _ = blocks.address(&block, first);
                if let Some(bytes) = blocks.bytes(&block, first, &header) {
                    assert!(bytes.len() <= block_bytes as usize);
                    let _ =
                        bytes.iter().step_by(61).chain(bytes.last()).fold(0_u64, |sum, byte| sum + u64::from(*byte));
                }
                let _ = blocks.insert_tag(&block, first, mac, [1, 2, 3, 4]);
                assert!(blocks.release(block));
            }
        }
    }
}

#[test]
fn slots_are_blocks_of_one() {
    let slot_bytes = 1088;
    let arena = Arena::reserve(page_bytes() * 2).unwrap();
    let place = arena.take(page_bytes() * 2).unwrap();
    let mut slots = Blocks::of_slots(place, 2, page_bytes() as u32, slot_bytes).unwrap();
    slots.of_memory().unwrap();
    let view = View::new(&arena);
    let count = slots.count();
    assert_eq!(count, 2 * (page_bytes() as u32 / slot_bytes));
    for round in 0..count * 2 {
        slots.status(round % count).unwrap().store(libc::TP_STATUS_USER, Ordering::Release);
        let slot = slots.take().unwrap();
        let at = slots.at(&slot);
        assert!(view.part(at, slot_bytes as usize).is_some());
        assert!(at == 0 || view.part(at - 1, 2).is_none(), "the slot before is the kernel's");
        assert!(slots.release(slot));
    }
}
