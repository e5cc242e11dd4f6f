//! Plain pcap files, microseconds, little-endian: what the generators write and `impair` reads.
//!
//! The product's own readers are in `tidewire-live`; these few lines keep the traffic independent of them.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read, Write},
    path::Path,
};

const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
const SNAP_BYTES: u32 = 262_144;
const LINK_ETHERNET: u32 = 1;
const BUFFER_BYTES: usize = 1 << 20;

/// Writes Ethernet frames.
pub struct Writer {
    out: BufWriter<File>,
    packets: u64,
    bytes: u64,
}

impl Writer {
    /// Creates the file and writes its header.
    ///
    /// # Errors
    /// What the file system says.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::with_link(path, LINK_ETHERNET)
    }

    /// As [`Self::create`], for another link type.
    ///
    /// # Errors
    /// What the file system says.
    pub fn with_link(path: &Path, link: u32) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?);
        for word in [MAGIC_MICROSECONDS, 0x0004_0002, 0, 0, SNAP_BYTES, link] {
            out.write_all(&word.to_le_bytes())?;
        }
        Ok(Self { out, packets: 0, bytes: 0 })
    }

    /// Adds a frame, whole.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&mut self, time_us: u64, frame: &[u8]) -> io::Result<()> {
        self.write_record(time_us, frame, frame.len() as u32)
    }

    /// Adds a frame of which `frame` was captured and that had `wire_bytes` on the wire.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write_record(&mut self, time_us: u64, frame: &[u8], wire_bytes: u32) -> io::Result<()> {
        let head = [(time_us / 1_000_000) as u32, (time_us % 1_000_000) as u32, frame.len() as u32, wire_bytes];
        for word in head {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.packets += 1;
        self.bytes += frame.len() as u64;
        self.out.write_all(frame)
    }

    /// Packets and captured bytes written so far.
    #[must_use]
    pub fn written(&self) -> (u64, u64) {
        (self.packets, self.bytes)
    }

    /// Writes what is still buffered.
    ///
    /// # Errors
    /// What the file system says.
    pub fn finish(mut self) -> io::Result<(u64, u64)> {
        self.out.flush()?;
        Ok((self.packets, self.bytes))
    }
}

/// One record of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Microseconds since the epoch.
    pub time_us: u64,
    /// Bytes on the wire.
    pub wire_bytes: u32,
    /// The captured frame.
    pub frame: Vec<u8>,
}

/// Reads a plain pcap file of this machine's byte order in microseconds, as tcpdump writes it.
pub struct Reader {
    input: BufReader<File>,
    link: u32,
}

impl Reader {
    /// Opens a file.
    ///
    /// # Errors
    /// What the file system says, or `InvalidData` for another format.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut input = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
        let mut head = [0; 24];
        input.read_exact(&mut head)?;
        if word(&head, 0) != MAGIC_MICROSECONDS {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a little-endian pcap file in microseconds"));
        }
        Ok(Self { input, link: word(&head, 20) })
    }

    /// The file's link type.
    #[must_use]
    pub fn link(&self) -> u32 {
        self.link
    }

    /// The next record into `record`; `false` at the end (a record that was cut off is left out).
    ///
    /// # Errors
    /// What the file system says, or `InvalidData` for a record that no capture holds.
    pub fn next_into(&mut self, record: &mut Record) -> io::Result<bool> {
        let mut head = [0; 16];
        match self.input.read_exact(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other?,
        }
        let captured = word(&head, 8);
        if captured > SNAP_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a record larger than any snap length"));
        }
        record.time_us = u64::from(word(&head, 0)) * 1_000_000 + u64::from(word(&head, 4));
        record.wire_bytes = word(&head, 12);
        record.frame.resize(captured as usize, 0);
        match self.input.read_exact(&mut record.frame) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            other => other.map(|()| true),
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}
