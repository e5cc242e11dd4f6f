//! A storage in memory, of which a power failure leaves what was synced, and anything of the rest.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};

use crate::{Storage, StorageFile};

/// A disk writes these whole, or not.
const SECTOR_BYTES: usize = 512;

/// Numbers that repeat.
#[derive(Debug)]
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64, round: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (round + 1).wrapping_mul(0xd134_2543_de82_ef95))
    }

    pub fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most.max(1)
    }
}

#[derive(Clone, Debug, Default)]
struct Content {
    now: Vec<u8>,
    synced: Vec<u8>,
}

#[derive(Debug, Default)]
struct Disk {
    files: Vec<Content>,
    names: BTreeMap<String, usize>,
    /// Changes of names since the last sync, each whole: it may be lost with those after it.
    changes: Vec<Vec<(String, Option<usize>)>>,
    synced_names: BTreeMap<String, usize>,
    /// Operations until the power fails.
    left: u64,
    /// Of so many operations one fails, and may be tried again.
    fails_one_in: u64,
    numbers: Option<Numbers>,
    failed: u64,
}

/// The storage.
#[derive(Clone, Debug)]
pub struct Lossy(Arc<Mutex<Disk>>);

/// A file of it.
#[derive(Debug)]
pub struct LossyFile(Lossy, usize);

impl Lossy {
    /// The power fails with the operation of this number.
    pub fn new(operations: u64) -> Self {
        Self(Arc::new(Mutex::new(Disk { left: operations, ..Disk::default() })))
    }

    /// Of so many operations one fails, and the power does not.
    pub fn flaky(fails_one_in: u64, numbers: Numbers) -> Self {
        let disk = Disk { left: u64::MAX, fails_one_in, numbers: Some(numbers), ..Disk::default() };
        Self(Arc::new(Mutex::new(disk)))
    }

    /// Operations that failed.
    pub fn failed(&self) -> u64 {
        self.disk().failed
    }

    /// Writes to a folder all that is there.
    pub fn copy_to(&self, folder: &Path) {
        let disk = self.disk();
        for (name, file) in &disk.names {
            fs::write(folder.join(name), &disk.files.get(*file).expect("a file").now).expect("written");
        }
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().expect("nobody panics with it")
    }

    /// One operation more. After the failure there is none.
    fn operate(&self) -> io::Result<MutexGuard<'_, Disk>> {
        let mut disk = self.disk();
        disk.left = disk.left.saturating_sub(1);
        let fails_one_in = disk.fails_one_in;
        if disk.numbers.as_mut().is_some_and(|numbers| numbers.below(fails_one_in) == 0) {
            disk.failed += 1;
            return Err(io::Error::from_raw_os_error(5));
        }
        if disk.left == 0 { Err(io::Error::other("the power failed")) } else { Ok(disk) }
    }

    /// Writes to a folder what is left.
    pub fn after_power_failure(&self, folder: &Path, numbers: &mut Numbers) {
        let disk = self.disk();
        let mut names = disk.synced_names.clone();
        // A journal loses the last changes of names, in their order.
        let kept = numbers.below(disk.changes.len() as u64 + 1) as usize;
        for (name, file) in disk.changes.iter().take(kept).flatten() {
            match file {
                Some(file) => names.insert(name.clone(), *file),
                None => names.remove(name),
            };
        }
        for (name, file) in names {
            let content = disk.files.get(file).expect("a file");
            fs::write(folder.join(name), content.left(numbers)).expect("written");
        }
    }
}

impl Content {
    /// What was synced, and of what was written since the sectors up to some place; the length is one of both, or between. What
    /// file systems with ordered data do: they do not show what is behind a block that they have not written.
    fn left(&self, numbers: &mut Numbers) -> Vec<u8> {
        let mut left = self.synced.clone();
        let (low, high) = (self.synced.len().min(self.now.len()), self.synced.len().max(self.now.len()));
        let bytes = match numbers.below(4) {
            0 => self.synced.len(),
            1 => self.now.len(),
            _ => low + numbers.below((high - low) as u64 + 1) as usize,
        };
        // Blocks that were allocated, and not written, are zeros.
        left.resize(bytes, 0);
        let sectors = self.now.len().div_ceil(SECTOR_BYTES) as u64;
        let written = numbers.below(sectors + 1) as usize;
        for (place, new) in self.now.chunks(SECTOR_BYTES).enumerate().take(written) {
            let start = place * SECTOR_BYTES;
            if start >= bytes {
                break;
            }
            let end = (start + new.len()).min(bytes);
            left[start..end].copy_from_slice(&new[..end - start]);
        }
        left
    }
}

impl Storage for Lossy {
    type File = LossyFile;

    fn path(&self, name: &str) -> PathBuf {
        Path::new("/lossy").join(name)
    }

    fn create(&self, name: &str) -> io::Result<LossyFile> {
        let mut disk = self.operate()?;
        if disk.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = disk.files.len();
        disk.files.push(Content::default());
        disk.names.insert(name.into(), file);
        disk.changes.push(vec![(name.into(), Some(file))]);
        drop(disk);
        Ok(LossyFile(self.clone(), file))
    }

    fn has(&self, name: &str) -> bool {
        self.disk().names.contains_key(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut disk = self.operate()?;
        let file = disk.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        disk.names.insert(to.into(), file);
        disk.changes.push(vec![(from.into(), None), (to.into(), Some(file))]);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut disk = self.operate()?;
        disk.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        disk.changes.push(vec![(name.into(), None)]);
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut disk = self.operate()?;
        disk.synced_names = disk.names.clone();
        disk.changes.clear();
        Ok(())
    }
}

impl StorageFile for LossyFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let disk = self.0.operate();
        let is_failed = disk.is_err();
        let mut disk = disk.unwrap_or_else(|_| self.0.disk());
        let content = disk.files.get_mut(self.1).expect("a file");
        // Of what fails a part is written.
        let bytes = if is_failed { bytes.get(..bytes.len() / 2).unwrap_or_default() } else { bytes };
        let end = offset as usize + bytes.len();
        if content.now.len() < end {
            content.now.resize(end, 0);
        }
        content.now[offset as usize..end].copy_from_slice(bytes);
        drop(disk);
        if is_failed { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut disk = self.0.operate()?;
        let content = disk.files.get_mut(self.1).expect("a file");
        content.synced.clone_from(&content.now);
        Ok(())
    }

    fn duplicate(&mut self) -> io::Result<Self> {
        Ok(Self(self.0.clone(), self.1))
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        let mut disk = self.0.operate()?;
        disk.files.get_mut(self.1).expect("a file").now.truncate(bytes as usize);
        Ok(())
    }
}
