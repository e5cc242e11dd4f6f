//! `[queue.NAME]`

use std::time::Duration;
use tidewire_config::{Entry, Value};

use toml::de::DeValue;

use super::common::Sections;
use crate::config::types::{ClassConfig, Distribution, Unit};

/// Sets of queues have at most so many.
const COUNT_MAX: usize = 64;
/// Bytes of a chunk, as the engine has them.
const CHUNK_BYTES_MAX: u64 = tidewire::CHUNK_BYTES_MAX as u64;
/// Memory of a queue at least: a record may have an eighth of it, and the largest datagram is to fit in one.
const QUEUE_BYTES_MIN: u64 = 512 << 10;

/// Its keys.
pub const QUEUE: &[&str] = &[
    "unit",
    "count",
    "distribution",
    "filter",
    "cutoff",
    "chunk",
    "flush",
    "priority",
    "classes",
    "memory",
    "records",
    "slow",
    "hold",
    "wait-for",
];
/// The keys of a class.
pub const CLASS: &[&str] = &["filter", "cutoff", "priority"];

/// Value of `hold`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    Unlimited,
    AtMost(Duration),
}

/// `[queue.NAME]`
#[derive(Default)]
pub struct Queue {
    pub name: String,
    pub unit: Option<Unit>,
    pub count: Option<usize>,
    pub distribution: Option<Distribution>,
    pub filter: Option<String>,
    pub cutoff: Option<u64>,
    pub chunk: Option<u32>,
    pub flush: Option<Duration>,
    pub priority: Option<u8>,
    pub classes: Vec<ClassConfig>,
    pub memory: Option<u64>,
    pub records: Option<u64>,
    /// Whether readers are waited for.
    pub holds: Option<bool>,
    pub hold: Option<Hold>,
    pub wait_for: Option<usize>,
}

impl Sections<'_, '_> {
    /// Reads `[queue.NAME]`.
    pub fn queue(&mut self, (key, value): Entry<'_>) -> Queue {
        let mut queue = Queue { name: key.get_ref().as_ref().to_owned(), ..Queue::default() };
        let title = format!("queue.{}", queue.name);
        let DeValue::Table(table) = value.get_ref() else { return queue };
        self.keys(&title, table, QUEUE, |this, key, value| {
            let document = &mut this.document;
            match key {
                "unit" => {
                    let units = [("streams", Unit::Streams), ("packets", Unit::Packets)];
                    queue.unit = document.choice(key, value, &units);
                }
                "count" => {
                    queue.count = document.whole(key, value, 1, COUNT_MAX as i64).map(|count| count as usize);
                }
                "distribution" => {
                    let ways = [("flow-hash", Distribution::FlowHash), ("round-robin", Distribution::RoundRobin)];
                    queue.distribution = document.choice(key, value, &ways);
                }
                "filter" => queue.filter = this.filter(key, value),
                "cutoff" => queue.cutoff = document.size(key, value, 0, u64::MAX),
                "chunk" => queue.chunk = document.size(key, value, 0, CHUNK_BYTES_MAX).map(|bytes| bytes as u32),
                "flush" => queue.flush = this.time(key, value, Duration::ZERO),
                "priority" => queue.priority = this.priority(key, value),
                "classes" => queue.classes = this.queue_classes(value),
                "memory" => {
                    queue.memory = document.size(key, value, QUEUE_BYTES_MIN, tidewire_queue::PAYLOAD_BYTES_MAX);
                }
                "records" => {
                    let (least, most) = (tidewire_queue::SLOTS_MIN, tidewire_queue::SLOTS_MAX);
                    queue.records = document.count(key, value, least, most);
                }
                "slow" => queue.holds = document.choice(key, value, &[("lose", false), ("hold", true)]),
                "hold" => queue.hold = this.hold(key, value),
                _ => {
                    let most = tidewire_queue::READERS_MAX as i64;
                    queue.wait_for = document.whole(key, value, 0, most).map(|readers| readers as usize);
                }
            }
        });
        queue
    }

    fn hold(&mut self, key: &str, value: &Value<'_>) -> Option<Hold> {
        if let DeValue::String(word) = value.get_ref()
            && word == "unlimited"
        {
            return Some(Hold::Unlimited);
        }
        self.time(key, value, Duration::from_micros(1)).map(Hold::AtMost)
    }

    fn queue_classes(&mut self, value: &Value<'_>) -> Vec<ClassConfig> {
        let read =
            |this: &mut Self, (cutoff, priority): &mut (Option<u64>, Option<u8>), key: &str, value: &Value<'_>| {
                match key {
                    "cutoff" => *cutoff = this.document.size(key, value, 0, u64::MAX),
                    _ => *priority = this.priority(key, value),
                }
            };
        let classes = self.classes(value, "a queue", CLASS, read).into_iter();
        classes.map(|(filter, (cutoff_bytes, priority))| ClassConfig { filter, cutoff_bytes, priority }).collect()
    }
}
