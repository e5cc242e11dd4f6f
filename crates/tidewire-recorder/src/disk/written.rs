//! Written parts of a segment that may yet be lost.

use std::collections::VecDeque;

use tidewire_archive::{Directory, FolderFile, SegmentName, SegmentWriter, StorageFile};

use crate::{PRIORITIES_MAX, Status};

/// Buffers that are distinguished at most; beyond, the last ones are lost together.
const ENTRIES_MAX: usize = 4096;

/// Packets and their bytes, by priority.
pub(crate) type Packets = [(u64, u64); PRIORITIES_MAX];

/// Packets of a segment that were handed to its writer, and are not known to be durable.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Each with the plain bytes of the segment up to its end.
    entries: VecDeque<(u64, Packets)>,
    /// All of the segment.
    all: Packets,
    /// Bytes of the file that were counted.
    stored_bytes: u64,
}

impl Written {
    /// Adds packets that the writer took.
    pub fn add<F: StorageFile>(&mut self, writer: &SegmentWriter<F>, packets: &Packets) {
        let durable = writer.durable_bytes();
        while self.entries.front().is_some_and(|(end, _)| *end <= durable) {
            self.entries.pop_front();
        }
        sum(&mut self.all, packets);
        let end = writer.plain_bytes();
        let is_full = self.entries.len() >= ENTRIES_MAX;
        match self.entries.back_mut().filter(|_| is_full) {
            Some(last) => {
                last.0 = end;
                sum(&mut last.1, packets);
            }
            None => self.entries.push_back((end, *packets)),
        }
    }

    /// Counts what is in the file.
    pub fn count<F: StorageFile>(&mut self, writer: &SegmentWriter<F>, status: &Status) {
        let stored = writer.stored_bytes();
        status.store(stored.saturating_sub(self.stored_bytes));
        self.stored_bytes = stored;
    }

    /// The packets of buffers that are not whole in the first bytes of a segment.
    pub fn beyond(&self, kept_bytes: u64) -> Packets {
        let mut lost = Packets::default();
        self.entries.iter().filter(|(end, _)| *end > kept_bytes).for_each(|(_, packets)| sum(&mut lost, packets));
        lost
    }
}

impl Written {
    /// Loss of an abandoned segment: what its file does not have, or all if the file has no name any more.
    pub fn lost(
        &self,
        writer: &SegmentWriter<FolderFile>,
        name: &SegmentName,
        directory: Option<&Directory>,
    ) -> Packets {
        match directory.is_some_and(|directory| directory.is_in_place() && writer.is_there(directory.storage(), name)) {
            true => self.beyond(writer.kept_bytes()),
            false => self.all,
        }
    }

    /// All packets but these.
    pub fn without(&self, lost: &Packets) -> Packets {
        let mut kept = self.all;
        for (kept, lost) in kept.iter_mut().zip(lost) {
            *kept = (kept.0.saturating_sub(lost.0), kept.1.saturating_sub(lost.1));
        }
        kept
    }
}

/// Adds packets to others.
pub(crate) fn sum(all: &mut Packets, more: &Packets) {
    for (sum, more) in all.iter_mut().zip(more) {
        sum.0 += more.0;
        sum.1 += more.1;
    }
}

#[cfg(test)]
mod tests {
    use tidewire_archive::{Compression, Directory, Settings};

    use super::*;
    use crate::buffer::Buffer;

    #[test]
    fn what_waits_for_its_frame_is_beyond_what_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = Settings { compression: Compression::Zstd, ..Settings::default() };
        let directory = Directory::open(folder.path(), &settings, 1).expect("a directory");
        let mut writer = directory.create(&directory.begin(1, 0)).expect("a segment");
        let (mut written, status) = (Written::default(), Status::default());
        for number in 0..3 {
            let mut buffer = Buffer::default();
            buffer.bytes.extend([number; 5000]);
            buffer.count(number, 100);
            writer.write(buffer.content()).expect("taken");
            written.add(&writer, &buffer.packets);
            written.count(&writer, &status);
            if number == 0 {
                assert_eq!(status.snapshot().stored_bytes, 0, "it waits for a whole frame");
                writer.sync().expect("synced");
            }
        }
        let lost = written.beyond(writer.kept_bytes());
        assert_eq!((lost[0], lost[1], lost[2]), ((0, 0), (1, 100), (1, 100)));
        let (stored_bytes, _) = writer.finish().expect("completed");
        written.count(&writer, &status);
        assert_eq!(status.snapshot().stored_bytes, stored_bytes);
        assert_eq!(written.beyond(writer.kept_bytes()), Packets::default());
    }
}
