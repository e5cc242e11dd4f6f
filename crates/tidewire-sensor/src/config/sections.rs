//! The tables of a configuration: `[sensor]`, `[capture]`, `[queue.NAME]`, `[analyzer.NAME]`.

use std::{collections::BTreeMap, ops::Range, path::PathBuf, time::Duration};

use toml::de::{DeTable, DeValue};

use super::{
    mistake::quoted,
    read::{Document, Entry, Value},
    system::System,
    types::{ClassConfig, Distribution, Restart, Unit},
};

/// Places of values, by names such as `queue.web.memory`.
pub type Places = BTreeMap<String, Range<usize>>;

/// Sets of queues have at most so many.
pub const COUNT_MAX: usize = 64;
/// Classes of a queue.
pub const CLASSES_MAX: usize = 64;
/// Bytes of a chunk, as the engine has them.
const CHUNK_BYTES_MAX: u64 = tidewire::CHUNK_BYTES_MAX as u64;
/// Memory of a queue at least: a record may have an eighth of it, and the largest datagram is to fit in one.
const QUEUE_BYTES_MIN: u64 = 512 << 10;
/// Longest times: a day.
const TIME_MAX: Duration = Duration::from_secs(86_400);
/// Bytes of a name: a queue of a set has a dot and two digits after it, an instance three.
const NAME_BYTES_MAX: usize = tidewire_queue::NAME_BYTES_MAX - 4;

/// The keys of each table.
pub const SENSOR: &[&str] = &["directory", "metrics", "users", "stop"];
pub const CAPTURE: &[&str] =
    &["interfaces", "files", "filter", "workers", "memory", "ring", "snaplen", "tap", "promiscuous", "sandbox", "nice"];
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
pub const CLASS: &[&str] = &["filter", "cutoff", "priority"];
pub const ANALYZER: &[&str] = &["command", "queue", "group", "instances", "user", "nice", "restart"];
/// The tables of a file.
pub const TABLES: &[&str] = &["sensor", "capture", "queue", "analyzer"];

/// `[sensor]`
#[derive(Default)]
pub struct Sensor {
    pub directory: Option<PathBuf>,
    pub metrics: Option<String>,
    pub users: Vec<u32>,
    pub stop: Option<Duration>,
}

/// `[capture]`
#[derive(Default)]
pub struct Capture {
    pub interfaces: Vec<(String, Range<usize>)>,
    pub files: Vec<(String, Range<usize>)>,
    pub filter: Option<String>,
    pub workers: Option<usize>,
    pub memory: Option<u64>,
    pub ring: Option<u64>,
    pub snaplen: Option<u32>,
    pub tap: bool,
    pub promiscuous: Option<bool>,
    pub sandbox: Option<bool>,
    pub nice: i32,
}

/// What `hold` is set to.
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

/// `[analyzer.NAME]`
#[derive(Default)]
pub struct Analyzer {
    pub name: String,
    pub command: Vec<String>,
    pub queue: Option<String>,
    pub group: Option<String>,
    pub instances: Option<usize>,
    pub user: Option<(u32, u32)>,
    pub nice: i32,
    pub restart: Option<Restart>,
}

/// Whether it can be the name of a queue or an analyzer.
fn is_name(name: &str) -> bool {
    tidewire_queue::is_name(name) && name.len() <= NAME_BYTES_MAX && !name.contains('.')
}

/// Reads tables; answers of the machine are checked as they come.
pub struct Sections<'a, 's> {
    pub document: Document<'a>,
    pub system: &'s dyn System,
    pub places: Places,
}

impl Sections<'_, '_> {
    /// Calls `each` for the known keys of a table, and notes the others.
    fn keys<'v>(
        &mut self,
        title: &str,
        table: &'v DeTable<'v>,
        known: &[&str],
        mut each: impl FnMut(&mut Self, &str, &'v Value<'v>),
    ) {
        for (key, value) in table.iter() {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                self.places.insert(format!("{title}.{name}"), value.span());
                each(self, name, value);
            } else {
                self.document.unknown(key, &format!("[{title}]"), known);
            }
        }
    }

    fn filter(&mut self, key: &str, value: &Value<'_>) -> Option<String> {
        let filter = self.document.string(key, value, "\"tcp port 80\"")?;
        if let Err(message) = self.system.filter(&filter) {
            let message = quoted_lines(&message);
            self.document.wrong(&value.span(), format!("'{key}' does not compile: {message}"), "see pcap-filter(7)");
            return None;
        }
        Some(filter)
    }

    fn user(&mut self, name: &str, span: &Range<usize>) -> Option<(u32, u32)> {
        let (user, group) = name.split_once(':').map_or((name, None), |(user, group)| (user, Some(group)));
        let found = self.system.user(user).and_then(|(user, main)| {
            let group = group.map_or(Ok(main), |group| self.system.group(group));
            group.map(|group| (user, group))
        });
        let message = match found {
            Ok(found) => return Some(found),
            Err(message) => message,
        };
        let instead = "write a user of this machine, a number, or \"user:group\"";
        self.document.wrong(span, format!("user \"{}\": {message}", quoted(name)), instead);
        None
    }

    /// A user's name, or a number.
    fn user_word(&mut self, key: &str, value: &Value<'_>) -> Option<(String, Range<usize>)> {
        match value.get_ref() {
            DeValue::Integer(number) => Some((number.as_str().to_owned(), value.span())),
            _ => self.document.string(key, value, "\"nobody\"").map(|name| (name, value.span())),
        }
    }

    /// Reads `[sensor]`.
    pub fn sensor(&mut self, value: &Value<'_>) -> Sensor {
        let mut sensor = Sensor::default();
        let Some(table) = self.document.table(value, "sensor", "write [sensor]") else { return sensor };
        self.keys("sensor", table, SENSOR, |this, key, value| match key {
            "directory" => {
                let path = this.document.string(key, value, "\"/run/tidewire\"").map(PathBuf::from);
                if path.as_ref().is_some_and(|path| !path.is_absolute()) {
                    this.document.wrong(
                        &value.span(),
                        "'directory' must be an absolute path",
                        "as in \"/run/tidewire\"",
                    );
                }
                sensor.directory = path;
            }
            "metrics" => sensor.metrics = this.document.string(key, value, "\"127.0.0.1:9600\""),
            "users" => {
                let items: Vec<&Value<'_>> = match value.get_ref() {
                    DeValue::Array(items) => items.iter().collect(),
                    _ => vec![value],
                };
                for item in items {
                    let word = this.user_word(key, item);
                    let user = word.and_then(|(name, span)| this.user(&name, &span));
                    sensor.users.extend(user.map(|(user, _)| user));
                }
            }
            _ => sensor.stop = this.time(key, value, Duration::from_millis(100)),
        });
        sensor
    }

    fn time(&mut self, key: &str, value: &Value<'_>, least: Duration) -> Option<Duration> {
        let time = self.document.span(key, value)?;
        if (least..=TIME_MAX).contains(&time) {
            return Some(time);
        }
        let shown = |time: Duration| tidewire_units::Lasting(time.as_nanos() as u64);
        let bounds = format!("'{key}' must be {} to {}, got {}", shown(least), shown(TIME_MAX), shown(time));
        self.document.wrong(&value.span(), bounds, "");
        None
    }

    /// Reads `[capture]`.
    pub fn capture(&mut self, value: &Value<'_>) -> Capture {
        let mut capture = Capture::default();
        let Some(table) = self.document.table(value, "capture", "write [capture]") else { return capture };
        self.keys("capture", table, CAPTURE, |this, key, value| match key {
            "interfaces" => capture.interfaces = this.document.strings(key, value, "[\"eth1\", \"eth3\"]"),
            "files" => capture.files = this.document.strings(key, value, "[\"capture.pcap\"]"),
            "filter" => capture.filter = this.filter(key, value),
            "workers" => {
                let most = tidewire::WORKERS_MAX as i64;
                capture.workers = this.document.whole(key, value, 1, most).map(|workers| workers as usize);
            }
            "memory" => {
                let least = tidewire::WORKER_MEMORY_BYTES_MIN;
                capture.memory = this.document.size(key, value, least, u64::MAX);
            }
            "ring" => capture.ring = this.document.size(key, value, 64 << 10, 64 << 30),
            "snaplen" => {
                capture.snaplen = this.document.size(key, value, 64, 256 << 10).map(|bytes| bytes as u32);
            }
            "tap" => capture.tap = this.document.boolean(key, value).unwrap_or_default(),
            "promiscuous" => capture.promiscuous = this.document.boolean(key, value),
            "sandbox" => capture.sandbox = this.document.boolean(key, value),
            _ => capture.nice = this.document.whole(key, value, -20, 19).unwrap_or_default() as i32,
        });
        capture
    }

    /// Reads the tables below `[queue]` or `[analyzer]`, with their names.
    pub fn named<'v>(&mut self, of: &str, value: &'v Value<'v>) -> Vec<Entry<'v>> {
        let example = format!("write [{of}.NAME]");
        let Some(table) = self.document.table(value, of, &example) else { return Vec::new() };
        let mut found = Vec::new();
        for (key, value) in table.iter() {
            let name = key.get_ref();
            if !is_name(name) {
                let what = format!("'{}' cannot be the name of {}", quoted(name), article(of));
                let instead = format!("a name has 1 to {NAME_BYTES_MAX} letters, digits, - and _");
                self.document.wrong(&key.span(), what, instead);
            } else if self.document.table(value, name, &example).is_some() {
                self.places.insert(format!("{of}.{name}"), key.span());
                found.push((key, value));
            }
        }
        found
    }

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
                "priority" => queue.priority = document.whole(key, value, 0, 7).map(|level| level as u8),
                "classes" => queue.classes = this.classes(value),
                "memory" => {
                    queue.memory = document.size(key, value, QUEUE_BYTES_MIN, tidewire_queue::PAYLOAD_BYTES_MAX);
                }
                "records" => {
                    let (least, most) = (tidewire_queue::SLOTS_MIN, tidewire_queue::SLOTS_MAX);
                    queue.records = document.size(key, value, least, most);
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

    fn classes(&mut self, value: &Value<'_>) -> Vec<ClassConfig> {
        let example = "as in classes = [{ filter = \"port 443\", cutoff = \"16K\" }]";
        let DeValue::Array(items) = value.get_ref() else {
            self.document.wrong(&value.span(), "'classes' is an array of tables", example);
            return Vec::new();
        };
        if items.len() > CLASSES_MAX {
            let what = format!("a queue has at most {CLASSES_MAX} classes, got {}", items.len());
            self.document.wrong(&value.span(), what, "");
        }
        let mut classes = Vec::new();
        for item in items.iter().take(CLASSES_MAX) {
            let Some(table) = self.document.table(item, "classes", example) else { continue };
            let (mut filter, mut cutoff_bytes, mut priority, mut has_filter) = (None, None, None, false);
            for (key, value) in table.iter() {
                match key.get_ref().as_ref() {
                    "filter" => (filter, has_filter) = (self.filter("filter", value), true),
                    "cutoff" => cutoff_bytes = self.document.size("cutoff", value, 0, u64::MAX),
                    "priority" => {
                        priority = self.document.whole("priority", value, 0, 7).map(|level| level as u8);
                    }
                    _ => self.document.unknown(key, "a class", CLASS),
                }
            }
            if !has_filter {
                self.document.wrong(&item.span(), "a class has no 'filter'", example);
            }
            classes.extend(filter.map(|filter| ClassConfig { filter, cutoff_bytes, priority }));
        }
        classes
    }

    /// Reads `[analyzer.NAME]`.
    pub fn analyzer(&mut self, (key, value): Entry<'_>) -> Analyzer {
        let mut analyzer = Analyzer { name: key.get_ref().as_ref().to_owned(), ..Analyzer::default() };
        let title = format!("analyzer.{}", analyzer.name);
        let DeValue::Table(table) = value.get_ref() else { return analyzer };
        self.keys(&title, table, ANALYZER, |this, key, value| match key {
            "command" => analyzer.command = this.command(key, value),
            "queue" => analyzer.queue = this.document.string(key, value, "\"streams\""),
            "group" => {
                analyzer.group = this.document.string(key, value, "\"http\"");
                if analyzer.group.as_ref().is_some_and(|group| !tidewire_queue::is_name(group)) {
                    let instead =
                        format!("a name has 1 to {} letters, digits, ., - and _", tidewire_queue::NAME_BYTES_MAX);
                    this.document.wrong(&value.span(), "this cannot be the name of a group", instead);
                }
            }
            "instances" => {
                analyzer.instances = this.document.whole(key, value, 1, 32).map(|count| count as usize);
            }
            "user" => {
                let word = this.user_word(key, value);
                analyzer.user = word.and_then(|(name, span)| this.user(&name, &span));
            }
            "nice" => analyzer.nice = this.document.whole(key, value, -20, 19).unwrap_or_default() as i32,
            _ => {
                let words =
                    [("always", Restart::Always), ("on-failure", Restart::OnFailure), ("never", Restart::Never)];
                analyzer.restart = this.document.choice(key, value, &words);
            }
        });
        if !table.iter().any(|(key, _)| key.get_ref() == "command") {
            let what = format!("[{title}] has no 'command'");
            self.document.wrong(&key.span(), what, "as in command = [\"/usr/local/bin/analyzer\", \"--option\"]");
        }
        analyzer
    }

    fn command(&mut self, key: &str, value: &Value<'_>) -> Vec<String> {
        let example = "[\"/usr/local/bin/analyzer\", \"--option\"]";
        let words = self.document.strings(key, value, example);
        let Some((program, span)) = words.first() else {
            if matches!(value.get_ref(), DeValue::Array(items) if items.is_empty()) {
                self.document.wrong(&value.span(), "'command' names no program", format!("as in command = {example}"));
            }
            return Vec::new();
        };
        if let Some((_, span)) = words.iter().find(|(word, _)| word.contains('\0')) {
            self.document.wrong(span, "'command' has a null character, which no argument can have", "");
        } else if let Err(message) = self.system.program(program) {
            let is_line = !matches!(value.get_ref(), DeValue::Array(_)) && program.contains(' ');
            let instead = match is_line {
                true => {
                    let words: Vec<String> =
                        program.split_whitespace().take(8).map(|word| format!("\"{}\"", quoted(word))).collect();
                    format!("arguments are words of their own: command = [{}]", words.join(", "))
                }
                false => "write the path of a program that can be run".into(),
            };
            self.document.wrong(span, quoted_lines(&message), instead);
        }
        words.into_iter().map(|(word, _)| word).collect()
    }
}

fn article(of: &str) -> &'static str {
    if of == "queue" { "a queue" } else { "an analyzer" }
}

/// A message of another part, cut where it is too long.
fn quoted_lines(message: &str) -> String {
    let mut shown: String = message.chars().take(400).collect();
    if shown.len() < message.len() {
        shown.push('…');
    }
    shown
}
