use tidewire_files::encode::{Interface, Packet, Writer, enhanced_packet, interface_description, section_header};
use tidewire_wire::{LinkType, Timestamp};

use super::*;

/// A segment of packets with these payloads, and where each block begins.
fn segment(payloads: &[Vec<u8>]) -> (Vec<u8>, Vec<u64>) {
    let (mut out, mut places) = (Vec::new(), Vec::new());
    section_header(&mut out, &Writer::default());
    interface_description(&mut out, &Interface::new("eth0", LinkType::ETHERNET));
    for (number, payload) in payloads.iter().enumerate() {
        places.push(out.len() as u64);
        enhanced_packet(&mut out, &Packet::new(0, Timestamp::from_nanos(number as u64), payload, payload.len() as u32));
    }
    (out, places)
}

#[test]
fn blocks_are_found_behind_whatever_is_damaged() {
    let payloads: Vec<Vec<u8>> = (0..200).map(|number| vec![number as u8; 100 + number % 7]).collect();
    let (whole, places) = segment(&payloads);
    let damaged = places[50] + 10..places[60] + 10;
    let expected = vec![Cure::TakeOut(places[50]..places[61])];
    let end = whole.len() as u64;
    // A bit in a payload; a length; all of it.
    for change in 0..3 {
        let mut data = whole.clone();
        match change {
            0 => data[places[55] as usize + 40] ^= 1,
            1 => data[places[55] as usize + 4] ^= 4,
            _ => data[damaged.start as usize..damaged.end as usize].fill(0),
        }
        assert_eq!(cures(&mut data, end, std::slice::from_ref(&damaged)).expect("read"), expected, "{change}");
    }
    // Two of them, of which the second is the end.
    let second = places[190]..end;
    let found = cures(&mut whole.clone(), end, &[damaged.clone(), second]).expect("read");
    assert_eq!(found[0], expected[0]);
    assert!(matches!(found[1], Cure::TakeOut(_) | Cure::End(_)), "{found:?}");
    // A block that all packets need.
    assert_eq!(cures(&mut whole.clone(), end, std::slice::from_ref(&(0..10))).expect("read"), [Cure::Nothing]);
}

/// A packet that holds packets of a capture is one packet.
#[test]
fn what_looks_like_blocks_inside_of_a_packet_is_none() {
    let (inner, inner_places) = segment(&vec![vec![1; 60]; 500]);
    let inside = inner[inner_places[0] as usize..].to_vec();
    let payloads: Vec<Vec<u8>> =
        (0..100).map(|number| if number == 50 { inside.clone() } else { vec![2; 200] }).collect();
    let (mut whole, places) = segment(&payloads);
    let end = whole.len() as u64;
    whole[places[50] as usize + 4] ^= 4;
    let found = cures(&mut whole, end, std::slice::from_ref(&(places[50]..places[50] + 64))).expect("read");
    assert_eq!(found, [Cure::TakeOut(places[50]..places[51])]);
}

#[test]
fn fillers_are_blocks_of_every_length() {
    for bytes in (24..400).chain(59_900..60_100).chain([1_000_000]).filter(|bytes| bytes % 4 == 0) {
        let (mut out, places) = segment(&[vec![1; 60]]);
        let (from, packet) = (out.len() as u64, out[places[0] as usize..].to_vec());
        out.extend(filler(bytes));
        assert_eq!(out.len() as u64, from + bytes, "{bytes}");
        out.extend(packet);
        let end = out.len() as u64;
        let mut blocks = Blocks { data: &mut out, buffer: Vec::new(), from: 0, end };
        let mut at = 0;
        while at < end {
            at = blocks.block(at).expect("read").unwrap_or_else(|| panic!("{bytes}: no block at {at}"));
        }
    }
}
