//! The rings of AF_XDP with the kernel as the other side: net/xdp/xsk_queue.h.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use loom::{
    cell::Cell,
    model::Builder,
    sync::{Arc, atomic::AtomicU32},
    thread,
};

use super::cursor::{Consumer, Producer};

/// A ring's memory. An item that both sides touch at once is found by loom.
struct Ring {
    producer: AtomicU32,
    consumer: AtomicU32,
    items: [Cell<u64>; 2],
}

const ENTRIES: u32 = 2;

/// Just before its numbers wrap.
fn ring() -> Arc<Ring> {
    let from = u32::MAX - 1;
    let [producer, consumer] = [from; 2].map(AtomicU32::new);
    Arc::new(Ring { producer, consumer, items: [0; 2].map(Cell::new) })
}

impl Ring {
    /// What the kernel writes of frames: `xskq_prod_reserve_desc` and `xskq_prod_submit`.
    fn produce(&self, number: u32, what: u64) -> bool {
        if number.wrapping_sub(self.consumer.load(Acquire)) >= ENTRIES {
            return false;
        }
        self.items[(number & (ENTRIES - 1)) as usize].set(what);
        self.producer.store(number.wrapping_add(1), Release);
        true
    }

    /// What it takes of buffers: `xskq_cons_peek_addr_unchecked` and `xskq_cons_release`.
    fn consume(&self, number: u32) -> Option<u64> {
        if self.producer.load(Acquire) == number {
            return None;
        }
        let what = self.items[(number & (ENTRIES - 1)) as usize].get();
        self.consumer.store(number.wrapping_add(1), Release);
        Some(what)
    }
}

fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    // Without this bound it takes a minute, and finds nothing more.
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// Frames arrive whole, once, and in order, and none is written over while it is held.
#[test]
fn frames_are_read_once_and_whole() {
    explore(|| {
        let ring = ring();
        let kernel = Arc::clone(&ring);
        let writer = thread::spawn(move || {
            let mut number = kernel.producer.load(Relaxed);
            for what in 1..=3 {
                while !kernel.produce(number, what) {
                    thread::yield_now();
                }
                number = number.wrapping_add(1);
            }
        });
        let (mut cursor, mut got) = (Consumer::new(ENTRIES, &ring.consumer), Vec::new());
        while got.len() < 3 {
            let count = cursor.available(&ring.producer);
            if count == 0 {
                thread::yield_now();
                continue;
            }
            for index in 0..count {
                got.push(ring.items[cursor.peek(index).unwrap() as usize].get());
            }
            cursor.advance(count);
            // They stay as they are until they are released.
            for index in 0..count {
                let held = ring.items[cursor.held(index).unwrap() as usize].get();
                assert_eq!(held, got[got.len() - (count - index) as usize]);
            }
            cursor.release(&ring.consumer, count);
        }
        assert_eq!(got, [1, 2, 3]);
        writer.join().unwrap();
    });
}

/// No buffer is given twice, lost, or taken half written.
#[test]
fn buffers_are_given_once_and_whole() {
    explore(|| {
        let ring = ring();
        let kernel = Arc::clone(&ring);
        let reader = thread::spawn(move || {
            let (mut number, mut got) = (kernel.consumer.load(Relaxed), Vec::new());
            while got.len() < 3 {
                match kernel.consume(number) {
                    Some(what) => {
                        got.push(what);
                        number = number.wrapping_add(1);
                    }
                    None => thread::yield_now(),
                }
            }
            got
        });
        let mut cursor = Producer::new(ENTRIES, &ring.producer);
        let mut given = 0;
        while given < 3 {
            let left = [1_u64, 2, 3];
            let left = &left[given..];
            let write = |entry: u32, item: usize| ring.items[entry as usize].set(left[item]);
            let count = cursor.push(&ring.producer, &ring.consumer, left.len(), write);
            if count == 0 {
                thread::yield_now();
            }
            given += count;
        }
        assert_eq!(reader.join().unwrap(), [1, 2, 3]);
    });
}
