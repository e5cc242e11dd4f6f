use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
};

use super::{
    ARRAY, Attributes, PERCPU_ARRAY, PERCPU_HASH, address, address_mut, bpf, command, first, owned, pair, second,
};

/// `BPF_MAP_TYPE_LRU_PERCPU_HASH`, `BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE`: the other kinds with a value for each processor.
const OTHER_PERCPU: [u32; 2] = [10, 21];

/// `BPF_F_MMAPABLE`
const MMAPABLE: u32 = 1 << 10;

/// A map; it goes away with its last descriptor and the last program that uses it.
#[derive(Debug)]
pub struct Map {
    descriptor: OwnedFd,
    key_bytes: usize,
    /// As `bpf(2)` copies it: all processors' values, where there is one for each.
    value_bytes: usize,
    entries: u32,
}

impl Map {
    /// Makes one.
    ///
    /// # Errors
    /// What the kernel says: privileges are needed.
    pub fn new(kind: u32, key_bytes: u32, value_bytes: u32, entries: u32) -> io::Result<Self> {
        Self::make(kind, [key_bytes, value_bytes, entries], 0)
    }

    /// Makes an array that can be [mapped](crate::sys::mmap_array::MmapArray), with keys of 4 bytes.
    ///
    /// # Errors
    /// What the kernel says: privileges are needed, and Linux 5.5.
    pub fn new_mappable(value_bytes: u32, entries: u32) -> io::Result<Self> {
        Self::make(ARRAY, [4, value_bytes, entries], MMAPABLE)
    }

    fn make(kind: u32, [key_bytes, value_bytes, entries]: [u32; 3], flags: u32) -> io::Result<Self> {
        let mut attributes = [0; 18];
        (attributes[0], attributes[1]) = (pair(kind, key_bytes), pair(value_bytes, entries));
        attributes[2] = pair(flags, 0);
        let descriptor = owned(bpf(command::MAP_CREATE, &mut attributes)?);
        Self::of(descriptor, kind, [key_bytes, value_bytes, entries])
    }

    /// Another handle of a map that was made elsewhere.
    ///
    /// # Errors
    /// What the kernel says: it is no map.
    pub fn from_descriptor(descriptor: BorrowedFd<'_>) -> io::Result<Self> {
        // struct bpf_map_info: type, id, key_size, value_size, max_entries, …
        let mut information = [0_u64; 16];
        let mut attributes: Attributes = [0; 18];
        let bytes = size_of_val(&information) as u32;
        attributes[0] = pair(descriptor.as_raw_fd() as u32, bytes);
        attributes[1] = address_mut(&mut information);
        bpf(command::OBJECT_INFO, &mut attributes)?;
        let [kind_id, sizes, entries, ..] = information;
        let descriptor = descriptor.try_clone_to_owned()?;
        Self::of(descriptor, first(kind_id), [first(sizes), second(sizes), first(entries)])
    }

    fn of(descriptor: OwnedFd, kind: u32, [key_bytes, value_bytes, entries]: [u32; 3]) -> io::Result<Self> {
        let each = value_bytes as usize;
        let is_percpu = [PERCPU_HASH, PERCPU_ARRAY].contains(&kind) || OTHER_PERCPU.contains(&kind);
        let value_bytes = if is_percpu { each.next_multiple_of(8) * possible_cpus()? } else { each };
        Ok(Self { descriptor, key_bytes: key_bytes as usize, value_bytes, entries })
    }

    /// Its number in this process, as programs take it.
    #[must_use]
    pub fn number(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// How many entries it may have.
    #[must_use]
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// Bytes of a value as [`lookup`](Self::lookup) returns it: where there is one for each processor, all of them, each
    /// rounded up to 8 bytes.
    #[must_use]
    pub fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    /// The first value of an array.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn first(&self) -> io::Result<Vec<u8>> {
        self.lookup(&0_u32.to_ne_bytes())?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The value of a key.
    ///
    /// # Errors
    /// The key has another length, or what the kernel says.
    pub fn lookup(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let mut value = vec![0; self.value_bytes];
        let found = self.lookup_into(key, &mut value)?;
        Ok(found.then_some(value))
    }

    /// The same into memory of the caller's, of [`value_bytes`](Self::value_bytes); false where there is no such key.
    ///
    /// # Errors
    /// Key or value have another length, or what the kernel says.
    pub fn lookup_into(&self, key: &[u8], value: &mut [u8]) -> io::Result<bool> {
        self.sizes(key, value)?;
        let mut attributes = [0; 18];
        attributes[..3].copy_from_slice(&[pair(self.number() as u32, 0), address(key), address_mut(value)]);
        found(bpf(command::MAP_LOOKUP, &mut attributes))
    }

    /// Sets the value of a key. `flags`: 0 any way, 1 only if it is new (`BPF_NOEXIST`), 2 only if it is there (`BPF_EXIST`).
    ///
    /// # Errors
    /// Key or value have another length, or what the kernel says: `E2BIG` where the map is full.
    pub fn update(&self, key: &[u8], value: &[u8], flags: u64) -> io::Result<()> {
        self.sizes(key, value)?;
        let mut attributes = [0; 18];
        attributes[..4].copy_from_slice(&[pair(self.number() as u32, 0), address(key), address(value), flags]);
        bpf(command::MAP_UPDATE, &mut attributes).map(drop)
    }

    /// Sets an entry of an array of descriptors: of programs, AF_XDP sockets; of a device map, an interface's index.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn set(&self, index: u32, descriptor: RawFd) -> io::Result<()> {
        self.update(&index.to_ne_bytes(), &descriptor.to_ne_bytes(), 0)
    }

    /// Takes a key out; false where there is no such key.
    ///
    /// # Errors
    /// The key has another length, or what the kernel says.
    pub fn delete(&self, key: &[u8]) -> io::Result<bool> {
        self.key(key)?;
        let mut attributes = [0; 18];
        attributes[..2].copy_from_slice(&[pair(self.number() as u32, 0), address(key)]);
        found(bpf(command::MAP_DELETE, &mut attributes))
    }

    /// The key behind `key`, the first one of all for `None`; `None` behind the last.
    ///
    /// # Errors
    /// The key has another length, or what the kernel says.
    pub fn next_key(&self, key: Option<&[u8]>) -> io::Result<Option<Vec<u8>>> {
        if let Some(key) = key {
            self.key(key)?;
        }
        let mut next = vec![0; self.key_bytes];
        let mut attributes = [0; 18];
        attributes[0] = pair(self.number() as u32, 0);
        attributes[1] = key.map_or(0, address);
        attributes[2] = address_mut(&mut next);
        Ok(found(bpf(command::MAP_NEXT_KEY, &mut attributes))?.then_some(next))
    }

    fn key(&self, key: &[u8]) -> io::Result<()> {
        if key.len() == self.key_bytes { Ok(()) } else { Err(size("key", key.len(), self.key_bytes)) }
    }

    fn sizes(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.key(key)?;
        if value.len() == self.value_bytes { Ok(()) } else { Err(size("value", value.len(), self.value_bytes)) }
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn size(what: &str, is: usize, expected: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("a {what} of {is} bytes where the map has {expected}"))
}

fn found(result: io::Result<RawFd>) -> io::Result<bool> {
    match result {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

/// How many processors the machine may ever have: values of a map with one for each.
///
/// # Errors
/// `/sys/devices/system/cpu/possible` cannot be read.
pub fn possible_cpus() -> io::Result<usize> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible")?;
    // "0-1", or "0,2-3": the last number is the greatest.
    let last = text.trim().rsplit([',', '-']).next().and_then(|last| last.parse::<usize>().ok());
    last.map(|last| last + 1).ok_or_else(|| io::Error::other("the list of possible processors cannot be read"))
}
