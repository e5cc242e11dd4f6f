//! Cut and damaged captures: all that comes before is there, the damage is named, nothing panics or takes memory.

use crate::common::{Compress, FORMS, Numbers, Order, Packet, Pcapng, bzip2, gzip, lz4, pcap, read, xz, zstd};
use tidewire_files::{Error, Reader};

fn packets(count: u64) -> Vec<Packet> {
    let mut numbers = Numbers(7);
    let packet = |number: u64| Packet {
        timestamp_ns: number * 1_000_000,
        bytes: numbers.bytes(number as usize % 50),
        wire_bytes: 60,
        link: 1,
        interface: 0,
    };
    (0..count).map(packet).collect()
}

fn pcapng(count: u64) -> Pcapng {
    let mut writer = Pcapng::new();
    writer.section(Order { big_endian: true }, -1).interface(1, 0, Some(9), None);
    for packet in packets(count) {
        writer.enhanced(0, packet.timestamp_ns, packet.wire_bytes, &packet.bytes);
    }
    writer
}

#[test]
fn a_pcap_file_cut_anywhere_gives_what_was_whole() {
    let packets = packets(12);
    for form in FORMS {
        for big_endian in [false, true] {
            let (file, starts) = pcap(form, Order { big_endian }, 1, &packets);
            for cut in 1..file.len() {
                let got = read(&file[..cut]);
                let ends = starts.iter().skip(1).copied().chain([file.len() as u64]);
                let whole = ends.filter(|&end| end <= cut as u64).count();
                assert_eq!(got.packets, packets[..whole], "{form:?} cut at {cut}");
                if cut < 4 {
                    assert!(matches!(got.errors[..], [Error::NotACapture { .. }]), "{:?}", got.errors);
                } else if cut < 24 {
                    assert_eq!(got.damage_offset(), 0);
                } else if cut as u64 == starts[whole] {
                    assert!(got.errors.is_empty(), "a cut between records cannot be seen");
                } else {
                    assert_eq!(got.damage_offset(), starts[whole]);
                }
            }
        }
    }
}

#[test]
fn a_pcapng_file_cut_anywhere_gives_what_was_whole() {
    let writer = pcapng(12);
    let packets = packets(12);
    for cut in 12..writer.file.len() {
        let got = read(&writer.file[..cut]);
        let ends = writer.starts.iter().skip(1).copied().chain([writer.file.len() as u64]);
        let whole = ends.filter(|&end| end <= cut as u64).count();
        assert_eq!(got.packets, packets[..whole.saturating_sub(2)], "cut at {cut}");
        if cut as u64 == writer.starts[whole] {
            assert!(got.errors.is_empty());
        } else {
            assert_eq!(got.damage_offset(), writer.starts[whole]);
        }
    }
}

#[test]
fn a_compressed_file_cut_anywhere_is_noticed() {
    let packets = packets(40);
    let (file, _) = pcap(FORMS[0], Order { big_endian: false }, 1, &packets);
    for compressed in [gzip(&file), zstd(&file), lz4(&file), lz4(&gzip(&file)), xz(&file), bzip2(&file)] {
        for cut in 16..compressed.len() {
            let got = read(&compressed[..cut]);
            assert_eq!(got.packets, packets[..got.packets.len()]);
            match &got.errors[..] {
                [Error::Damaged(damage)] => assert!(damage.compressed, "{damage}"),
                other => panic!("cut at {cut} of {}: {other:?}", compressed.len()),
            }
        }
        assert!(read(&compressed).errors.is_empty());
    }
}

/// Bytes that were decompressed before the damage are delivered to the last whole packet.
#[test]
fn what_a_damaged_compressed_file_held_before_is_delivered() {
    let packets = packets(60_000);
    let (file, starts) = pcap(FORMS[0], Order { big_endian: false }, 1, &packets);
    let middle = file.len() / 2;
    let before = starts.iter().filter(|&&start| start <= middle as u64).count() - 1;
    let record_start = starts[before];
    let compress: [Compress; 5] = [gzip, zstd, lz4, xz, bzip2];
    for compress in compress {
        let whole = compress(&file[..middle]);
        let got = read(&[&whole[..], b"no such thing"].concat());
        assert_eq!(got.packets.len(), before);
        assert!((record_start..=middle as u64).contains(&got.damage_offset()), "{:?}", got.errors);
        // Half of the compressed bytes hold about half of the data; a block of each kind may be lost.
        let got = read(&whole[..whole.len() / 2]);
        assert!(got.packets.len() > before / 2 - before / 10, "{} of {before}", got.packets.len());
        assert_eq!(got.packets, packets[..got.packets.len()]);
    }
}

/// Streams of each format that cost a decompressor time and hold nothing: empty parts, empty blocks, frames to be skipped.
#[test]
fn compressed_input_that_yields_nothing_ends() {
    let packets = packets(40);
    let (file, _) = pcap(FORMS[0], Order { big_endian: false }, 1, &packets);
    let compress: [(&str, Compress); 5] = [("gzip", gzip), ("zstd", zstd), ("lz4", lz4), ("xz", xz), ("bzip2", bzip2)];
    let parts = |empty: &[u8]| 200_000.min((6 << 20) / empty.len());
    let holds_nothing = |name: &str, bytes: &[u8]| {
        let got = read(bytes);
        assert_eq!(got.packets, packets, "{name}");
        let said = got.errors.first().map(ToString::to_string).unwrap_or_default();
        assert!(said.contains("holds next to nothing") && said.contains("-dc FILE"), "{name}: {said:?}");
    };
    for (name, compress) in compress {
        let (content, empty) = (compress(&file), compress(b""));
        holds_nothing(name, &[&content[..], &empty.repeat(parts(&empty))].concat());
        // Whatever a person concatenates is read.
        let got = read(&[&content[..], &empty.repeat(2000)].concat());
        assert!(got.errors.is_empty() && got.packets == packets, "{name}: {:?}", got.errors);
        // Compressed once more it does not cost more.
        let twice = gzip(&[&content[..], &empty.repeat(parts(&empty))].concat());
        holds_nothing(name, &twice);
    }
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0].repeat(1 << 20);
    for (name, compress) in [("zstd", zstd as Compress), ("lz4", lz4)] {
        holds_nothing(name, &[&compress(&file)[..], &skipped].concat());
    }
    // Blocks without bytes in one member (RFC 1951 section 3.2.4) and one frame (RFC 8878 section 3.1.1.2).
    let member = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][..], &[0, 0, 0, 0xff, 0xff].repeat(2 << 20)].concat();
    holds_nothing("gzip", &[gzip(&file), member].concat());
    let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x58][..], &[0, 0, 0].repeat(3 << 20)].concat();
    holds_nothing("zstd", &[zstd(&file), frame].concat());
    // Padding of tapes is no bomb, up to 64 MiB.
    let padded = [&gzip(&file)[..], &vec![0; 8 << 20]].concat();
    assert!(read(&padded).errors.is_empty());
    holds_nothing("gzip", &gzip(&[&gzip(&file)[..], &vec![0; 72 << 20]].concat()));
}

#[test]
fn lengths_that_cannot_be_are_damage_and_take_no_memory() {
    let (mut file, starts) = pcap(FORMS[0], Order { big_endian: false }, 1, &packets(3));
    let at = starts[2] as usize + 8;
    for length in [262_145u32, 1 << 30, u32::MAX] {
        file[at..at + 4].copy_from_slice(&length.to_le_bytes());
        let got = read(&file);
        assert_eq!((got.packets.len(), got.damage_offset()), (2, starts[2]));
        assert!(got.allocated_bytes < 1 << 20);
    }
    // USB transfers may be longer: then it is the end of the file that is met.
    let (mut file, _) = pcap(FORMS[0], Order { big_endian: false }, 220, &packets(3));
    file[at..at + 4].copy_from_slice(&(100u32 << 20).to_le_bytes());
    let got = read(&file);
    assert!(got.errors[0].to_string().contains("of a packet's 104857600 captured bytes"), "{}", got.errors[0]);
    assert!(got.allocated_bytes < 1 << 20);
}

#[test]
fn damaged_blocks_are_named() {
    let damaged = |change: &dyn Fn(&mut Vec<u8>, usize), what: &str| {
        let mut writer = pcapng(5);
        let at = writer.starts[4] as usize;
        change(&mut writer.file, at);
        let got = read(&writer.file);
        assert_eq!((got.packets.len(), got.damage_offset()), (2, at as u64));
        assert!(got.errors[0].to_string().contains(what), "{}", got.errors[0]);
    };
    damaged(&|file, at| file[at + 7] ^= 1, "has length");
    damaged(&|file, at| file[at + 4] = 1, "has length 16777");
    damaged(&|file, at| file[at + 7] ^= 4, "ends with length");
    damaged(&|file, at| file[at + 11] = 1, "names interface 1; 1 were described");
    damaged(&|file, at| file[at + 22] = 1, "in a block with room for");
    damaged(&|file, at| file[at + 20] = 1, "the limit is 262144");
    damaged(&|file, at| file[at..at + 4].copy_from_slice(&[10, 13, 13, 10]), "byte-order magic");
}

#[test]
fn there_is_a_last_interface() {
    let mut writer = Pcapng::new();
    writer.section(Order { big_endian: false }, -1);
    for _ in 0..65_536 {
        writer.interface(1, 0, None, None);
    }
    writer.enhanced(65_534, 0, 1, b"a");
    let got = read(&writer.file);
    assert!(got.errors[0].to_string().contains("more than 65535 interfaces"), "{}", got.errors[0]);
}

#[test]
fn random_damage_never_panics_and_takes_little_memory() {
    let (pcap, _) = pcap(FORMS[0], Order { big_endian: false }, 1, &packets(200));
    let pcapng = pcapng(200).file;
    let mut numbers = Numbers(11);
    let originals = [gzip(&pcap), zstd(&pcap), lz4(&pcap), pcap, pcapng];
    for round in 0..2000 {
        let mut file = originals[round % originals.len()].clone();
        for _ in 0..=numbers.below(8) {
            let at = numbers.below(file.len() as u64) as usize;
            file[at] = match numbers.below(3) {
                0 => numbers.next() as u8,
                1 => 0xff,
                _ => file[at] ^ 1 << numbers.below(8),
            };
        }
        let got = read(&file);
        assert!(got.allocated_bytes < 2 << 20, "{} bytes", got.allocated_bytes);
    }
}

#[test]
fn inputs_that_are_no_captures_are_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let open = |bytes: &[u8]| {
        std::fs::write(at("file"), bytes).unwrap();
        match Reader::open(at("file")) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("opened {bytes:?}"),
        }
    };
    assert!(open(b"").contains("is empty"));
    assert!(open(&gzip(b"")).contains("is empty"));
    assert!(open(b"hello\nworld").contains("text that begins \"hello\""));
    assert!(open(&gzip(b"hello\nworld")).contains("inside its compression, text"));
    assert!(open(b"\xfd7zXZ\0\0\x04").contains("the xz data is cut"));
    assert!(open(b"BZh").contains("text that begins"));
    assert!(open(b"PK\x03\x04").contains("unzip -p"));
    assert!(open(b"\x7fELF\x02\x01").contains("a program"));
    assert!(open(&[0; 600]).contains("zero bytes"));
    assert!(
        open(&[0xd4, 0xc3, 0xb2, 0xa1, 9, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0])
            .contains("version 9.1")
    );
    let mut nested = pcap(FORMS[0], Order { big_endian: false }, 1, &[]).0;
    for _ in 0..5 {
        nested = gzip(&nested);
    }
    assert!(open(&nested).contains("more than 4 times"));
    assert!(matches!(Reader::open(at("missing")), Err(Error::Missing { .. })));
    assert!(matches!(Reader::open(folder.path()), Err(Error::Directory { .. })));
}
