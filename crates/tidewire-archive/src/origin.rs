//! Which recording writes an open segment, and since which start of the machine: a record in the file of its checksums, between the
//! two places that say how far it was synced (`sums.rs`). All is little-endian.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
};

use crate::{Error, read_at::ReadAt};

/// Where the record lies: in the first sector, behind the first place of the record that says what was synced.
const AT: u64 = 64;
const BYTES: usize = 64;
/// The kind of the record, with the version of its format.
const KIND: u32 = 0x7453_0301;
const RECORDING_BYTES_MAX: usize = 32;
/// A random number that the kernel has until the machine is started again.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A start of the machine: as long as it runs, what was written to a file is there, synced or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Boot([u8; 16]);

impl Boot {
    /// The current one; `None`: the system does not say.
    pub fn current() -> Option<Self> {
        let text = fs::read_to_string(BOOT_ID).ok()?;
        let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
        let number = u128::from_str_radix(&digits, 16).ok().filter(|&number| digits.len() == 32 && number != 0)?;
        Some(Self(number.to_be_bytes()))
    }
}

/// Which recording writes an open segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Its name, as indexes have it.
    pub recording: String,
    /// Since which start of the machine; `None`: not known.
    pub boot: Option<Boot>,
    /// How deep it follows tunnels.
    pub tunnel_depth: u8,
}

impl Origin {
    /// Writes the record to a file of checksums that was just created.
    pub fn write(&self, sums: &File) -> io::Result<()> {
        sums.write_all_at(&self.encode(), AT)
    }

    /// Reads it; `None`: an older recorder wrote none, or it was not written whole.
    pub fn read(sums: &mut dyn ReadAt) -> Result<Option<Self>, Error> {
        let mut found = Vec::new();
        sums.read_at(AT, BYTES, &mut found)?;
        Ok(Self::parse(&found))
    }

    /// Whether the machine was not started again since: what was written is there, whether it was synced or not.
    pub fn is_of_this_boot(&self) -> bool {
        self.boot.is_some() && self.boot == Boot::current()
    }

    fn encode(&self) -> [u8; BYTES] {
        let mut record = [0; BYTES];
        let name = self.recording.as_bytes();
        let name = name.get(..name.len().min(RECORDING_BYTES_MAX)).unwrap_or_default();
        record[..4].copy_from_slice(&KIND.to_le_bytes());
        record[8..24].copy_from_slice(&self.boot.map_or([0; 16], |boot| boot.0));
        (record[24], record[25]) = (name.len() as u8, self.tunnel_depth);
        record[32..32 + name.len()].copy_from_slice(name);
        let checksum = crc32c::crc32c(&record);
        record[4..8].copy_from_slice(&checksum.to_le_bytes());
        record
    }

    fn parse(found: &[u8]) -> Option<Self> {
        let boot: [u8; 16] = *found.get(8..)?.first_chunk()?;
        let (length, tunnel_depth) = (usize::from(*found.get(24)?), *found.get(25)?);
        let recording = String::from_utf8(found.get(32..32 + length)?.to_vec()).ok()?;
        let origin = Self { recording, boot: (boot != [0; 16]).then_some(Boot(boot)), tunnel_depth };
        (origin.encode()[..] == *found).then_some(origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let origin = Origin { recording: "0123456789abcdef".into(), boot: Boot::current(), tunnel_depth: 8 };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sums");
        origin.write(&File::create(&path).expect("created")).expect("written");
        let mut sums = fs::read(&path).expect("read");
        assert_eq!(Origin::read(&mut sums).expect("read"), Some(origin.clone()));
        assert_eq!(origin.is_of_this_boot(), origin.boot.is_some());
        let other = Origin { boot: Some(Boot([7; 16])), ..origin };
        assert!(!other.is_of_this_boot());
        for byte in AT as usize..AT as usize + BYTES {
            sums[byte] ^= 1;
            assert_eq!(Origin::read(&mut sums).expect("read"), None, "byte {byte}");
            sums[byte] ^= 1;
        }
        assert_eq!(Origin::read(&mut vec![0; 1024]).expect("read"), None);
        assert_eq!(Origin::read(&mut Vec::new()).expect("read"), None);
    }
}
