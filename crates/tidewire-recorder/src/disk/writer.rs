//! The thread that writes buffers to one directory.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use tidewire_archive::{Directory, FolderFile, SegmentName, SegmentWriter, block::ENHANCED_PACKET};

use super::{
    attempts::Attempts,
    closer::{Closing, Salvage},
    reserver::Supply,
    slots::{Slot, Slots},
    written::{Packets, Written, sum},
};
use crate::{
    Status,
    buffer::{Buffer, Pool},
    segment::Ending,
};

/// Tasks.
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
    name: SegmentName,
    /// `None`: it could not be created, or written to, and was abandoned.
    writer: Option<SegmentWriter<FolderFile>>,
    written: Written,
    lost: Packets,
    /// `None`: it was abandoned.
    slot: Option<Slot>,
}

impl Current {
    /// One that has no file: all of it is lost.
    fn abandoned(name: SegmentName) -> Self {
        Self { name, writer: None, written: Written::default(), lost: Packets::default(), slot: None }
    }
}

pub(crate) struct Writer {
    pub attempts: Attempts,
    pub jobs: Receiver<Job>,
    pub closer: Sender<Closing>,
    pub pool: Arc<Pool>,
    pub status: Arc<Status>,
    /// Space for segments, if another thread reserves it.
    pub supply: Option<Supply>,
    pub durable: Duration,
}

impl Writer {
    /// Writes until nothing more comes.
    pub fn run(self) {
        let mut current: Option<Current> = None;
        let mut synced = Instant::now();
        loop {
            match self.jobs.recv_timeout(self.durable.max(Duration::from_millis(1))) {
                Ok(Job::Begin(name)) => {
                    // One that did not end has no slot when the next one waits for its own.
                    drop(current.take());
                    current = Some(self.begin(*name));
                }
                Ok(Job::Data(buffer)) => {
                    if let Some(current) = &mut current {
                        self.write(current, &buffer);
                    }
                    self.status.handle(&buffer.packets);
                    self.pool.release(buffer);
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

    fn begin(&self, name: SegmentName) -> Current {
        // Of files, the first failure ends the recording: nothing begins behind it.
        if self.status.is_failed() && !self.attempts.recovers() {
            return Current::abandoned(name);
        }
        let (targets, target) = (&self.attempts.targets, self.attempts.target);
        // Segments that wait for their completion take space that retention knows nothing of: buffers wait meanwhile.
        let (slot, reserve) = match self.supply.as_ref().and_then(Supply::take) {
            Some((slot, reserve)) => (Some(slot), reserve),
            None => (targets.slots.get(target).map(Slots::take), None),
        };
        let create = |directory: &Directory| directory.create_with(&name, reserve.as_ref());
        let directory = targets.directories.get(target);
        let mut writer = directory.and_then(|directory| self.attempts.until(|| create(directory)));
        if writer.is_none() {
            self.abandon();
        }
        // It comes with the end of the segment.
        writer.iter_mut().for_each(SegmentWriter::leave_digest);
        Current { name, writer, written: Written::default(), lost: Packets::default(), slot }
    }

    fn write(&self, current: &mut Current, buffer: &Buffer) {
        let taken = match &mut current.writer {
            Some(writer) => {
                let taken = self.attempts.until(|| match buffer.plain_bytes {
                    Some(plain_bytes) => writer.write_frame(buffer.content(), plain_bytes),
                    None => writer.write_with(buffer.content(), &buffer.checksums),
                });
                if taken.is_some() {
                    current.written.add(writer, &buffer.packets);
                    current.written.count(writer, &self.status);
                    self.supply.iter().for_each(|supply| supply.grow(writer.stored_bytes()));
                }
                taken
            }
            None => None,
        };
        if taken.is_some() {
            return;
        }
        let lost = self.fill(current, buffer);
        self.lose(current, &lost);
        // Earlier data stay, under its hidden name, for the next start to repair.
        self.end_early(current);
    }

    /// Nothing more comes behind a buffer that could not be written: what of it has room yet is. Returns the packets of the rest.
    fn fill(&self, current: &mut Current, buffer: &Buffer) -> Packets {
        let mut lost = buffer.packets;
        // The blocks of a buffer do not say which priority each packet has.
        let mut of_packets = lost.iter_mut().enumerate().filter(|(_, (packets, _))| *packets > 0);
        let (Some((priority, rest)), None) = (of_packets.next(), of_packets.next()) else { return lost };
        let Some(writer) = current.writer.as_mut().filter(|writer| writer.is_plain()) else { return lost };
        let (mut blocks, mut most) = (buffer.content(), buffer.content().len());
        // Data of earlier attempts are written again: with checksums of its own.
        while writer.cut().is_ok() {
            let Fitting { bytes, packets } = fitting(blocks, most);
            let Some((now, then)) = blocks.split_at_checked(bytes).filter(|_| bytes > 0) else { break };
            most = bytes / 2;
            if writer.write(now).is_ok() {
                let mut kept = Packets::default();
                kept.get_mut(priority).into_iter().for_each(|place| *place = packets);
                current.written.add(writer, &kept);
                *rest = (rest.0.saturating_sub(packets.0), rest.1.saturating_sub(packets.1));
                blocks = then;
            }
        }
        current.written.count(writer, &self.status);
        lost
    }

    fn lose(&self, current: &mut Current, packets: &Packets) {
        sum(&mut current.lost, packets);
        self.status.lose(packets);
    }

    /// Nothing more can be written to the segment.
    fn end_early(&self, current: &mut Current) {
        let Some(mut writer) = current.writer.take() else { return };
        // The held part of a page, or of a frame, may have room yet: what is counted is what the file has then.
        let _ = writer.flush();
        let (lost, slot) = (current.written.lost(&writer, &current.name, self.directory()), current.slot.take());
        self.lose(current, &lost);
        match (writer.lost_from(), slot) {
            // Another segment begins.
            (Some(good_bytes), Some(slot)) if self.attempts.recovers() => {
                self.attempts.targets.spoil(self.attempts.target, &current.name);
                let (name, kept) = (Box::new(current.name.clone()), current.written.without(&lost));
                let _ = self.closer.send(Closing::Salvage(Salvage { name, good_bytes, kept, slot }));
            }
            _ => {
                let _ = writer.cut();
                if self.directory().is_some_and(|directory| directory.discard_empty(&current.name)) {
                    let rest = current.written.without(&lost);
                    self.lose(current, &rest);
                }
                self.abandon();
            }
        }
    }

    fn sync(&self, current: &mut Current) {
        let Some(directory) = self.directory() else { return };
        let is_dirty = |writer: &&mut SegmentWriter<FolderFile>| writer.durable_bytes() < writer.plain_bytes();
        let Some(writer) = current.writer.as_mut().filter(is_dirty) else { return };
        let flush = || {
            directory.keep(writer)?;
            writer.flush()
        };
        match self.attempts.until(flush) {
            Some(unsynced) => {
                current.written.count(writer, &self.status);
                // Where the closer is busy, the next round asks again; so it does if a sync fails.
                let _ = self.closer.try_send(Closing::Sync(unsynced));
            }
            None if writer.is_lost() => self.end_early(current),
            None => {}
        }
    }

    fn end(&self, mut current: Current, mut ending: Box<Ending>) {
        if let Some(writer) = &mut current.writer {
            // Data that wait for a whole frame are written before anything of the next segment: a crash leaves no hole.
            let flushed = self.attempts.until(|| writer.flush().map(drop));
            current.written.count(writer, &self.status);
            if flushed.is_none() && writer.is_lost() {
                self.end_early(&mut current);
            }
        }
        let (Some(mut writer), Some(slot)) = (current.writer, current.slot) else { return };
        ending.totals.lose(&current.lost);
        ending.digest.take().into_iter().for_each(|digest| writer.set_digest(*digest));
        let _ = self.closer.send(Closing::Segment(Box::new(writer), current.written, ending, slot));
    }

    fn directory(&self) -> Option<&Directory> {
        self.attempts.targets.directories.get(self.attempts.target)
    }

    /// The recording cannot go on.
    fn abandon(&self) {
        self.status.fail();
        self.attempts.targets.end();
    }
}

/// Whole blocks at the beginning of others.
struct Fitting {
    bytes: usize,
    /// Packets among them, and their bytes on the wire.
    packets: (u64, u64),
}

/// Those of at most so many bytes.
fn fitting(blocks: &[u8], most: usize) -> Fitting {
    let mut found = Fitting { bytes: 0, packets: (0, 0) };
    let word = |at: usize| Some(u32::from_le_bytes(*blocks.get(at..)?.first_chunk()?));
    while let (Some(kind), Some(length)) = (word(found.bytes), word(found.bytes + 4)) {
        let end = found.bytes + length as usize;
        if length == 0 || end > most {
            break;
        }
        if kind == ENHANCED_PACKET {
            found.packets = (found.packets.0 + 1, found.packets.1 + word(found.bytes + 24).map_or(0, u64::from));
        }
        found.bytes = end;
    }
    found
}
