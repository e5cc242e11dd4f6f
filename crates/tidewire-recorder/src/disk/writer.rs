//! The thread that writes buffers to one directory.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use tidewire_archive::{FolderFile, SegmentName, SegmentWriter};

use super::{attempts::Attempts, closer::Closing};
use crate::{
    PRIORITIES_MAX, Status,
    buffer::{Buffer, Pool},
    segment::Ending,
};

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Job {
    /// A segment begins: what follows is its content.
    Begin(Box<SegmentName>),
    Data(Buffer),
    /// The segment ends.
    End(Box<Ending>),
}

/// The segment that is being written.
#[derive(Debug)]
struct Current {
    /// `None`: it could not be created, or written to, and was given up.
    writer: Option<SegmentWriter<FolderFile>>,
    lost: [(u64, u64); PRIORITIES_MAX],
    is_dirty: bool,
}

pub(crate) struct Writer {
    pub attempts: Attempts,
    pub jobs: Receiver<Job>,
    pub closer: Sender<Closing>,
    pub pool: Arc<Pool>,
    pub status: Arc<Status>,
    pub durable: Duration,
}

impl Writer {
    /// Writes until nothing more comes.
    pub fn run(self) {
        let mut current: Option<Current> = None;
        let mut synced = Instant::now();
        loop {
            match self.jobs.recv_timeout(self.durable.max(Duration::from_millis(1))) {
                Ok(Job::Begin(name)) => current = Some(self.begin(&name)),
                Ok(Job::Data(buffer)) => {
                    if let Some(current) = &mut current {
                        self.write(current, &buffer);
                    }
                    self.pool.give(buffer);
                }
                Ok(Job::End(ending)) => {
                    if let Some(current) = current.take() {
                        self.end(current, ending);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if synced.elapsed() >= self.durable {
                synced = Instant::now();
                if let Some(current) = &mut current {
                    self.sync(current);
                }
            }
        }
    }

    fn begin(&self, name: &SegmentName) -> Current {
        let directory = self.attempts.targets.directories.get(self.attempts.target);
        let writer = directory.and_then(|directory| self.attempts.until(|| directory.create(name)));
        if writer.is_none() {
            self.give_up();
        }
        Current { writer, lost: Default::default(), is_dirty: false }
    }

    fn write(&self, current: &mut Current, buffer: &Buffer) {
        let written = match &mut current.writer {
            Some(writer) => self.attempts.until(|| writer.write(buffer.content())),
            None => None,
        };
        match written {
            Some(()) => {
                current.is_dirty = true;
                self.status.store(buffer.content().len() as u64);
            }
            None => {
                // What was written before stays, under its hidden name, for the next start to repair.
                current.writer = None;
                for (sum, lost) in current.lost.iter_mut().zip(&buffer.packets) {
                    sum.0 += lost.0;
                    sum.1 += lost.1;
                }
                self.status.lose(&buffer.packets);
                self.give_up();
            }
        }
    }

    fn sync(&self, current: &mut Current) {
        let Some(directory) = self.attempts.targets.directories.get(self.attempts.target) else { return };
        let Some(writer) = current.writer.as_mut().filter(|_| current.is_dirty) else { return };
        let flush = || {
            writer.keep(directory.storage())?;
            writer.flush()
        };
        if let Some(file) = self.attempts.until(flush) {
            // Where the closer is busy, the next round asks again.
            current.is_dirty = self.closer.try_send(Closing::Sync(file, writer.path().to_owned())).is_err();
        }
    }

    fn end(&self, current: Current, mut ending: Box<Ending>) {
        let Some(mut writer) = current.writer else { return };
        // What waits for a whole frame is written before anything of the next segment: a crash leaves no hole.
        let _ = self.attempts.until(|| writer.flush().map(drop));
        ending.totals.lose(&current.lost);
        let _ = self.closer.send(Closing::Segment(Box::new(writer), ending));
    }

    /// The recording cannot go on.
    fn give_up(&self) {
        self.status.fail();
        self.attempts.targets.end();
    }
}
