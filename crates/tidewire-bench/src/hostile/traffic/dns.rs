//! Answers of DNS whose records name much in few bytes.

use super::{Made, Side, stream};

/// Records of an answer.
const RECORDS: usize = 32;

/// Labels of 254 bytes in all, each of one byte again and again.
fn name(byte: u8) -> Vec<u8> {
    let label = |bytes: usize| [vec![bytes as u8], vec![byte; bytes]].concat();
    [label(63), label(63), label(63), label(58), vec![0]].concat()
}

/// A message with a question and records; `owner` and `data`: of each record.
fn message(question: &[u8], kind: u16, between: &[u8], owner: u16, data: &[u8]) -> Vec<u8> {
    let mut message = vec![0x12, 0x34, 0x81, 0x80, 0, 1, 0, RECORDS as u8, 0, 0, 0, 0];
    message.extend(question);
    message.extend([kind.to_be_bytes(), 1_u16.to_be_bytes()].concat());
    if !between.is_empty() {
        // A record of unknown type holds the names that others point to.
        message[7] += 1;
        message.extend(b"\0\xff\x00\0\x01\0\0\0\0");
        message.extend((between.len() as u16).to_be_bytes());
        message.extend(between);
    }
    for _ in 0..RECORDS {
        message.extend((0xc000 | owner).to_be_bytes());
        message.extend([kind.to_be_bytes(), 1_u16.to_be_bytes()].concat());
        message.extend(60_u32.to_be_bytes());
        message.extend((data.len() as u16).to_be_bytes());
        message.extend(data);
    }
    message
}

fn answers(made: &mut Made, packets: usize, message: &[u8]) -> usize {
    for _ in 0..packets {
        made.datagram(53, message);
    }
    packets
}

/// Names of letters.
pub(in super::super) fn letters(made: &mut Made, packets: usize) -> usize {
    answers(made, packets, &message(&name(b'a'), 5, &[], 12, &[0xc0, 12]))
}

/// Names whose bytes need escapes.
pub(in super::super) fn escaped(made: &mut Made, packets: usize) -> usize {
    answers(made, packets, &message(&name(0xff), 5, &[], 12, &[0xc0, 12]))
}

/// Three such names in each record.
pub(in super::super) fn authorities(made: &mut Made, packets: usize) -> usize {
    let data = [&[0xc0, 12, 0xc0, 12][..], &[0xff; 20]].concat();
    answers(made, packets, &message(&name(0xff), 6, &[], 12, &data))
}

/// Pointers to pointers.
pub(in super::super) fn chains(made: &mut Made, packets: usize) -> usize {
    const POINTERS: u16 = 100;
    let question = b"\x01a\0";
    let begin = 12 + question.len() as u16 + 4 + 11;
    let chain: Vec<u8> = (0..POINTERS)
        .flat_map(|index| (0xc000 | if index == 0 { 12 } else { begin + 2 * (index - 1) }).to_be_bytes())
        .collect();
    let last = begin + 2 * (POINTERS - 1);
    answers(made, packets, &message(question, 5, &chain, last, &(0xc000 | last).to_be_bytes()))
}

/// Texts whose bytes need escapes, as many as a frame holds.
pub(in super::super) fn texts(made: &mut Made, packets: usize) -> usize {
    answers(made, packets, &message(b"\x01a\0", 16, &[], 12, &[&[28][..], &[0xff; 28]].concat()))
}

/// All types of a window, in each record.
pub(in super::super) fn types(made: &mut Made, packets: usize) -> usize {
    answers(made, packets, &message(b"\x01a\0", 47, &[], 12, &[&[0xc0, 12, 0x7f, 26][..], &[0xff; 26]].concat()))
}

/// Parameters of two bytes, of unknown keys.
pub(in super::super) fn services(made: &mut Made, packets: usize) -> usize {
    let parameters = b"\xff\x00\0\0".repeat(6);
    answers(made, packets, &message(b"\x01a\0", 64, &[], 12, &[&[0, 1, 0xc0, 12][..], &parameters].concat()))
}

/// Questions of a query, each but the first a pointer to its long name.
fn query(questions: u16) -> Vec<u8> {
    let first = [&[0x12, 0x34, 1, 0][..], &questions.to_be_bytes(), &[0; 6], &name(0xff), &[0, 1, 0, 1]].concat();
    [first, [0xc0, 12, 0, 1, 0, 1].repeat(usize::from(questions) - 1)].concat()
}

pub(in super::super) fn questions(made: &mut Made, packets: usize) -> usize {
    answers(made, packets, &query(190))
}

/// Messages of no bytes over TCP.
pub(in super::super) fn empty_messages(made: &mut Made, packets: usize) -> usize {
    let query = b"\0\x13\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x01a\0\0\x01\0\x01";
    stream(made, 53, &[(Side::Client, query)], (Side::Client, b"\0\0"), packets)
}

/// As many by multicast as are looked at. The number of questions.
pub(in super::super) fn multicast(made: &mut Made, packets: usize) -> usize {
    const QUESTIONS: u16 = 32;
    for _ in 0..packets {
        made.datagram(5353, &query(QUESTIONS));
    }
    packets * usize::from(QUESTIONS)
}
