//! The segment that is being recorded, as the capture thread knows it.

use std::time::Instant;
use tidewire_types::Timestamp;

use tidewire_archive::block::{
    Interface, Statistics, Supplement, interface_description, interface_statistics, section_header, supplement,
};
use tidewire_archive::{Digest, IndexBuilder, InterfaceSummary, SegmentName, Settings as ArchiveSettings, Summary};

use crate::{Totals, buffer::Buffer};

/// Packets that an interface lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    /// By itself.
    pub dropped: u64,
    /// By the operating system.
    pub system_dropped: u64,
}

impl Lost {
    /// As its statistics say.
    pub fn of(statistics: &Statistics) -> Self {
        let [dropped, system_dropped] = [statistics.dropped, statistics.system_dropped].map(Option::unwrap_or_default);
        Self { dropped, system_dropped }
    }

    /// Losses since an earlier count.
    pub fn since(self, before: Self) -> Self {
        Self {
            dropped: self.dropped.saturating_sub(before.dropped),
            system_dropped: self.system_dropped.saturating_sub(before.system_dropped),
        }
    }
}

/// A segment that has more bytes than its settings say ends with the packet; its statistics and those packets are beyond.
const TAIL_BYTES: u64 = 4096;

/// A segment that packets are appended to.
#[derive(Debug)]
pub(crate) struct OpenSegment {
    /// Which directory it goes to.
    pub target: usize,
    /// Counts segments of this worker: flows note in which one their record is.
    pub number: u64,
    pub builder: IndexBuilder,
    /// Number of the next record; 0 is for packets that belong to no flow.
    pub next_record: u32,
    /// Where the next block lies.
    pub plain: u64,
    pub totals: Totals,
    /// It ends before a packet that makes more bytes of it, or of this time or later.
    pub bytes_max: u64,
    pub until_ns: u64,
    pub begun: Instant,
    /// Interfaces that are described in it.
    pub described: usize,
    /// Supplements that are in it, or in its first block.
    pub supplemented: usize,
    descriptions: Vec<(u64, u32)>,
}

/// Values needed to complete a segment.
#[derive(Debug)]
pub(crate) struct Ending {
    pub name: SegmentName,
    pub builder: IndexBuilder,
    pub summary: Summary,
    pub totals: Totals,
    /// Of its bytes; `None`: the writer computes it.
    pub digest: Option<Box<Digest>>,
}

impl OpenSegment {
    /// Begins a segment: its first blocks go to the buffer, which is empty. `supplements`: of what is recorded, so far.
    pub fn begin(
        target: usize,
        number: u64,
        settings: &ArchiveSettings,
        supplements: &[Supplement],
        buffer: &mut Buffer,
    ) -> Self {
        let sections = supplements.iter().filter_map(|supplement| match supplement {
            Supplement::Section(writer) => Some(writer),
            _ => None,
        });
        let writer = sections.fold(settings.writer.clone(), |writer, before| writer.again(before));
        section_header(&mut buffer.bytes, &writer);
        let plain = buffer.content().len() as u64;
        Self {
            target,
            number,
            builder: IndexBuilder::new(&settings.index),
            next_record: 1,
            plain,
            totals: Totals::default(),
            bytes_max: settings.segment_bytes.saturating_sub(TAIL_BYTES),
            until_ns: u64::MAX,
            begun: Instant::now(),
            described: 0,
            supplemented: 0,
            descriptions: vec![(0, plain as u32)],
        }
    }

    /// Whether it is to end before a block of so many bytes.
    #[inline]
    pub fn is_due(&self, block_bytes: usize, timestamp_ns: u64) -> bool {
        self.plain + block_bytes as u64 > self.bytes_max && self.builder.packets() > 0
            || self.builder.is_full()
            || timestamp_ns >= self.until_ns
    }

    /// Describes the interfaces that it does not know yet.
    #[cold]
    pub fn describe(&mut self, interfaces: &[Interface], buffer: &mut Buffer) {
        for interface in interfaces.get(self.described..).unwrap_or_default() {
            let before = buffer.bytes.len();
            interface_description(&mut buffer.bytes, interface);
            let length = (buffer.bytes.len() - before) as u32;
            self.descriptions.push((self.plain, length));
            self.plain += u64::from(length);
        }
        self.described = interfaces.len();
    }

    /// Appends the secrets and names that it does not have yet. Who reads a part of it reads them first, as descriptions.
    #[cold]
    pub fn supplement(&mut self, supplements: &[Supplement], buffer: &mut Buffer) {
        for one in supplements.get(self.supplemented..).unwrap_or_default() {
            let before = buffer.bytes.len();
            supplement(&mut buffer.bytes, one);
            let length = (buffer.bytes.len() - before) as u32;
            if length > 0 {
                self.descriptions.push((self.plain, length));
                self.plain += u64::from(length);
            }
        }
        self.supplemented = supplements.len();
    }

    /// Appends the drops before the segment began: a reader of this segment alone can subtract them.
    pub fn baseline(&mut self, lost: &[Lost], timestamp_ns: u64, buffer: &mut Buffer) {
        for (interface, lost) in (0..).zip(lost).filter(|(_, lost)| **lost != Lost::default()) {
            let (dropped, system_dropped) = (Some(lost.dropped), Some(lost.system_dropped));
            let statistics = Statistics {
                interface,
                timestamp: Timestamp::from_nanos(timestamp_ns),
                dropped,
                system_dropped,
                ..Statistics::default()
            };
            let before = buffer.bytes.len();
            interface_statistics(&mut buffer.bytes, &statistics);
            self.plain += (buffer.bytes.len() - before) as u64;
        }
    }

    /// Appends the statistics of its interfaces.
    pub fn statistics(&mut self, all: &[Statistics], buffer: &mut Buffer) {
        for statistics in all.iter().take(self.described) {
            let before = buffer.bytes.len();
            interface_statistics(&mut buffer.bytes, statistics);
            self.plain += (buffer.bytes.len() - before) as u64;
        }
    }

    /// Values needed to complete it. `lost`: what interfaces dropped while it was open.
    pub fn end(self, name: SegmentName, interfaces: &[Interface], lost: &[Lost]) -> Ending {
        let lost = |place: usize| lost.get(place).copied().unwrap_or_default();
        let summary = Summary {
            bytes: self.plain,
            interfaces: interfaces
                .iter()
                .take(self.described)
                .enumerate()
                .map(|(place, interface)| InterfaceSummary {
                    name: interface.name.clone(),
                    link: interface.link.0,
                    dropped: lost(place).dropped,
                    system_dropped: lost(place).system_dropped,
                })
                .collect(),
            descriptions: self.descriptions,
            ..Summary::default()
        };
        Ending { name, builder: self.builder, summary, totals: self.totals, digest: None }
    }
}
