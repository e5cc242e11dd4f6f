//! Writes pcap files: microseconds, little-endian.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
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
    /// The error of the file system.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::with_link(path, LINK_ETHERNET)
    }

    /// As [`Self::create`], for another link type.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn with_link(path: &Path, link: u32) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?);
        for word in [MAGIC_MICROSECONDS, 0x0004_0002, 0, 0, SNAP_BYTES, link] {
            out.write_all(&word.to_le_bytes())?;
        }
        Ok(Self { out, packets: 0, bytes: 0 })
    }

    /// Adds a complete frame.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn write(&mut self, time_us: u64, frame: &[u8]) -> io::Result<()> {
        self.write_record(time_us, frame, frame.len() as u32)
    }

    /// Adds a frame with these captured bytes and this length on the wire.
    ///
    /// # Errors
    /// The error of the file system.
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

    /// Writes buffered bytes and closes the file.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn finish(mut self) -> io::Result<(u64, u64)> {
        self.out.flush()?;
        Ok((self.packets, self.bytes))
    }
}
