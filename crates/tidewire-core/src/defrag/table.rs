//! Pending datagrams: a bounded table with a keyed hash, and the order of eviction.

use tidewire_types::siphash::siphash13_words;

use super::{
    key::Key,
    links::{Links, NIL},
    pending::Datagram,
};

/// Number of hash values that distinguish sources.
const SOURCES: usize = 256;
/// Index into a datagram's links: all datagrams.
const ALL: usize = 0;
/// Index into a datagram's links: those of its source.
const SOURCE: usize = 1;

/// A list in the order of the first fragments.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
    bytes: u64,
}

impl List {
    const EMPTY: Self = Self { first: NIL, last: NIL, bytes: 0 };
}

/// The table of pending datagrams.
#[derive(Debug)]
pub(super) struct Table {
    hash_key: [u64; 2],
    slots: Vec<Option<Box<Datagram>>>,
    unused: Vec<u32>,
    /// First datagram of each hash value.
    buckets: Vec<u32>,
    all: List,
    sources: Box<[List; SOURCES]>,
    count: u32,
}

impl Table {
    pub fn new(hash_key: [u64; 2]) -> Self {
        Self {
            hash_key,
            slots: Vec::new(),
            unused: Vec::new(),
            buckets: vec![NIL; 64],
            all: List::EMPTY,
            sources: Box::new([List::EMPTY; SOURCES]),
            count: 0,
        }
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    /// Memory of the datagrams and of the table.
    pub fn charge(&self) -> u64 {
        let slots = self.slots.capacity() * size_of::<Option<Box<Datagram>>>();
        let indexes = (self.unused.capacity() + self.buckets.capacity()) * size_of::<u32>();
        self.all.bytes + (slots + indexes + size_of::<[List; SOURCES]>()) as u64
    }

    pub fn hash(&self, key: &Key) -> u64 {
        siphash13_words(self.hash_key, key.0)
    }

    fn source(&self, key: &Key) -> u8 {
        siphash13_words(self.hash_key, [key.0[0], key.0[1]]) as u8
    }

    fn bucket(&self, hash: u64) -> usize {
        // The number of buckets is a power of two.
        hash as usize & (self.buckets.len() - 1)
    }

    pub fn find(&self, hash: u64, key: &Key) -> u32 {
        let mut at = self.buckets[self.bucket(hash)];
        while let Some(datagram) = self.get(at) {
            if datagram.hash == hash && datagram.key == *key {
                break;
            }
            at = datagram.next_of_hash;
        }
        at
    }

    pub fn get(&self, at: u32) -> Option<&Datagram> {
        self.slots.get(at as usize)?.as_deref()
    }

    pub fn get_mut(&mut self, at: u32) -> Option<&mut Datagram> {
        self.slots.get_mut(at as usize)?.as_deref_mut()
    }

    pub fn oldest(&self) -> u32 {
        self.all.first
    }

    /// The oldest datagram of the sources that use most memory.
    pub fn worst(&self) -> u32 {
        self.sources.iter().max_by_key(|source| source.bytes).map_or(NIL, |source| source.first)
    }

    pub fn add(&mut self, mut datagram: Box<Datagram>) -> u32 {
        if self.count as usize >= self.buckets.len() {
            self.grow();
        }
        let bucket = self.bucket(datagram.hash);
        datagram.source = self.source(&datagram.key);
        datagram.next_of_hash = self.buckets[bucket];
        let charge = datagram.charge();
        datagram.charged = charge;
        let source = datagram.source;
        let at = match self.unused.pop() {
            Some(at) => {
                self.slots[at as usize] = Some(datagram);
                at
            }
            None => {
                self.slots.push(Some(datagram));
                (self.slots.len() - 1) as u32
            }
        };
        self.buckets[bucket] = at;
        self.count += 1;
        self.append(ALL, source, at);
        self.append(SOURCE, source, at);
        self.all.bytes += charge;
        self.sources[source as usize].bytes += charge;
        at
    }

    /// Updates the charge of a datagram.
    pub fn recharge(&mut self, at: u32) {
        let Some(datagram) = self.get_mut(at) else { return };
        let now = datagram.charge();
        let before = std::mem::replace(&mut datagram.charged, now);
        let source = datagram.source as usize;
        for list in [&mut self.all, &mut self.sources[source]] {
            list.bytes = list.bytes - before + now;
        }
    }

    pub fn remove(&mut self, at: u32) -> Option<Box<Datagram>> {
        let datagram = self.slots.get_mut(at as usize)?.take()?;
        let bucket = self.bucket(datagram.hash);
        if self.buckets[bucket] == at {
            self.buckets[bucket] = datagram.next_of_hash;
        } else {
            let mut before = self.buckets[bucket];
            while let Some(other) = self.get_mut(before) {
                if other.next_of_hash == at {
                    other.next_of_hash = datagram.next_of_hash;
                    break;
                }
                before = other.next_of_hash;
            }
        }
        self.detach(ALL, &datagram);
        self.detach(SOURCE, &datagram);
        self.all.bytes -= datagram.charged;
        self.sources[datagram.source as usize].bytes -= datagram.charged;
        self.unused.push(at);
        self.count -= 1;
        if self.count == 0 {
            // Releases what a burst allocated.
            (self.slots, self.unused, self.buckets) = (Vec::new(), Vec::new(), vec![NIL; 64]);
        }
        Some(datagram)
    }

    fn grow(&mut self) {
        self.buckets = vec![NIL; self.buckets.len() * 2];
        for at in 0..self.slots.len() {
            let Some(hash) = self.slots[at].as_ref().map(|datagram| datagram.hash) else { continue };
            let bucket = self.bucket(hash);
            if let Some(datagram) = &mut self.slots[at] {
                datagram.next_of_hash = self.buckets[bucket];
            }
            self.buckets[bucket] = at as u32;
        }
    }

    fn list(&mut self, which: usize, source: u8) -> &mut List {
        if which == ALL { &mut self.all } else { &mut self.sources[source as usize] }
    }

    fn append(&mut self, which: usize, source: u8, at: u32) {
        let list = self.list(which, source);
        let before = std::mem::replace(&mut list.last, at);
        if before == NIL {
            list.first = at;
        }
        if let Some(datagram) = self.get_mut(before) {
            datagram.links[which].after = at;
        }
        if let Some(datagram) = self.get_mut(at) {
            datagram.links[which] = Links { before, after: NIL };
        }
    }

    fn detach(&mut self, which: usize, datagram: &Datagram) {
        let Links { before, after } = datagram.links[which];
        match self.get_mut(before) {
            Some(other) => other.links[which].after = after,
            None => self.list(which, datagram.source).first = after,
        }
        match self.get_mut(after) {
            Some(other) => other.links[which].before = before,
            None => self.list(which, datagram.source).last = before,
        }
    }
}
