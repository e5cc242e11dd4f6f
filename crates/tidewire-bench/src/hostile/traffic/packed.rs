//! Compressed captures, by the programs that compress: ordinary ones, and such with much behind their content that yields nothing.

use super::{Made, SEGMENT_BYTES, Side, compressed};

/// Bytes of nothing: beyond what readers allow, and where they are skipped.
const NOTHING_BYTES: usize = 5 << 20;
const SKIPPED_BYTES: usize = 12 << 20;

/// Parts of nothing: likewise.
const PARTS: usize = 5000;

/// Conversations of words. Bytes of the compressed capture.
fn ordinary(made: &mut Made, packets: usize, program: &str) -> usize {
    words(made, packets);
    made.compress(&[program], &[])
}

fn words(made: &mut Made, packets: usize) {
    const WORDS: [&[u8]; 8] =
        [b"the ", b"capture ", b"of ", b"packets ", b"in ", b"streams, ", b"without ", b"measure. "];
    let mut number = 1_u32;
    let mut connection = made.connect(4444);
    let text: Vec<u8> = std::iter::repeat_with(|| {
        // A generator of Lehmer's, so that each capture is the same.
        number = (u64::from(number) * 48_271 % 0x7fff_ffff) as u32;
        WORDS[number as usize >> 8 & 7].iter().copied().chain((number >> 12 & 0xfff).to_string().into_bytes())
    })
    .flatten()
    .take(packets * SEGMENT_BYTES)
    .collect();
    connection.send(made, Side::Client, &text);
    connection.close(made);
}

/// A few packets, and behind them a part again and again, compressed with further programs. `times` 0: nothing behind them.
fn barren(
    made: &mut Made,
    times: usize,
    programs: &[&str],
    part: impl FnOnce(&[u8]) -> (Vec<u8>, Vec<u8>, usize),
) -> usize {
    words(made, 10);
    let [first, ..] = programs else { return 0 };
    match compressed(first, &made.path, &[]) {
        Ok(empty) => {
            let (head, part, count) = part(&empty);
            let behind = if times == 0 { Vec::new() } else { [head, part.repeat(count * times)].concat() };
            made.compress(programs, &behind);
        }
        Err(error) => made.fail(error),
    }
    times
}

/// Empty files of a program.
fn empty_files(made: &mut Made, times: usize, programs: &[&str]) -> usize {
    barren(made, times, programs, |empty| (Vec::new(), empty.to_vec(), PARTS))
}

/// A part of nothing, and how often it is there.
fn nothing(part: &[u8], bytes: usize) -> (Vec<u8>, usize) {
    (part.to_vec(), bytes / part.len())
}

pub(in super::super) fn gzip(made: &mut Made, packets: usize) -> usize {
    ordinary(made, packets, "gzip")
}

pub(in super::super) fn bzip2(made: &mut Made, packets: usize) -> usize {
    ordinary(made, packets, "bzip2")
}

pub(in super::super) fn xz(made: &mut Made, packets: usize) -> usize {
    ordinary(made, packets, "xz")
}

pub(in super::super) fn zstd(made: &mut Made, packets: usize) -> usize {
    ordinary(made, packets, "zstd")
}

pub(in super::super) fn lz4(made: &mut Made, packets: usize) -> usize {
    ordinary(made, packets, "lz4")
}

pub(in super::super) fn gzip_members(made: &mut Made, times: usize) -> usize {
    empty_files(made, times, &["gzip"])
}

pub(in super::super) fn bzip2_streams(made: &mut Made, times: usize) -> usize {
    empty_files(made, times, &["bzip2"])
}

pub(in super::super) fn xz_streams(made: &mut Made, times: usize) -> usize {
    barren(made, times, &["xz"], |empty| {
        let (part, count) = nothing(empty, NOTHING_BYTES);
        (Vec::new(), part, count)
    })
}

pub(in super::super) fn zstd_frames(made: &mut Made, times: usize) -> usize {
    empty_files(made, times, &["zstd"])
}

pub(in super::super) fn lz4_frames(made: &mut Made, times: usize) -> usize {
    empty_files(made, times, &["lz4"])
}

pub(in super::super) fn bzip2_in_gzip(made: &mut Made, times: usize) -> usize {
    empty_files(made, times, &["bzip2", "gzip", "gzip"])
}

pub(in super::super) fn gzip_blocks(made: &mut Made, times: usize) -> usize {
    barren(made, times, &["gzip"], |_| {
        let (part, count) = nothing(&[0, 0, 0, 0xff, 0xff], NOTHING_BYTES);
        (b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec(), part, count)
    })
}

pub(in super::super) fn zstd_blocks(made: &mut Made, times: usize) -> usize {
    barren(made, times, &["zstd"], |_| {
        let (part, count) = nothing(&[0, 0, 0], NOTHING_BYTES);
        (b"\x28\xb5\x2f\xfd\0\x58".to_vec(), part, count)
    })
}

pub(in super::super) fn zstd_skipped(made: &mut Made, times: usize) -> usize {
    barren(made, times, &["zstd"], |_| {
        let (part, count) = nothing(b"\x50\x2a\x4d\x18\0\0\0\0", SKIPPED_BYTES);
        (Vec::new(), part, count)
    })
}
