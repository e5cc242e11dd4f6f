//! Checks of the whole configuration: queues that are not there, too many readers, memory that does not fit.

use std::{ops::Range, path::Path, time::Duration};
use tidewire_config::{nearest, quoted};

use tidewire_types::Binary;

use super::{
    doubt::Doubt,
    sections::{Analyzer, Capture, Hold, Queue, Sections},
    types::{
        AnalyzerConfig, CaptureConfig, CaptureInput, Distribution, QueueConfig, RecordConfig, Restart, SlowReaders,
        Unit,
    },
};
use tidewire_queue::READERS_MAX;

/// Queues, those of sets counted singly.
pub const QUEUES_MAX: usize = 256;
/// Processes of analyzers.
pub const PROCESSES_MAX: usize = 256;
/// Interfaces captured together.
const INTERFACES_MAX: usize = 64;
/// Capture files.
const FILES_MAX: usize = 65_536;
/// Payload of a queue by default: half a second of a gigabit per second.
const MEMORY_BYTES: u64 = 64 << 20;
/// The same where the capture waits for its readers: little enough for a processor's cache.
const MEMORY_BYTES_WAITING: u64 = 8 << 20;
/// A record of the index is there for so many bytes of payload by default.
const BYTES_A_RECORD: u64 = 512;
/// Least payload bytes of a packet queue: a record may take an eighth of them, and the longest frames have 256 KiB.
pub(crate) const PACKET_QUEUE_BYTES_MIN: u64 = 4 << 20;
/// Bytes of a record in the index.
const SLOT_BYTES: u64 = 64;
/// Chunks by default: bytes are published as they arrive, because gathering them first is another copy.
const CHUNK_BYTES: u32 = 0;
/// Begun chunks are published after this time by default.
const FLUSH: Duration = Duration::from_millis(5);
/// Priority by default: the middle.
const PRIORITY: u8 = 3;

impl Sections<'_, '_> {
    fn place(&self, name: &str) -> Option<Range<usize>> {
        self.places.get(name).cloned()
    }

    /// The input. `given`: the interfaces and files of the command line, which override those of the file.
    pub fn input(&mut self, capture: &Capture, interfaces: &[String], files: &[std::path::PathBuf]) -> CaptureInput {
        if !interfaces.is_empty() || !files.is_empty() {
            return match files.is_empty() {
                true => self.interfaces(interfaces.iter().map(|name| (name.clone(), None)).collect()),
                false => self.files(files.iter().map(|file| (file.clone(), None)).collect()),
            };
        }
        match (capture.interfaces.is_empty(), capture.files.is_empty()) {
            (false, true) => {
                let named = capture.interfaces.iter().map(|(name, span)| (name.clone(), Some(span.clone())));
                self.interfaces(named.collect())
            }
            (true, false) => {
                let named = capture.files.iter().map(|(name, span)| (name.into(), Some(span.clone())));
                self.files(named.collect())
            }
            (false, false) => {
                let place = self.place("capture.files");
                let what = "[capture] has both 'interfaces' and 'files'";
                self.document.wrong_at(place.as_ref(), what, "keep one of them");
                CaptureInput::Interfaces(Vec::new())
            }
            (true, true) => {
                let place = self.place("capture.interfaces").or_else(|| self.place("capture.files"));
                let instead = "write interfaces = [\"eth1\"] in [capture], or use -i eth1 or -r FILE";
                self.document.wrong_at(place.as_ref(), "nothing to capture", instead);
                CaptureInput::Interfaces(Vec::new())
            }
        }
    }

    fn interfaces(&mut self, named: Vec<(String, Option<Range<usize>>)>) -> CaptureInput {
        if named.len() > INTERFACES_MAX {
            let what = format!("at most {INTERFACES_MAX} interfaces, got {}", named.len());
            self.document.wrong_at(self.place("capture.interfaces").as_ref(), what, "");
            return CaptureInput::Interfaces(Vec::new());
        }
        for (index, (name, span)) in named.iter().enumerate() {
            if name.is_empty() || name.contains([':', ',']) && self.system.interface(name).is_err() {
                let what = format!("\"{}\" is no name of an interface", quoted(name));
                self.document.wrong_at(span.as_ref(), what, "write each name alone: [\"eth1\", \"eth3\"]");
            } else if named[..index].iter().any(|(other, _)| other == name) {
                self.document.wrong_at(span.as_ref(), format!("interface \"{}\" is named twice", quoted(name)), "");
            } else if let Err(message) = self.system.interface(name) {
                // It may come before the sensor starts.
                self.document.warn(span.as_ref(), message, "");
            }
        }
        CaptureInput::Interfaces(named.into_iter().map(|(name, _)| name).collect())
    }

    fn files(&mut self, named: Vec<(std::path::PathBuf, Option<Range<usize>>)>) -> CaptureInput {
        if named.len() > FILES_MAX {
            let what = format!("at most {FILES_MAX} files, got {}", named.len());
            self.document.wrong_at(self.place("capture.files").as_ref(), what, "");
        }
        for (file, span) in named.iter().take(FILES_MAX) {
            let shown = quoted(&file.to_string_lossy());
            if file == Path::new("-") && span.is_some() {
                let what = "standard input is no file of a configuration";
                self.document.wrong_at(span.as_ref(), what, "use -r -, or name a file or a named pipe");
            } else if file == Path::new("-") {
                if named.iter().filter(|(other, _)| other == file).count() > 1 {
                    self.document.wrong_at(None, "standard input is named twice", "write -r - once");
                }
            } else if let Err(message) = self.system.file(file) {
                self.document.wrong_at(span.as_ref(), format!("{shown} cannot be read: {message}"), "");
            }
        }
        CaptureInput::Files(named.into_iter().map(|(file, _)| file).collect())
    }

    /// The address of the metrics. `given`: that of the command line overrides that of the file.
    pub fn metrics(&mut self, given: Option<String>, own: Option<String>, is_running: bool) -> Option<String> {
        let (name, place) = match given {
            Some(_) => ("--metrics", None),
            None => ("metrics", self.place("sensor.metrics")),
        };
        let address = given.or(own)?;
        if !is_running {
            let shown = |what: String| format!("invalid {name} '{}': {what}", quoted(&address));
            let looked = self.system.listen(&address).map_err(|doubt| match doubt {
                Doubt::Unreachable(what) => Doubt::Unreachable(shown(what)),
                Doubt::Now(what) => Doubt::Now(shown(what)),
            });
            self.doubt(place.as_ref(), looked, "expected an address and an unused port, as in \"127.0.0.1:9600\"");
        }
        Some(address)
    }

    /// The settings of the capture.
    pub fn completed_capture(&mut self, capture: Capture, input: CaptureInput) -> CaptureConfig {
        let workers = capture.workers.unwrap_or(1);
        let least = tidewire::WORKER_MEMORY_BYTES_MIN.saturating_mul(workers as u64);
        if let Some(memory) = capture.memory.filter(|memory| *memory < least) {
            let what =
                format!("'memory' must be at least {} for {workers} workers, got {}", Binary(least), Binary(memory));
            self.document.wrong_at(self.place("capture.memory").as_ref(), what, "");
        }
        CaptureConfig {
            input,
            filter: capture.filter,
            workers,
            memory_bytes: capture.memory,
            ring_bytes: capture.ring,
            snap_bytes: capture.snaplen,
            tap: capture.tap,
            promiscuous: capture.promiscuous.unwrap_or(true),
            sandbox: capture.sandbox.unwrap_or(true),
            nice: capture.nice,
        }
    }

    /// The queues; without one, and without outputs, a queue of streams.
    pub fn completed_queues(&mut self, mut queues: Vec<Queue>, is_live: bool, has_outputs: bool) -> Vec<QueueConfig> {
        if queues.is_empty() && !has_outputs {
            queues.push(Queue { name: "streams".into(), ..Queue::default() });
        }
        let total: usize = queues.iter().map(|queue| queue.count.unwrap_or(1)).sum();
        if total > QUEUES_MAX {
            let what = format!("at most {QUEUES_MAX} queues, those of sets counted singly; got {total}");
            self.document.wrong_at(self.place("queue").as_ref(), what, "");
        }
        queues.into_iter().map(|queue| self.completed_queue(queue, is_live)).collect()
    }

    fn completed_queue(&mut self, queue: Queue, is_live: bool) -> QueueConfig {
        let title = format!("queue.{}", queue.name);
        let slow = self.slow(&queue, &title, is_live);
        let (count, unit) = (queue.count.unwrap_or(1), queue.unit.unwrap_or(Unit::Streams));
        if count == 1 && queue.distribution.is_some() {
            let place = self.place(&format!("{title}.distribution"));
            self.document.warn(place.as_ref(), "'distribution' has no effect on a single queue", "write count = 4");
        }
        if unit == Unit::Packets {
            for key in ["chunk", "flush"] {
                if let Some(place) = self.place(&format!("{title}.{key}")) {
                    self.document.wrong(&place, format!("'{key}' has no meaning for packets"), "leave it out");
                }
            }
        }
        let chunk = queue.chunk.unwrap_or(CHUNK_BYTES);
        if let (0, Some(place)) = (chunk, self.place(&format!("{title}.flush"))) {
            let what = "'flush' needs chunks, and without 'chunk' bytes are published as they arrive";
            self.document.wrong(&place, what, "leave it out, or write chunk = \"16K\"");
        }
        let memory = queue.memory.unwrap_or(match slow {
            SlowReaders::Hold(None) => MEMORY_BYTES_WAITING,
            _ => MEMORY_BYTES,
        });
        // A record that fills a large part of the memory laps its readers at once.
        if unit == Unit::Streams && u64::from(chunk).saturating_mul(4) > memory {
            let place = self.place(&format!("{title}.chunk")).or_else(|| self.place(&format!("{title}.memory")));
            let what = format!("chunks of {} do not fit 'memory' = {}", Binary(chunk.into()), Binary(memory));
            self.document.wrong_at(place.as_ref(), what, "memory must be at least 4 chunks");
        }
        if let (true, Some(place)) = (is_live, self.place(&format!("{title}.wait-for"))) {
            let instead = "leave it out, or use -r FILE";
            self.document.warn(Some(&place), "'wait-for' has no effect on interfaces, which cannot wait", instead);
        }
        let records = (memory / BYTES_A_RECORD).next_power_of_two();
        QueueConfig {
            name: queue.name,
            unit,
            count,
            distribution: queue.distribution.unwrap_or(Distribution::FlowHash),
            filter: queue.filter,
            cutoff_bytes: queue.cutoff.filter(|bytes| *bytes != u64::MAX),
            chunk_bytes: chunk,
            flush: queue.flush.unwrap_or(FLUSH),
            priority: queue.priority.unwrap_or(PRIORITY),
            classes: queue.classes,
            memory_bytes: memory,
            records: queue.records.unwrap_or(records).clamp(tidewire_queue::SLOTS_MIN, tidewire_queue::SLOTS_MAX),
            slow,
            wait_for: queue.wait_for.unwrap_or_default(),
        }
    }

    fn slow(&mut self, queue: &Queue, title: &str, is_live: bool) -> SlowReaders {
        let place = self.place(&format!("{title}.hold")).or_else(|| self.place(&format!("{title}.slow")));
        match (queue.holds, queue.hold) {
            (Some(false), Some(_)) => {
                let instead = "leave 'hold' out, or write slow = \"hold\"";
                self.document.wrong_at(place.as_ref(), "'hold' contradicts slow = \"lose\"", instead);
                SlowReaders::Lose
            }
            (Some(false), None) => SlowReaders::Lose,
            (_, Some(Hold::AtMost(most))) => SlowReaders::Hold(Some(most)),
            (_, Some(Hold::Unlimited)) | (Some(true), None) if is_live => {
                let instead = "write how long, as in hold = \"5ms\"";
                self.document.wrong_at(place.as_ref(), "an interface cannot wait without end", instead);
                SlowReaders::Lose
            }
            (None, None) if is_live => SlowReaders::Lose,
            // Files can wait.
            _ => SlowReaders::Hold(None),
        }
    }

    /// The analyzers, with the queues that they name.
    pub fn completed_analyzers(&mut self, analyzers: Vec<Analyzer>, queues: &[QueueConfig]) -> Vec<AnalyzerConfig> {
        let processes: usize = analyzers.iter().map(|analyzer| analyzer.instances.unwrap_or(1)).sum();
        if processes > PROCESSES_MAX {
            let what = format!("at most {PROCESSES_MAX} processes of analyzers, got {processes}");
            self.document.wrong_at(self.place("analyzer").as_ref(), what, "");
        }
        let known: Vec<&str> = queues.iter().map(|queue| queue.name.as_str()).collect();
        let mut completed = Vec::new();
        for analyzer in analyzers {
            let title = format!("analyzer.{}", analyzer.name);
            let (place, own) = (self.place(&format!("{title}.queue")), self.place(&title));
            let queue = match (analyzer.queue, &known[..]) {
                (Some(queue), _) => queue,
                (None, [only]) => (*only).to_owned(),
                (None, _) => {
                    let what = format!("[{title}] does not say which queue it reads");
                    self.document.wrong_at(own.as_ref(), what, format!("write queue = \"NAME\": {}", known.join(", ")));
                    continue;
                }
            };
            if find_queue(queues, &queue).is_none() {
                let instead = match nearest(&queue, known.iter().copied()) {
                    Some(meant) => format!("did you mean \"{meant}\"?"),
                    None => format!("there are: {}", known.join(", ")),
                };
                self.document.wrong_at(place.as_ref(), format!("there is no queue \"{}\"", quoted(&queue)), instead);
                continue;
            }
            let instances = analyzer.instances.unwrap_or(1);
            self.look_at_instances(&title, &queue, instances, analyzer.group.is_some(), queues);
            completed.push(AnalyzerConfig {
                name: analyzer.name,
                command: analyzer.command,
                queue,
                group: analyzer.group,
                instances,
                user: analyzer.user,
                nice: analyzer.nice,
                restart: analyzer.restart.unwrap_or(Restart::OnFailure),
            });
        }
        self.count_readers(&completed, queues);
        completed
    }

    fn look_at_instances(&mut self, title: &str, queue: &str, instances: usize, grouped: bool, queues: &[QueueConfig]) {
        let Some(found) = find_queue(queues, queue) else { return };
        let count = if found.name == queue { found.count } else { 1 };
        let place = self.place(&format!("{title}.instances")).or_else(|| self.place(title));
        if instances > count && !grouped {
            let what = format!("{instances} instances on {count} queues: some read the same streams, each all of them");
            let what = if count == 1 { "each of the instances reads every stream".to_owned() } else { what };
            self.document.warn(place.as_ref(), what, "with group = \"NAME\" each stream goes to one of them");
        } else if instances < count {
            let what = format!("{instances} instances on {count} queues: no instance reads the others");
            self.document.warn(place.as_ref(), what, format!("write instances = {count}"));
        }
    }

    /// Refuses more readers than a queue can have.
    fn count_readers(&mut self, analyzers: &[AnalyzerConfig], queues: &[QueueConfig]) {
        for queue in queues {
            for member in 0..queue.count {
                let readers = |analyzer: &AnalyzerConfig| {
                    let instances = 0..analyzer.instances;
                    let name = member_name(queue, member);
                    instances.filter(|instance| queue_of(analyzer, *instance, queues) == Some(name.clone())).count()
                };
                let sum: usize = analyzers.iter().map(readers).sum();
                if sum > READERS_MAX {
                    let name = member_name(queue, member);
                    let what = format!("queue \"{name}\" has {sum} analyzers, and can have {READERS_MAX}");
                    let place = self.place(&format!("queue.{}", queue.name));
                    self.document.wrong_at(place.as_ref(), what, "start fewer instances, or write a larger 'count'");
                    break;
                }
            }
        }
    }

    /// Refuses more memory than there is.
    pub fn check_memory(&mut self, capture: &CaptureConfig, queues: &[QueueConfig], record: Option<&RecordConfig>) {
        let queued = queues.iter().map(queue_bytes).fold(0, u64::saturating_add);
        let engine = capture.memory_bytes.unwrap_or(tidewire::MEMORY_BYTES_DEFAULT);
        let recorded = record.map_or(0, |record| record.options.memory_bytes());
        let sum = queued.saturating_add(engine).saturating_add(recorded);
        let Some((total, available)) = self.system.memory() else { return };
        let mut parts = format!("{} for queues and {} for the engine", Binary(queued), Binary(engine));
        if recorded > 0 {
            parts = format!("{} for the recording, {parts}", Binary(recorded));
        }
        // Of several, the first that was set.
        let keys = queues
            .iter()
            .flat_map(|queue| ["memory", "records", "count"].map(|key| format!("queue.{}.{key}", queue.name)));
        let others = ["record.keep-memory", "record.buffer", "capture.memory"].map(str::to_owned);
        let place = keys.chain(others).find_map(|key| self.place(&key));
        let instead = match recorded {
            0 => "write smaller 'memory' in [capture] or [queue.NAME], or fewer queues",
            _ => "write smaller 'memory' in [capture] or [queue.NAME], or 'keep-memory' and 'buffer' in [record]",
        };
        if sum > total {
            let what = format!("{parts} are more than this machine's {}", Binary(total));
            self.document.wrong_at(place.as_ref(), what, instead);
        } else if queued > available {
            // Memory of the queues is taken at the start, the engine's only when it is needed.
            let what = format!("{} for queues are more than the {} available now", Binary(queued), Binary(available));
            self.document.warn(place.as_ref(), what, instead);
        }
    }
}

/// Shared memory of a queue, or of all queues of a set.
pub fn queue_bytes(queue: &QueueConfig) -> u64 {
    let rounded = |value: u64| value.checked_next_power_of_two().unwrap_or(u64::MAX);
    let least = if queue.unit == Unit::Packets { PACKET_QUEUE_BYTES_MIN } else { 0 };
    let one = rounded(queue.memory_bytes.max(least)).saturating_add(rounded(queue.records).saturating_mul(SLOT_BYTES));
    one.saturating_mul(queue.count as u64)
}

/// The name of a queue of a set; of a single queue its own.
#[must_use]
pub fn member_name(queue: &QueueConfig, member: usize) -> String {
    if queue.count == 1 { queue.name.clone() } else { format!("{}.{member}", queue.name) }
}

/// The queue or set with this name, or with a member of this name.
fn find_queue<'a>(queues: &'a [QueueConfig], name: &str) -> Option<&'a QueueConfig> {
    let is_member = |queue: &QueueConfig| {
        let number = name.strip_prefix(queue.name.as_str()).and_then(|rest| rest.strip_prefix('.'));
        let number = number.and_then(|number| Some((number, number.parse::<usize>().ok()?)));
        queue.count > 1 && number.is_some_and(|(text, number)| number < queue.count && text == number.to_string())
    };
    queues.iter().find(|queue| queue.name == name || is_member(queue))
}

/// The queue that an instance of an analyzer reads: of a set each gets the next one.
#[must_use]
pub fn queue_of(analyzer: &AnalyzerConfig, instance: usize, queues: &[QueueConfig]) -> Option<String> {
    let queue = find_queue(queues, &analyzer.queue)?;
    let is_set = queue.name == analyzer.queue;
    Some(if is_set { member_name(queue, instance % queue.count.max(1)) } else { analyzer.queue.clone() })
}
