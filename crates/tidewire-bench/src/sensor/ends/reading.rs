//! The reading end: what it read, missed and lost, how late, and at what cost.

use std::{
    hint::spin_loop,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use clap::Args;
use serde::{Deserialize, Serialize};
use tidewire_queue::{Attach, Next, Reader, Record, records::RecordType};

use super::{
    clock::{now_ns, pin, process_cpu_ns},
    latency::Latency,
};

/// A reader of a queue.
#[derive(Args, Clone, Debug)]
pub struct Reading {
    /// The socket of the queue's server; without it the environment says what to read, as a sensor sets it
    #[arg(long)]
    pub socket: Option<PathBuf>,
    /// The queue
    #[arg(long, default_value = "load")]
    pub queue: String,
    /// Name of the reader
    #[arg(long, default_value = "reader")]
    pub name: String,
    /// Its group: each stream goes to one member
    #[arg(long)]
    pub group: Option<String>,
    /// Look for records all the time instead of sleeping until woken
    #[arg(long)]
    pub poll: bool,
    /// Add up the payload where it is, instead of copying it
    #[arg(long)]
    pub in_place: bool,
    /// The core it runs on
    #[arg(long)]
    pub core: Option<usize>,
    /// Busy time for each record with payload, nanoseconds
    #[arg(long, default_value_t = 0)]
    pub work_ns: u64,
    /// The busy time is for so many bytes of payload; 0: for a record
    #[arg(long, default_value_t = 0)]
    pub work_bytes: u64,
    /// Records carry the time of their publication
    #[arg(long)]
    pub timed: bool,
}

/// Observations of a reader.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Records read.
    pub read: u64,
    /// Records whose payload was overwritten before it was read.
    pub missed: u64,
    /// Records of which nothing is known but the number.
    pub lost: u64,
    /// Records for other members of its group.
    pub passed: u64,
    /// Records read that carry bytes of a stream or a packet.
    pub units: u64,
    /// Payload bytes read.
    pub bytes: u64,
    /// Of these, bytes of streams.
    pub data_bytes: u64,
    /// Records out of sequence.
    pub wrong: u64,
    /// The sequence of the first record to be read, and of the one after the last.
    pub sequences: [u64; 2],
    /// When the last record was read, nanoseconds.
    pub last_ns: u64,
    /// CPU time of the process, nanoseconds.
    pub cpu_ns: u64,
    /// From publication until the reader had the record.
    pub latency: Latency,
}

impl Figures {
    /// One line of JSON.
    ///
    /// # Errors
    /// None is known.
    pub fn json(&self) -> Result<String, String> {
        serde_json::to_string(self).map_err(|error| error.to_string())
    }
}

/// How long a reader sleeps at most before it looks whether it is to end.
const PATIENCE: Duration = Duration::from_millis(100);
/// Pauses of a polling reader between two looks.
const PAUSES: u32 = 16;
/// Latencies kept.
const LATENCIES_MAX: usize = 1 << 22;

impl Reading {
    /// Reads to the end of the queue, or until SIGTERM.
    ///
    /// # Errors
    /// No queue is there, or it is corrupt.
    pub fn run(&self) -> Result<Figures, String> {
        let ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ended);
        ctrlc::set_handler(move || end.store(true, Ordering::Relaxed)).map_err(|error| error.to_string())?;
        if let Some(core) = self.core {
            pin(core)?;
        }
        let mut reader = self.attach().map_err(|error| error.to_string())?;
        let first = reader.first();
        let mut figures = Figures { sequences: [first, first], ..Figures::default() };
        let mut latencies = Vec::with_capacity(if self.timed { LATENCIES_MAX } else { 0 });
        let mut payload = Vec::with_capacity(1 << 20);
        let begun_ns = process_cpu_ns();
        while !ended.load(Ordering::Relaxed) {
            payload.clear();
            match self.next(&mut reader, &mut payload)? {
                Next::Record(record) => {
                    if self.timed && latencies.len() < LATENCIES_MAX {
                        latencies.push(now_ns().saturating_sub(record.time_ns));
                    }
                    figures.note(&record);
                    self.work(&record);
                }
                Next::Missed(record) => figures.note_lost(record.sequence, 1),
                Next::Lost { first, records, .. } => figures.note_lost(first, records),
                Next::Ended(_) => break,
                // Not at once again: the publisher writes the line that says what is there.
                Next::Empty if self.poll => (0..PAUSES).for_each(|_| spin_loop()),
                Next::Empty => {
                    reader.wait(PATIENCE).map_err(|error| error.to_string())?;
                }
            }
        }
        figures.last_ns = now_ns();
        figures.cpu_ns = process_cpu_ns() - begun_ns;
        let progress = reader.progress();
        figures.sequences[1] = progress.sequence;
        (figures.missed, figures.lost, figures.passed) = (progress.missed, progress.lost, progress.passed);
        figures.latency = Latency::of(&mut latencies);
        Ok(figures)
    }

    fn attach(&self) -> Result<Reader, tidewire_queue::Error> {
        let Some(socket) = &self.socket else { return Reader::from_environment() };
        let mut request = Attach::new(&self.queue, &self.name);
        request.group.clone_from(&self.group);
        Reader::attach(socket, &request)
    }

    /// The next record, copied, or added up where it is.
    fn next(&self, reader: &mut Reader, payload: &mut Vec<u8>) -> Result<Next, String> {
        if !self.in_place {
            return reader.next(payload).map_err(|error| error.to_string());
        }
        let next = reader.next_in_place().map_err(|error| error.to_string())?;
        let Next::Record(record) = next else { return Ok(next) };
        let sum = reader.words(&record).iter().fold(0_u64, |sum, word| sum.wrapping_add(word.load(Ordering::Relaxed)));
        std::hint::black_box(sum);
        Ok(if reader.confirm() { next } else { Next::Missed(record) })
    }

    fn work(&self, record: &Record) {
        if self.work_ns == 0
            || !matches!(RecordType::from_number(record.kind), Some(RecordType::Data | RecordType::Packet))
        {
            return;
        }
        let share = if self.work_bytes == 0 { 1.0 } else { f64::from(record.bytes) / self.work_bytes as f64 };
        let time = Duration::from_nanos((self.work_ns as f64 * share) as u64);
        let begun = Instant::now();
        while begun.elapsed() < time {
            spin_loop();
        }
    }
}

impl Figures {
    /// Notes a record. Sequences grow; those between are of other members of the group.
    fn note(&mut self, record: &Record) {
        self.wrong += u64::from(record.sequence < self.sequences[1]);
        self.sequences[1] = record.sequence + 1;
        self.read += 1;
        self.bytes += u64::from(record.bytes);
        let kind = RecordType::from_number(record.kind);
        self.units += u64::from(matches!(kind, Some(RecordType::Data | RecordType::Packet)));
        self.data_bytes += if kind == Some(RecordType::Data) { u64::from(record.bytes) } else { 0 };
    }

    fn note_lost(&mut self, first: u64, records: u64) {
        self.wrong += u64::from(first < self.sequences[1]);
        self.sequences[1] = first.saturating_add(records);
    }
}
