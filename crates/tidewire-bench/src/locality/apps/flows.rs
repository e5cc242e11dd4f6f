use tidewire_core::Frame;
use tidewire_lab::random::mix;
use tidewire_wire::ports;

use super::application::{Application, decoded, is_transport};
use crate::locality::traffic::Flow;

/// Cache lines of a record.
const LINES: usize = 6;

/// A table of flows: an index with open addressing, and a record for each flow, several cache lines of which change with every
/// packet.
pub struct Flows {
    /// Number of the record plus one; 0: free.
    index: Vec<u32>,
    records: Vec<Record>,
}

#[repr(align(64))]
#[derive(Clone)]
struct Record {
    /// Lower end, upper end: address << 16 | port.
    ends: [u64; 2],
    /// For both directions: packets, bytes, first and last time, sizes and pauses by class.
    figures: [u64; LINES * 8 - 2],
}

impl Flows {
    /// A table that already contains this many of the traffic's flows.
    #[must_use]
    pub fn new(flows: u64) -> Self {
        let slots = (flows.max(1 << 16) * 2).next_power_of_two();
        let mut this = Self { index: vec![0; slots as usize], records: Vec::with_capacity(flows as usize) };
        for n in 0..flows {
            let [a, b] = Flow::of(n).ends.map(|(address, port)| u64::from(address) << 16 | u64::from(port));
            this.record([a.min(b), a.max(b)]);
        }
        this
    }

    fn record(&mut self, ends: [u64; 2]) -> usize {
        let mask = self.index.len() - 1;
        let mut slot = mix(ends[0].rotate_left(24) ^ ends[1]) as usize & mask;
        loop {
            match self.index[slot] {
                0 => {
                    self.records.push(Record { ends, figures: [0; LINES * 8 - 2] });
                    self.index[slot] = self.records.len() as u32;
                    return self.records.len() - 1;
                }
                number if self.records[number as usize - 1].ends == ends => return number as usize - 1,
                _ => slot = (slot + 1) & mask,
            }
        }
    }
}

impl Application for Flows {
    #[inline(never)]
    fn packet(&mut self, frame: &Frame, bytes: &[u8]) {
        let decoded = decoded(frame, bytes);
        if !is_transport(&decoded) || decoded.ip_version != 4 || self.records.len() * 2 > self.index.len() {
            return;
        }
        let (source, destination) = ports(bytes, &decoded);
        let at = decoded.ip_at as usize;
        let address = |at: usize| {
            let bytes: [u8; 4] = bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
            u64::from(u32::from_be_bytes(bytes)) << 16
        };
        let [from, to] = [address(at + 12) | u64::from(source), address(at + 16) | u64::from(destination)];
        let number = self.record([from.min(to), from.max(to)]);
        let figures = &mut self.records[number].figures;
        let direction = usize::from(from < to);
        figures[direction] += 1;
        figures[2 + direction] += u64::from(frame.wire_bytes);
        let pause = frame.timestamp.as_nanos().abs_diff(figures[4 + direction]);
        figures[4 + direction] = frame.timestamp.as_nanos().max(figures[4 + direction]);
        // Classes of sizes, of pauses, and flags, each in separate cache lines.
        figures[8 + direction * 8 + (frame.wire_bytes / 256).min(7) as usize] += 1;
        figures[24 + direction * 8 + (pause.max(1).ilog2() / 8) as usize] += 1;
        figures[40 + usize::from(bytes.get(decoded.transport_at as usize + 13).is_some_and(|flags| flags & 8 != 0))] +=
            1;
    }

    fn found(&self) -> u64 {
        let packets_and_bytes = |record: &Record| record.figures[..4].iter().sum::<u64>();
        self.records.iter().map(packets_and_bytes).sum()
    }

    fn table_bytes(&self) -> u64 {
        (self.index.len() * 4 + self.records.len() * size_of::<Record>()) as u64
    }
}
