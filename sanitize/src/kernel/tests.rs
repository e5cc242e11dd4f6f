//! Entries of the flow tables, with the programs in the kernel as threads (`count` and `make` of bpf/flows.h, `is_shared`).

use loom::{
    model::Builder,
    sync::{Arc, atomic::Ordering::*},
    thread,
};

use super::{
    atomic::AtomicU64,
    entry,
    layout::{CLOSED, FREED, KIND_AT, Key, WITHDRAWN_AT, word},
};

type Slot = Arc<[AtomicU64; 8]>;

const BYTES: u64 = 100;

fn key(number: u64) -> Key {
    Key { addresses: 0xa000_0000 + number, rest: 0x0600_0000_0000_0000 + number, address: None }
}

fn slot() -> Slot {
    Arc::new(std::array::from_fn(|_| AtomicU64::new(0)))
}

fn is_of(slot: &Slot, key: &Key) -> bool {
    slot[word::ADDRESSES].load(Relaxed) == key.addresses && slot[word::REST].load(Relaxed) == key.rest
}

/// `count` of bpf/flows.h: a packet that user space will not see; whether it was counted for the key.
fn count(slot: &Slot, key: &Key) -> bool {
    if slot[word::BEGUN].fetch_add(1, SeqCst) & CLOSED != 0 {
        return false;
    }
    let is_ours = is_of(slot, key);
    if is_ours {
        slot[word::WIRE_BYTES].fetch_add(BYTES, SeqCst);
    } else {
        slot[word::BEGUN].fetch_add(1 << WITHDRAWN_AT, SeqCst);
    }
    // The upper half of a 32-bit word, as an addition to the whole one.
    slot[word::PASSED_KIND].fetch_add(1 << (KIND_AT + 16), SeqCst);
    is_ours
}

fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    // Every order with so many forced changes of the thread; beyond it nothing new was found, and time grows with the factorial.
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// A packet that a program counted is in the figures of the thread that ended the entry, and no other packet is.
#[test]
fn every_packet_that_was_counted_is_in_the_last_figures() {
    explore(|| {
        let slot = slot();
        assert!(entry::make(&slot[..], &key(1), 0, 0x80, 7));
        let programs: Vec<_> = (0..2)
            .map(|_| {
                let slot = Arc::clone(&slot);
                thread::spawn(move || u64::from(count(&slot, &key(1))))
            })
            .collect();
        let figures = entry::end(&slot[..]).expect("no other thread ends it");
        let counted: u64 = programs.into_iter().map(|program| program.join().unwrap()).sum();
        assert_eq!((figures.packets, figures.wire_bytes), (counted, counted * BYTES));
        assert!(figures.is_cut && slot[word::REST].load(Acquire) == FREED);
    });
}

/// Of two that end an entry, one gets its figures.
#[test]
fn an_entry_ends_once() {
    explore(|| {
        let slot = slot();
        assert!(entry::make(&slot[..], &key(1), 0, 0x80, 7));
        let other = Arc::clone(&slot);
        let program = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || u64::from(count(&slot, &key(1))))
        };
        let other = thread::spawn(move || entry::end(&other[..]).map(|figures| figures.packets));
        let mine = entry::end(&slot[..]).map(|figures| figures.packets);
        let (theirs, counted) = (other.join().unwrap(), program.join().unwrap());
        assert!(mine.is_some() != theirs.is_some(), "{mine:?} {theirs:?}");
        assert_eq!(mine.or(theirs), Some(counted));
    });
}

/// A program that found an entry just before it was ended and reused for another key counts nothing there: what it began is
/// withdrawn, and its packet is not in the other key's figures.
#[test]
fn a_packet_is_not_counted_for_the_next_key() {
    explore(|| {
        let slot = slot();
        assert!(entry::make(&slot[..], &key(1), 0, 0x80, 7));
        let late = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || u64::from(is_of(&slot, &key(1)) && count(&slot, &key(1))))
        };
        let first = entry::end(&slot[..]).expect("no other thread ends it");
        assert!(entry::make(&slot[..], &key(2), 0, 0x80, 8));
        assert!(count(&slot, &key(2)));
        let second = entry::end(&slot[..]).expect("no other thread ends it");
        let counted = late.join().unwrap();
        assert_eq!((first.packets, first.wire_bytes), (counted, counted * BYTES));
        assert_eq!((second.packets, second.wire_bytes), (1, BYTES));
    });
}

/// Two that make an entry in the same place: one does, and what it says is whole.
#[test]
fn an_entry_is_made_once() {
    explore(|| {
        let slot = slot();
        let other = Arc::clone(&slot);
        let other = thread::spawn(move || entry::make(&other[..], &key(2), 0, 0x80, 8));
        let mine = entry::make(&slot[..], &key(1), 0, 0x80, 7);
        let theirs = other.join().unwrap();
        assert!(mine || theirs);
        if mine != theirs {
            assert!(is_of(&slot, &key(if mine { 1 } else { 2 })));
        }
        let figures = entry::end(&slot[..]).expect("it was made");
        assert_eq!(figures.last, if is_of_either(&slot, 1) { 7 } else { 8 });
    });
}

fn is_of_either(slot: &Slot, number: u64) -> bool {
    slot[word::ADDRESSES].load(Acquire) == key(number).addresses
}
