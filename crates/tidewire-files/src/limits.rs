//! Every bound of the readers: what it bounds, its unit, and where it comes from.

use tidewire_wire::LinkType;

/// Bytes read from a file at once. Pieces of 256 KiB stay in a core's second-level cache between the kernel's copy and
/// the decoder; larger ones and mmap measure slower.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// Bytes of a block that a source of another crate fills: two of the longest records.
pub(crate) const BLOCK_BYTES_MAX: usize = 256 << 20;

/// A page of memory; larger ones are multiples of it.
pub(crate) const PAGE_BYTES: usize = 4096;

/// Bytes read first, to recognise what an input is. A page, so that the reads after it stay aligned to pages.
pub(crate) const HEAD_BYTES: usize = 4096;

/// Bytes that must be there to recognise an input; a pipe is not waited for when it gave so many.
pub(crate) const HEAD_BYTES_MIN: usize = 32;

/// Bytes of compressed input that are read at once.
pub(crate) const COMPRESSED_PIECE_BYTES: usize = 128 << 10;

/// Bytes that a decompressor may consume for nothing: more than headers, tables and empty blocks of any real file.
pub(crate) const BARREN_BYTES_MAX: u64 = 4 << 20;

/// Bytes that a decompressor may consume for each one that it yields, beyond those: an xz stream of 16 bytes has 80.
pub(crate) const CONSUMED_PER_BYTE_MAX: u64 = 8;

/// Streams, frames or members without content, such as empty files that were concatenated. An empty one of bzip2 costs 30 us.
pub(crate) const BARREN_PARTS_MAX: u64 = 4096;

/// Bytes that each part beyond those has to yield on average: decoding so many costs about what a part of bzip2 does.
pub(crate) const PART_BYTES_MIN: u64 = 256;

/// Bytes that are skipped at the cost of one that is decompressed: 64 MiB of padding or of frames to be skipped are the most.
pub(crate) const SKIPPED_BYTES_WEIGHT: u64 = 16;

/// Bytes by which an input that is no capture is judged: a block of a tar archive.
pub(crate) const LOOKS_LIKE_BYTES: usize = 512;

/// Memory of an xz decoder, in KiB: dictionaries of 128 MiB as with zstd, twice what `xz -9` needs, and the decoder itself.
#[cfg(feature = "xz")]
pub(crate) const XZ_MEMORY_KIB_MAX: u32 = (128 << 10) + 1024;

/// Least bytes read from a file at once, where many are read side by side.
pub(crate) const PIECE_BYTES_MIN: usize = 16 << 10;

/// Bytes that the inputs of a merge may have read ahead together, as long as each has `PIECE_BYTES_MIN`.
pub(crate) const MERGE_READ_BYTES: usize = 8 << 20;

/// Files that a merge keeps open: a quarter of the 1,024 that a process may have open by default.
pub(crate) const MERGE_OPEN_FILES_MAX: usize = 256;

/// Compressions inside each other that are undone.
pub(crate) const LAYERS_MAX: usize = 4;

/// Longest block of a pcapng file, in bytes: libpcap's INITIAL_MAX_BLOCKSIZE (sf-pcapng.c).
pub(crate) const PCAPNG_BLOCK_BYTES_MAX: u32 = 16 << 20;

/// Interfaces of one input over all its sections; a frame's interface is a `u16`.
pub(crate) const INTERFACES_MAX: usize = 65_535;

/// Bytes of secrets, names and texts of sections that are kept of an input: of TLS about 3,000 connections. Each file that is written has
/// them all again.
pub(crate) const SUPPLEMENT_BYTES_MAX: usize = 1 << 20;

/// Options looked at in one pcapng block. The ones that matter occur once and first.
pub(crate) const OPTIONS_MAX: usize = 4096;

/// Longest record of a link type, in captured bytes: `max_snaplen_for_dlt` of libpcap (pcap-common.c).
pub(crate) fn captured_bytes_max(link: LinkType) -> u32 {
    match link.0 {
        // D-Bus, USB with Linux's padded header, USBPcap: messages and transfers are not split.
        231 | 220 | 249 => 128 << 20,
        // Elektrobit high-speed capture (EBHSCR).
        279 => 8 << 20,
        // tcpdump's MAXIMUM_SNAPLEN.
        _ => 256 << 10,
    }
}
