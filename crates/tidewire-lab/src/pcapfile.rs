//! Plain pcap files, microseconds, little-endian: what the generators write.

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
