//! Segments begin and end here; packets are appended to buffers.

use std::time::{Duration, Instant};

use tidewire_archive::block::{Interface, PACKET_OVERHEAD_BYTES, Packet, Statistics, enhanced_packet};
use tidewire_wire::{Frame, Timestamp};

use super::{Recorder, comments::with_comments};
use crate::{
    buffer::Buffer,
    disk::Job,
    segment::{Lost, OpenSegment},
};

/// How long a buffer is waited for: a ring of 64 MiB has 50 ms at 10 Gbit/s.
const BUFFER_WAIT: Duration = Duration::from_millis(20);

impl Recorder {
    /// Makes room for a block of a packet. Returns false where there is no buffer.
    pub(super) fn make_room(&mut self, block_bytes: usize, timestamp_ns: u64) -> bool {
        if self.segment.as_ref().is_some_and(|(segment, _)| segment.is_due(block_bytes, timestamp_ns)) {
            self.end_segment();
        }
        let has_room = self.buffer.as_ref().is_some_and(|buffer| buffer.has_room(block_bytes));
        has_room && self.segment.is_some() || self.begin(block_bytes, timestamp_ns)
    }

    /// Begins a buffer, a segment, or both. Returns false where there is no buffer.
    #[cold]
    fn begin(&mut self, block_bytes: usize, timestamp_ns: u64) -> bool {
        if !self.buffer.as_ref().is_some_and(|buffer| buffer.has_room(block_bytes)) {
            if self.segment.as_ref().is_some_and(|(segment, name)| self.targets.is_spoiled(segment.target, name)) {
                self.end_segment();
            }
            self.hand_over();
            self.buffer = self.take_buffer();
        }
        if self.buffer.is_none() {
            return false;
        }
        if self.segment.is_none() {
            self.begin_segment(timestamp_ns);
        }
        true
    }

    fn take_buffer(&mut self) -> Option<Buffer> {
        let buffer = if self.waits {
            Some(self.pool.wait())
        } else {
            // The ring holds what comes meanwhile, and this core may be the one that the writer lacks. A disk that stalls is waited
            // for once: then packets are shed by their priority, which the kernel does not know when its ring is full.
            let most = if self.has_waited { Duration::ZERO } else { BUFFER_WAIT };
            self.pool.take().or_else(|| self.pool.wait_for(most))
        };
        self.has_waited = buffer.is_none();
        self.level_permille = self.pool.level_permille();
        let offset = self.segment.as_ref().map_or(0, |(segment, _)| segment.plain);
        buffer.map(|mut buffer| {
            buffer.begin(offset);
            buffer
        })
    }

    /// Ends the open segment if its time is over by the clock.
    pub(super) fn end_old_segment(&mut self, now: Instant) {
        let Some((segment, _)) = self.segment.as_ref().filter(|_| !self.settings.by_packet_time) else { return };
        let directory = self.targets.directories.get(segment.target);
        let most = directory.map_or(Duration::MAX, |directory| directory.settings().segment_time);
        if now.saturating_duration_since(segment.begun) >= most {
            self.end_segment();
        }
    }

    fn begin_segment(&mut self, timestamp_ns: u64) {
        self.target = self.targets.after(self.target);
        let (Some(directory), Some(buffer)) = (self.targets.directories.get(self.target), &mut self.buffer) else {
            return;
        };
        let name = directory.begin(timestamp_ns, self.worker);
        self.segments += 1;
        let mut segment =
            OpenSegment::begin(self.target, self.segments, directory.settings(), self.supplements.list(), buffer);
        if self.settings.by_packet_time {
            let most = u64::try_from(directory.settings().segment_time.as_nanos()).unwrap_or(u64::MAX);
            segment.until_ns = timestamp_ns.saturating_add(most);
        }
        segment.describe(&self.interfaces, buffer);
        segment.supplement(self.supplements.list(), buffer);
        segment.baseline(&self.lost, timestamp_ns, buffer);
        segment.totals = std::mem::take(&mut self.between);
        if let Some(pipeline) = &self.pipeline {
            pipeline.send(self.target, Job::Begin(Box::new(name.clone())));
        }
        self.segment = Some((segment, name));
    }

    /// Completes the open segment.
    pub(super) fn end_segment(&mut self) {
        if self.segment.is_none() {
            return;
        }
        self.count_shunted();
        let in_buffer =
            self.buffer.as_ref().map_or(0, |buffer| buffer.packets.iter().map(|(packets, _)| packets).sum());
        let (received, is_one) = (self.totals.all().received_packets + in_buffer, self.statistics.len() == 1);
        if let Some(statistics) = self.statistics.first_mut() {
            statistics.system_dropped = Some(self.dropped);
            // Of several, nothing is counted for each.
            statistics.received = is_one.then_some(received);
        }
        self.losses.complete(&self.interfaces, &mut self.statistics);
        for statistics in &mut self.statistics {
            statistics.timestamp = Timestamp::from_nanos(self.clock_ns);
        }
        if let Some(mut buffer) = self.buffer.take().or_else(|| self.take_buffer()) {
            if let Some((segment, _)) = &mut self.segment {
                segment.statistics(&self.statistics, &mut buffer);
            }
            self.buffer = Some(buffer);
        }
        self.hand_over();
        let Some((segment, name)) = self.segment.take() else { return };
        let target = segment.target;
        let all: Vec<Lost> = self.statistics.iter().map(Lost::of).collect();
        let before = std::mem::replace(&mut self.lost, all);
        let before = before.into_iter().chain(std::iter::repeat(Lost::default()));
        let lost: Vec<Lost> = self.lost.iter().zip(before).map(|(all, before)| all.since(before)).collect();
        let ending = segment.end(name, &self.interfaces, &lost);
        if let Some(pipeline) = &self.pipeline {
            pipeline.send(target, Job::End(Box::new(ending)));
        }
    }

    /// Hands the buffer to the writer of the open segment; its packets count as written.
    pub(super) fn hand_over(&mut self) {
        let (Some((segment, _)), Some(buffer)) = (&mut self.segment, self.buffer.take()) else { return };
        self.flushed = Instant::now();
        self.totals.write(&buffer.packets);
        segment.totals.write(&buffer.packets);
        match &self.pipeline {
            Some(pipeline) if !buffer.content().is_empty() => pipeline.send(segment.target, Job::Data(buffer)),
            _ => self.pool.release(buffer),
        }
    }

    /// Appends a packet: there is room. `record`: its record in this segment. Returns the captured bytes that were written.
    pub(super) fn append(&mut self, frame: &Frame, bytes: &[u8], record: u32, priority: u8) {
        let interface = self.interface(frame);
        let (Some((segment, _)), Some(buffer)) = (&mut self.segment, &mut self.buffer) else { return };
        if segment.described < self.interfaces.len() {
            segment.describe(&self.interfaces, buffer);
        }
        if segment.supplemented < self.supplements.list().len() {
            segment.supplement(self.supplements.list(), buffer);
        }
        let mut packet =
            Packet::new(interface, Timestamp::from_nanos(frame.timestamp.as_nanos()), bytes, frame.wire_bytes);
        packet.dropped = std::mem::take(&mut self.unreported_drops).saturating_add(self.losses.before(frame));
        packet.checksum = frame.checksum;
        let length = match self.comments.take(frame.number) {
            None => enhanced_packet(&mut buffer.bytes, &packet),
            Some(comments) => with_comments(&mut buffer.bytes, &packet, comments),
        };
        segment.builder.packet(record, segment.plain, length, frame.timestamp.as_nanos());
        segment.plain += u64::from(length);
        buffer.count(priority, frame.wire_bytes.into());
        if let Some(statistics) = self.statistics.get_mut(interface as usize) {
            statistics.delivered = statistics.delivered.map(|packets| packets + 1);
        }
    }

    /// The number of a frame's interface in segments.
    #[inline]
    pub(super) fn interface(&mut self, frame: &Frame) -> u32 {
        match self.last_interface {
            Some((known, number)) if known == (frame.interface, frame.link.0) => number,
            _ => self.other_interface(frame),
        }
    }

    #[cold]
    fn other_interface(&mut self, frame: &Frame) -> u32 {
        let key = (frame.interface, frame.link.0);
        if let Some(&number) = self.interface_numbers.get(&key) {
            self.last_interface = Some((key, number));
            return number;
        }
        let number = self.interfaces.len() as u32;
        let names = self.settings.interfaces.get();
        let name = names.and_then(|names| names.get(usize::from(frame.interface))).cloned().unwrap_or_default();
        let described = self.described.get(&frame.interface).filter(|found| found.link == frame.link).cloned();
        let described = described.unwrap_or_else(|| Interface::new(name, frame.link));
        let snap_bytes = match (described.snap_bytes, self.settings.snap_bytes) {
            (0, u32::MAX) => 0,
            (0, bytes) => bytes,
            (before, bytes) => before.min(bytes),
        };
        // Packets passed what they were captured by, too.
        let filter = match (described.filter.as_str(), self.settings.expression.as_deref().unwrap_or_default()) {
            (before, "") => before.to_owned(),
            ("", filter) => filter.to_owned(),
            (before, filter) => format!("({before}) and ({filter})"),
        };
        let interface = self.texts.bounded(Interface { snap_bytes, filter, ..described });
        self.interfaces.push(interface);
        self.statistics.push(Statistics {
            interface: number,
            start: Some(Timestamp::from_nanos(frame.timestamp.as_nanos())),
            delivered: Some(0),
            ..Statistics::default()
        });
        self.interface_numbers.insert(key, number);
        number
    }

    /// Bytes of the block of a packet, with the options that it may get. `number`: its frame's.
    pub(super) fn block_bytes(&self, number: u64, captured: usize) -> usize {
        // The option with dropped packets and the end of options have 16 bytes.
        PACKET_OVERHEAD_BYTES + captured.next_multiple_of(4) + 24 + self.comments.bytes_of(number)
    }
}
