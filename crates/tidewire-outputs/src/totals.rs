//! Totals of a run.

use tidewire::{Anomaly, AnomalyKind, Direction, Stream};

/// Totals over all streams, printed or not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Streams that ended.
    pub streams: u64,
    /// Packets of both directions.
    pub packets: u64,
    /// Bytes from the network layer up.
    pub bytes: u64,
    /// Bytes in order, delivered or not.
    pub reassembled_bytes: u64,
    /// Bytes that were delivered.
    pub delivered_bytes: u64,
    /// Without what was cut off when an archive was recorded.
    pub missing_bytes: u64,
    /// Bytes that were cut off then, as the recorder counted them: of frames.
    pub cut_off_bytes: u64,
    /// Streams with a packet whose checksum is wrong.
    pub bad_checksums: u64,
    /// Connections of which the packets of one side are missing, as the other one acknowledged bytes of it.
    pub one_sided: u64,
    /// The first packet of any stream, nanoseconds since 1970; 0: unknown.
    pub start_ns: u64,
    /// The last packet of any stream.
    pub end_ns: u64,
}

impl Totals {
    /// Adds a closed stream.
    #[inline]
    pub fn add<D>(&mut self, stream: &Stream<'_, D>) {
        self.streams += 1;
        let is_bad = |anomaly: &Anomaly| anomaly.kind == AnomalyKind::BadChecksum;
        self.bad_checksums += u64::from(stream.anomalies().iter().any(is_bad));
        for direction in Direction::BOTH {
            let stats = stream.stats(direction);
            self.packets += stats.packets;
            self.bytes += stats.ip_bytes;
            self.reassembled_bytes += stats.reassembled_bytes;
            self.delivered_bytes += stats.delivered_bytes;
            self.missing_bytes += stats.missing_bytes;
            self.one_sided += u64::from(stats.packets == 0 && stats.missing_bytes > 0);
        }
        self.span(stream.start().as_nanos(), stream.end().as_nanos());
    }

    /// Takes bytes that a recorder cut off out of those that are missing, and adds what it cut off.
    pub fn forgive(&mut self, [missing_bytes, cut_off_bytes]: [u64; 2]) {
        self.missing_bytes = self.missing_bytes.saturating_sub(missing_bytes);
        self.cut_off_bytes = self.cut_off_bytes.saturating_add(cut_off_bytes);
    }

    fn span(&mut self, start_ns: u64, end_ns: u64) {
        self.start_ns = if self.end_ns == 0 { start_ns } else { self.start_ns.min(start_ns) };
        self.end_ns = self.end_ns.max(end_ns);
    }

    /// Adds the totals of another worker.
    pub fn merge(&mut self, other: &Self) {
        self.streams += other.streams;
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.reassembled_bytes += other.reassembled_bytes;
        self.delivered_bytes += other.delivered_bytes;
        self.missing_bytes += other.missing_bytes;
        self.cut_off_bytes = self.cut_off_bytes.saturating_add(other.cut_off_bytes);
        self.bad_checksums += other.bad_checksums;
        self.one_sided += other.one_sided;
        if other.streams > 0 {
            self.span(other.start_ns, other.end_ns);
        }
    }

    /// From the first packet of any stream to the last.
    pub fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}
