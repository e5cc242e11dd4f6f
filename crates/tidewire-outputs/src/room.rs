//! Room for records that wait for slow outputs, and who gets none first.

use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use tidewire_types::is_shed;

/// The load of a capture: how full its rings are. Each worker reports its own; where one is behind, all outputs give way to it.
#[derive(Clone, Debug, Default)]
pub struct Load(Arc<[AtomicU32]>);

impl Load {
    /// That of so many workers; none is loaded yet.
    #[must_use]
    pub fn new(workers: usize) -> Self {
        Self((0..workers).map(|_| AtomicU32::new(0)).collect())
    }

    /// Reports how full a worker's rings are, in thousandths.
    pub fn report(&self, worker: usize, permille: u32) {
        if let Some(level) = self.0.get(worker) {
            level.store(permille, Ordering::Relaxed);
        }
    }

    /// How full a worker's rings are, in thousandths.
    #[inline]
    #[must_use]
    pub fn of_worker(&self, worker: usize) -> u32 {
        self.0.get(worker).map_or(0, |level| level.load(Ordering::Relaxed))
    }

    /// How full the fullest rings are, in thousandths.
    #[must_use]
    pub fn most(&self) -> u32 {
        self.0.iter().map(|level| level.load(Ordering::Relaxed)).max().unwrap_or(0)
    }
}

/// Memory that the buffers of several outputs share, bytes.
#[derive(Debug)]
pub struct BufferPool {
    bytes_max: u64,
    used: AtomicU64,
}

impl BufferPool {
    /// Room for so many bytes.
    #[must_use]
    pub fn new(bytes_max: u64) -> Arc<Self> {
        Arc::new(Self { bytes_max, used: AtomicU64::new(0) })
    }

    /// Bytes that wait.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

/// An output's room for records that wait for a slow disk or reader.
#[derive(Clone, Debug)]
pub struct Room {
    /// Bytes of each of its files that wait, at most.
    pub bytes_max: u64,
    /// The memory that it shares with other outputs.
    pub pool: Arc<BufferPool>,
    /// Who gets no room first where the pool or the capture's rings are nearly full: 0 (first) to 7 (last, when nothing is left).
    pub priority: u8,
    /// The load of the capture.
    pub load: Load,
}

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// As much waits as may.
    Slow,
    /// Others have a higher priority.
    Shed,
}

impl Room {
    /// Room of a file alone, which shares its memory with no other.
    #[must_use]
    pub fn alone(bytes_max: u64) -> Self {
        let priority = tidewire_types::PRIORITIES_MAX - 1;
        Self { bytes_max, pool: BufferPool::new(bytes_max), priority, load: Load::default() }
    }

    /// Accounts for `bytes` more where `waiting` bytes of the same file wait already. The first record always fits: it may be what a reader
    /// needs for the others. So does one that is longer than the room, where none waits.
    pub(crate) fn take(&self, waiting: u64, bytes: u64, is_first: bool) -> Result<(), NoRoom> {
        let (used, all) = (self.pool.used_bytes() + bytes, self.pool.bytes_max.max(1));
        let permille = u32::try_from(used.saturating_mul(1000) / all).unwrap_or(u32::MAX);
        if !is_first && waiting > 0 && waiting + bytes > self.bytes_max {
            return Err(NoRoom::Slow);
        }
        if !is_first && (waiting > 0 && used > all || is_shed(self.priority, permille.max(self.load.most()))) {
            return Err(NoRoom::Shed);
        }
        self.pool.used.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Gives back bytes that were written.
    pub(crate) fn release(&self, bytes: u64) {
        self.pool.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills a pool of 1000 bytes with records of ten bytes, by output in turn, and counts what each has of them.
    fn filled(rooms: &[Room], turns: u64) -> Vec<u64> {
        let mut taken = vec![0; rooms.len()];
        for turn in 0..turns {
            for (room, taken) in rooms.iter().zip(&mut taken) {
                *taken += u64::from(room.take(*taken * 10, 10, turn == 0).is_ok());
            }
        }
        taken
    }

    #[test]
    fn the_lowest_priority_gets_no_room_first() {
        let (pool, load) = (BufferPool::new(1000), Load::new(2));
        let room = |priority| Room { bytes_max: 1000, pool: Arc::clone(&pool), priority, load: load.clone() };
        // 0 is refused from 563 bytes on, 3 from 751 on, 7 where nothing is left.
        assert_eq!(filled(&[room(0), room(3), room(7)], 100), [19, 28, 53]);
        assert_eq!(pool.used_bytes(), 1000);
        pool.used.store(0, Ordering::Relaxed);
        // The first record has room in any case: it may be what a reader needs for the others.
        load.report(1, 760);
        assert_eq!(filled(&[room(0), room(3), room(5), room(7)], 10), [1, 1, 10, 10]);
        assert_eq!(room(3).take(10, 10, false), Err(NoRoom::Shed));
        load.report(1, 100);
        assert_eq!(room(3).take(10, 10, false), Ok(()));
        // An output without room of its own is slow at any priority.
        assert_eq!(Room { bytes_max: 50, ..room(0) }.take(50, 10, false), Err(NoRoom::Slow));
    }
}
