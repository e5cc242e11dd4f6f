use tidewire_types::hex;

use crate::{limits::LOOKS_LIKE_BYTES, netmon, pcap, pcapng, snoop};

/// Kind of an input, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputKind {
    Pcap,
    Pcapng,
    Snoop,
    Netmon,
    Gzip,
    Zstd,
    Lz4,
    Xz,
    Bzip2,
    /// A frame that zstd and lz4 let precede the data; both skip it.
    Skippable,
    Other,
}

impl InputKind {
    /// Whether a decompressor is added for it.
    pub(crate) fn is_compression(self) -> bool {
        matches!(self, Self::Gzip | Self::Zstd | Self::Lz4 | Self::Xz | Self::Bzip2 | Self::Skippable)
    }

    pub(crate) fn of(head: &[u8]) -> Self {
        match *head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            [0x04 | 0x02, 0x22 | 0x21, 0x4d | 0x4c, 0x18, ..] if lz4(head) => Self::Lz4,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, ..] => Self::Bzip2,
            // Nothing in it: the end of the stream follows the header.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, ..] => Self::Bzip2,
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Skippable,
            _ if pcap::recognised(head) => Self::Pcap,
            _ if pcapng::recognised(head) => Self::Pcapng,
            _ if head.starts_with(snoop::MAGIC) => Self::Snoop,
            _ if netmon::MAGICS.iter().any(|magic| head.starts_with(*magic)) => Self::Netmon,
            _ => Self::Other,
        }
    }
}

/// LZ4 frames, and the legacy ones of `lz4 -l`.
fn lz4(head: &[u8]) -> bool {
    head.starts_with(&[0x04, 0x22, 0x4d, 0x18]) || head.starts_with(&[0x02, 0x21, 0x4c, 0x18])
}

/// Beginnings of files that people have at hand beside captures, and what to do with them.
const OTHERS: &[(&[u8], &str)] = &[
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive; unpack it first"),
    (b"PK\x03\x04", "a ZIP archive; read a capture in it with: unzip -p FILE CAPTURE | tidewire ... -"),
    (b"Rar!", "a RAR archive; unpack it first"),
    (b"TRSNIFF data", "a capture of NetXRay Sniffer; convert it with: editcap -F pcapng FILE OUT"),
    (b"XCP\0", "a capture of NetXRay; convert it with: editcap -F pcapng FILE OUT"),
    (b"TRSNIFF data    \x1a", "a capture of Sniffer; convert it with: editcap -F pcapng FILE OUT"),
    (b"ObserverPktBuffer", "a capture of Viavi Observer; convert it with: editcap -F pcapng FILE OUT"),
    (b"\x05VNF", "a capture of Visual Networks; convert it with: editcap -F pcapng FILE OUT"),
    (b"\xaa\xaa\xaa\xaa\x20\0\0\0", "a capture of InfoVista 5View; convert it with: editcap -F pcapng FILE OUT"),
    (b"iptrace 1.0", "a capture of AIX (iptrace 1.0); convert it with: editcap -F pcapng FILE OUT"),
    (b"iptrace 2.0", "a capture of AIX (iptrace 2.0); convert it with: editcap -F pcapng FILE OUT"),
    (b"\x54\x52\0\x64\0", "a trace of HP-UX (nettl); convert it with: editcap -F pcapng FILE OUT"),
    (b"\x7fver", "a capture of Savvius Peek; convert it with: editcap -F pcapng FILE OUT"),
    (b"NetS", "a capture of Microsoft Windows (etl); convert it with: etl2pcapng FILE OUT"),
    (b"btsnoop\0", "a Bluetooth HCI log (btsnoop)"),
    (b"\x7fELF", "a program (ELF)"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "an image (PNG)"),
    (b"\xff\xd8\xff", "an image (JPEG)"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\x0a\x0d\x0d\x0a", "a pcapng file whose first block is damaged"),
];

/// Guesses the format of a file that is no capture, for the error.
pub(crate) fn looks_like(head: &[u8]) -> String {
    if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return (*what).to_owned();
    }
    if head.get(257..262) == Some(b"ustar") {
        return "a tar archive; unpack it first".to_owned();
    }
    let start = head.get(..head.len().min(LOOKS_LIKE_BYTES)).unwrap_or_default();
    let printable = |byte: &u8| matches!(byte, 0x20..=0x7e | b'\t' | b'\r' | b'\n') || *byte >= 0x80;
    if std::str::from_utf8(start).is_ok_and(|_| start.iter().all(printable)) {
        let line: String = String::from_utf8_lossy(start).lines().next().unwrap_or_default().chars().take(40).collect();
        return format!("text that begins {line:?}");
    }
    if start.iter().all(|&byte| byte == 0) {
        return "nothing but zero bytes; was it preallocated and never written?".to_owned();
    }
    format!("nothing known; its first bytes are {}", hex::separated(&start[..start.len().min(8)], ' '))
}
