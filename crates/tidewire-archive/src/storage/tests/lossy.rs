//! A storage in memory, of which a power failure leaves what was synced, and anything of the rest.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};

use crate::{Storage, StorageFile};

/// A disk writes these whole, or not.
const SECTOR_BYTES: usize = 512;
/// The system writes these to a disk, and forgets them where that fails.
const PAGE_BYTES: usize = 4096;

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
    /// Pages that were written since the last sync, failed or not.
    dirty: BTreeSet<usize>,
}

/// State of pages that a sync could not write. The next sync does not report them in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unwritten {
    /// They are in memory as they were.
    #[default]
    Kept,
    /// They are read again from the disk: one time in two.
    Dropped,
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
    unwritten: Unwritten,
    /// Whether only syncs fail.
    syncs_alone: bool,
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

    /// The same, where syncs alone fail.
    pub fn with_syncs(fails_one_in: u64, numbers: Numbers, unwritten: Unwritten) -> Self {
        let disk = Self::flaky(fails_one_in, numbers);
        let mut inner = disk.disk();
        (inner.unwritten, inner.syncs_alone) = (unwritten, true);
        drop(inner);
        disk
    }

    /// Operations that failed.
    pub fn failed(&self) -> u64 {
        self.disk().failed
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().expect("no thread panics with it")
    }

    /// One operation more. After the failure there is none.
    fn operate(&self) -> io::Result<MutexGuard<'_, Disk>> {
        self.operate_as(false)
    }

    fn operate_as(&self, is_sync: bool) -> io::Result<MutexGuard<'_, Disk>> {
        let mut disk = self.disk();
        disk.left = disk.left.saturating_sub(1);
        let fails_one_in = disk.fails_one_in;
        let may_fail = is_sync || !disk.syncs_alone;
        if may_fail && disk.numbers.as_mut().is_some_and(|numbers| numbers.below(fails_one_in) == 0) {
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
    /// The synced content, with any of the sectors written since: a disk stores them in any order. The length is one of both, or
    /// between.
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
        // All, none, most, or those before some place.
        let (way, sectors) = (numbers.below(5), self.now.len().div_ceil(SECTOR_BYTES) as u64);
        let written = numbers.below(sectors + 1) as usize;
        for (place, new) in self.now.chunks(SECTOR_BYTES).enumerate() {
            let start = place * SECTOR_BYTES;
            let is_dirty = self.dirty.contains(&(start / PAGE_BYTES));
            let is_written = match way {
                0 => true,
                1 => place < written,
                2 => numbers.below(2) == 0,
                _ => numbers.below(20) > 0,
            };
            if start < bytes && is_dirty && is_written {
                let end = (start + new.len()).min(bytes);
                left[start..end].copy_from_slice(&new[..end - start]);
            }
        }
        left
    }

    /// Pages go to the disk.
    fn sync(&mut self) {
        self.synced.resize(self.now.len(), 0);
        for page in std::mem::take(&mut self.dirty) {
            let range = Self::range(page, self.now.len());
            self.synced[range.clone()].copy_from_slice(&self.now[range]);
        }
    }

    /// Pages did not go to the disk.
    fn fail(&mut self, are_dropped: bool) {
        for page in std::mem::take(&mut self.dirty).into_iter().filter(|_| are_dropped) {
            for place in Self::range(page, self.now.len()) {
                self.now[place] = self.synced.get(place).copied().unwrap_or(0);
            }
        }
    }

    fn range(page: usize, bytes: usize) -> std::ops::Range<usize> {
        (page * PAGE_BYTES).min(bytes)..((page + 1) * PAGE_BYTES).min(bytes)
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
        content.dirty.extend(offset as usize / PAGE_BYTES..end.div_ceil(PAGE_BYTES));
        drop(disk);
        if is_failed { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
    }

    fn read_at(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let disk = self.0.operate()?;
        let content = disk.files.get(self.1).expect("a file");
        let there = content.now.get(offset as usize..).unwrap_or_default();
        let read = there.len().min(bytes.len());
        bytes[..read].copy_from_slice(&there[..read]);
        Ok(read)
    }

    fn sync(&mut self) -> io::Result<()> {
        match self.0.operate_as(true) {
            Ok(mut disk) => {
                disk.files.get_mut(self.1).expect("a file").sync();
                Ok(())
            }
            Err(error) => {
                let mut disk = self.0.disk();
                let drops = disk.unwritten == Unwritten::Dropped;
                let are_dropped = drops && disk.numbers.as_mut().is_some_and(|numbers| numbers.below(2) == 0);
                disk.files.get_mut(self.1).expect("a file").fail(are_dropped);
                Err(error)
            }
        }
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
