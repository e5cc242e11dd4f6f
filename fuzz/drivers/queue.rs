//! What a process may send another one around a queue: messages of the socket, a queue's memory, records with their payloads. The
//! first byte says which of them the rest is.

use std::{fs::File, os::unix::fs::FileExt as _};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use tidewire_queue::{
    Losses, Next, Reader, Record,
    records::{Close, Event, Open, PacketHeader},
};

pub fn run(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else { return };
    match first % 3 {
        0 => tidewire_queue::check_messages(rest),
        1 => memory(rest),
        _ => records(rest),
    }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// A queue whose header is sound and whose other words are the input's: pairs of a place and a word. It is read to the end, or for a
/// while: sequences only grow, payloads are bounded.
fn memory(input: &[u8]) {
    let file = File::from(memfd_create("fuzz", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC).expect("a file"));
    let mut bytes = vec![0_u8; (1 << 16) + (1 << 10) * 64 + (1 << 16)];
    let mut set = |at: usize, word: u64| bytes[at * 8..][..8].copy_from_slice(&word.to_ne_bytes());
    for (at, word) in [u64::from_le_bytes(*b"TWqueue\x01"), 1, 1 << 10, 1 << 16, 9].into_iter().enumerate() {
        set(at, word);
    }
    // The words of the header that change, and those of the first slots.
    let places = [16, 17, 32, 48].into_iter().chain(8192..8192 + 8 * 16).collect::<Vec<_>>();
    for pair in input.chunks(9) {
        set(places[usize::from(pair[0]) % places.len()], word(&pair[1..]));
    }
    file.write_all_at(&bytes, 0).expect("room");
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE;
    fcntl_add_seals(&file, seals).expect("seals");
    let mut reader = Reader::open(&file, Some(u64::from(input.first().copied().unwrap_or(0) % 16))).expect("a header");
    let mut out = Vec::new();
    for step in 0..100 {
        let before = reader.sequence();
        out.clear();
        let next = if step % 2 == 0 { reader.next(&mut out) } else { reader.next_in_place() };
        match next {
            Err(_) | Ok(Next::Empty | Next::Ended(_)) => return,
            Ok(next) => {
                assert!(reader.sequence() > before);
                assert!(out.len() as u64 <= reader.geometry().record_bytes_max());
                if let Next::Record(record) = next {
                    assert!(reader.words(&record).len() as u64 <= reader.geometry().record_bytes_max() / 8);
                    let _ = Event::new(&record, &out);
                }
            }
        }
        reader.confirm();
        let progress = reader.progress();
        let sum = [progress.read, progress.passed, progress.missed, progress.lost]
            .into_iter()
            .fold(reader.first(), u64::wrapping_add);
        assert_eq!(sum, reader.sequence());
    }
}

/// Records of any words with payloads of any bytes: what can be read is read back after it was written, and what a reader makes of
/// their order is bounded.
fn records(input: &[u8]) {
    let (mut losses, mut missing, mut rest) = (Losses::new(8), Vec::new(), input);
    while rest.len() > 4 {
        let (head, body) = rest.split_at(4);
        let payload = &body[..usize::from(head[3]).min(body.len())];
        let payload: Vec<u8> = if head[2] & 1 == 1 { payload.repeat(5) } else { payload.to_vec() };
        rest = &body[usize::from(head[3]).min(body.len())..];
        let offset = word(&payload[..payload.len().min(8)]) >> (head[2] & 63);
        let record = Record {
            kind: u16::from(head[0] % 8),
            flags: u16::from(head[1]),
            stream: u64::from(head[2] % 16),
            offset,
            detail: u64::from(head[3] / 2),
            bytes: payload.len() as u32,
            ..Record::default()
        };
        let mut again = Vec::new();
        match Event::new(&record, &payload) {
            Some(Event::Open { open, .. }) => {
                open.encode(&mut again);
                assert_eq!((Open::decode(&again), again.len()), (Some(open), Open::BYTES));
            }
            Some(Event::Close(close)) => {
                close.encode(&mut again);
                assert_eq!((Close::decode(&again), again.len()), (Some(close), Close::BYTES));
            }
            Some(Event::Packet { header, bytes, .. }) => {
                header.encode(&mut again);
                again.extend_from_slice(bytes);
                assert_eq!(PacketHeader::decode(&again), Some((header, bytes)));
            }
            Some(Event::Data { bytes, repeated_bytes, .. }) => assert!(repeated_bytes <= bytes.len()),
            _ => {}
        }
        if head[1] & 128 == 0 {
            losses.read(&record, &payload, &mut missing);
        } else {
            losses.missed(&record, &mut missing);
        }
        let _ = (losses.streams_missed(), losses.streams_forgotten());
        assert!(missing.iter().all(|missing| missing.bytes > 0 && missing.offset.checked_add(missing.bytes).is_some()));
        assert!(missing.len() <= 5);
        missing.clear();
    }
}
