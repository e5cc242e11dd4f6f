//! Any bytes as what the other side of a delivery can send: frames in pieces, messages, batches of records. Nothing panics, memory goes by
//! the input, and what is accepted comes back the same. Used by the fuzz target and by the test that replays the seeds.

use tidewire_delivery::{
    limits::{BATCH_BYTES_MAX, FRAME_BYTES_MAX},
    protocol::{Assembler, Frame, Message, Unpacker, put_row, rows},
};

/// The first byte says what the rest is.
pub fn run(input: &[u8]) {
    let Some((&what, rest)) = input.split_first() else { return };
    match what % 3 {
        0 => frames(rest),
        1 => message(&Frame {
            kind: rest.first().copied().unwrap_or(0),
            body: rest.get(1..).unwrap_or_default().to_vec(),
        }),
        _ => records(rest, 5, 5 + (1 << 40)),
    }
}

/// Frames that arrive in pieces, whose sizes are those of the input.
fn frames(bytes: &[u8]) {
    let mut assembler = Assembler::default();
    let mut at = 0;
    while at < bytes.len() {
        let end = (at + 1 + usize::from(bytes[at]) * 3).min(bytes.len());
        assembler.push(&bytes[at..end]);
        at = end;
        loop {
            match assembler.next(FRAME_BYTES_MAX) {
                Ok(Some(frame)) => message(&frame),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

fn message(frame: &Frame) {
    let Ok(message) = Message::decode(frame) else { return };
    let mut again = Vec::new();
    message.encode(&mut again);
    let mut assembler = Assembler::default();
    assembler.push(&again);
    let back = assembler.next(usize::MAX).expect("what it wrote").expect("a whole frame");
    assert_eq!(Message::decode(&back).expect("what it wrote"), message);
    if let Message::Batch { after, through, raw_bytes, compressed } = message {
        let mut unpacker = Unpacker::new().expect("memory");
        if let Ok(raw) = unpacker.unpack(compressed, raw_bytes) {
            assert!(raw.len() == raw_bytes && raw_bytes <= BATCH_BYTES_MAX);
            records(&raw, after, through);
        }
    }
}

fn records(bytes: &[u8], after: u64, through: u64) {
    let Ok(found) = rows(bytes, after, through) else { return };
    let (mut again, mut before) = (Vec::new(), after);
    for row in &found {
        assert!(row.id > before && row.id <= through && row.events >= 1);
        put_row(&mut again, before, row);
        before = row.id;
    }
    assert_eq!(again, bytes, "there is one encoding of records");
}
