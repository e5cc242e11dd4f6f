//! `[events]`, `[events.kind."NAME"]` and `[spool]`

use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};
use tidewire_config::{Entry, Value, quoted};

use tidewire_analyzers::Settings;
use tidewire_delivery::DestinationSettings;
use tidewire_event_store::{RECIPIENTS_MAX, Recipients};
use tidewire_events::limits::RECORD_EVENTS_MAX;
use toml::de::DeValue;

use super::common::Sections;
use crate::{
    config::types::SpoolConfig,
    events::{EventsSettings, KindSettings},
};

/// The keys of each table.
pub const EVENTS: &[&str] = &["enabled", "store", "size", "age", "recipients", "rate", "rates", "nice", "kind"];
pub const KIND: &[&str] = &["window", "identity", "vary", "times", "count"];
pub const SPOOL: &[&str] = &["nice", "sandbox"];

/// Nice value of the spooler by default: what is delivered later is not lost.
const SPOOL_NICE: i32 = 10;
/// Where sockets are by default.
pub const DIRECTORY: &str = "/run/tidewire";
/// The store where the sensor's directory is the default one: that one is lost when the machine starts.
const STORE: &str = "/var/lib/tidewire/events.db";
/// Its name in any other directory.
const STORE_NAME: &str = "events.db";
/// Bytes of a store at least: some of it is the database's own.
const SIZE_BYTES_MIN: u64 = 1 << 20;
/// Longest age: a hundred years, so that times stay numbers of 64 bits.
const AGE_MAX: Duration = Duration::from_secs(100 * 365 * 86_400);
/// Highest rate, events a second.
const RATE_MAX: i64 = 1_000_000_000;
/// Analyzers with rates of their own, at most: so many names an event processor counts separately.
const RATES_MAX: usize = 256;
/// Kinds with settings, at most.
const KINDS_MAX: usize = 1024;

/// `[events]`
#[derive(Default)]
pub struct Events {
    pub enabled: Option<bool>,
    pub store: Option<PathBuf>,
    pub size: Option<u64>,
    /// `Some(None)`: never removed.
    pub age: Option<Option<Duration>>,
    pub recipients: Vec<String>,
    /// `Some(None)`: no limit.
    pub rate: Option<Option<u64>>,
    pub rates: BTreeMap<String, u64>,
    pub nice: i32,
    pub kinds: BTreeMap<String, KindSettings>,
}

impl Events {
    /// The settings. `common`: what other tables say, and defaults.
    fn completed(self, common: &EventsSettings) -> EventsSettings {
        let default = || match common.directory == Path::new(DIRECTORY) {
            true => STORE.into(),
            false => common.directory.join(STORE_NAME),
        };
        EventsSettings {
            store: self.store.unwrap_or_else(default),
            size_bytes: self.size.unwrap_or(common.size_bytes),
            age: self.age.unwrap_or(common.age),
            recipients: self.recipients,
            rate: self.rate.unwrap_or(common.rate),
            rates: self.rates,
            nice: self.nice,
            kinds: self.kinds,
            ..common.clone()
        }
    }
}

/// `[spool]`
#[derive(Default)]
pub struct Spool {
    nice: Option<i32>,
    sandbox: Option<bool>,
}

impl Spool {
    fn completed(self, destinations: Vec<DestinationSettings>) -> SpoolConfig {
        let (nice, sandbox) = (self.nice.unwrap_or(SPOOL_NICE), self.sandbox.unwrap_or(true));
        SpoolConfig { nice, sandbox, destinations }
    }
}

/// All tables that are about events.
#[derive(Default)]
pub struct AllEvents {
    pub events: Events,
    pub inline: Settings,
    pub spool: Spool,
    pub destinations: Vec<DestinationSettings>,
}

impl Sections<'_, '_> {
    /// The settings of events, of the analyzers within the capture, and of delivery; none where events are off.
    pub fn completed_events(
        &mut self,
        all: AllEvents,
        common: &EventsSettings,
    ) -> (Option<EventsSettings>, Option<Settings>, Option<SpoolConfig>) {
        if all.events.enabled == Some(false) {
            for table in ["destination", "inline.anomaly", "inline.match", "inline.scan"] {
                let place = self.places.iter().find(|(name, _)| name.starts_with(&format!("{table}.")));
                if let Some(place) = place.map(|(_, place)| place.clone()) {
                    let what = format!("[{table}] has no effect: [events] has enabled = false");
                    self.document.warn(Some(&place), what, "leave it out, or write enabled = true");
                }
            }
            return (None, None, None);
        }
        let spool = (!all.destinations.is_empty()).then(|| all.spool.completed(all.destinations));
        (Some(all.events.completed(common)), Some(all.inline), spool)
    }

    /// Reads `[events]`.
    pub fn events(&mut self, value: &Value<'_>) -> Events {
        let mut events = Events::default();
        let Some(table) = self.document.table(value, "events", "write [events]") else { return events };
        self.keys("events", table, EVENTS, |this, key, value| match key {
            "enabled" => events.enabled = this.document.boolean(key, value),
            "store" => {
                events.store = this.absolute(key, value, "\"/var/lib/tidewire/events.db\"");
                if let Some(store) = &events.store {
                    let looked = this.system.store(store);
                    this.doubt(Some(&value.span()), looked, "write a file that the sensor's user may make");
                }
            }
            "size" => events.size = this.document.size(key, value, SIZE_BYTES_MIN, 1 << 50),
            "age" => events.age = this.age(key, value),
            "recipients" => events.recipients = this.recipients(key, value),
            "rate" => events.rate = this.rate(key, value),
            "rates" => events.rates = this.rates(value),
            "nice" => events.nice = this.document.whole(key, value, -20, 19).unwrap_or_default() as i32,
            _ => events.kinds = this.kinds(value),
        });
        events
    }

    fn age(&mut self, key: &str, value: &Value<'_>) -> Option<Option<Duration>> {
        match value.get_ref() {
            DeValue::String(word) if word == "never" => Some(None),
            _ => self.time_within(key, value, Duration::from_secs(60), AGE_MAX).map(Some),
        }
    }

    fn rate(&mut self, key: &str, value: &Value<'_>) -> Option<Option<u64>> {
        match value.get_ref() {
            DeValue::String(word) if word == "unlimited" => Some(None),
            _ => self.document.whole(key, value, 1, RATE_MAX).map(|rate| Some(rate.cast_unsigned())),
        }
    }

    /// `[events.rates]`: events a second by the analyzer's name.
    fn rates(&mut self, value: &Value<'_>) -> BTreeMap<String, u64> {
        let example = "write [events.rates] with ids = 1000";
        let Some(table) = self.document.table(value, "rates", example) else { return BTreeMap::new() };
        if table.iter().count() > RATES_MAX {
            self.document.wrong(&value.span(), format!("at most {RATES_MAX} analyzers have rates of their own"), "");
            return BTreeMap::new();
        }
        let mut rates = BTreeMap::new();
        for (key, value) in table.iter() {
            let name = key.get_ref().as_ref().to_owned();
            let rate = self.document.whole(&name, value, 1, RATE_MAX);
            if let (Some(name), Some(rate)) = (self.event_name("an analyzer", name, &key.span()), rate) {
                rates.insert(name, rate.cast_unsigned());
            }
        }
        rates
    }

    fn recipients(&mut self, key: &str, value: &Value<'_>) -> Vec<String> {
        let named = self.document.strings(key, value, "[\"age1…\"]");
        if named.len() > RECIPIENTS_MAX {
            let what = format!("at most {RECIPIENTS_MAX} recipients, got {}", named.len());
            self.document.wrong(&value.span(), what, "");
        }
        let mut found = Vec::new();
        for (recipient, span) in named {
            if let Some(what) = no_recipient(&recipient) {
                self.document.wrong(&span, what, "tidewire keys identity prints the recipient of a new identity");
            } else if found.contains(&recipient) {
                self.document.wrong(&span, "this recipient is named twice", "");
            } else {
                found.push(recipient);
            }
        }
        found
    }

    /// The tables below `kind`. Names of kinds have dots, so that they are quoted.
    fn kinds(&mut self, value: &Value<'_>) -> BTreeMap<String, KindSettings> {
        let example = "write [events.kind.\"scan.horizontal\"]";
        let Some(table) = self.document.table(value, "kind", example) else { return BTreeMap::new() };
        if table.iter().count() > KINDS_MAX {
            self.document.wrong(&value.span(), format!("at most {KINDS_MAX} kinds have settings of their own"), "");
            return BTreeMap::new();
        }
        let mut kinds = BTreeMap::new();
        for (key, value) in table.iter() {
            let name = key.get_ref();
            let is_dotted = matches!(value.get_ref(), DeValue::Table(inner)
                if inner.iter().next().is_some_and(|(_, inner)| matches!(inner.get_ref(), DeValue::Table(_))));
            if is_dotted {
                let what = format!("[events.kind.{}…] is read as tables within tables", quoted(name));
                self.document.wrong(&key.span(), what, format!("names with dots are quoted: {}", &example[6..]));
            } else if !tidewire_events::is_name(name) {
                let instead = "a name has 1 to 64 letters, digits, '.', '-' and '_'";
                self.document.wrong(&key.span(), format!("'{}' cannot be the name of a kind", quoted(name)), instead);
            } else {
                kinds.insert(name.as_ref().to_owned(), self.kind((key, value)));
            }
        }
        kinds
    }

    fn kind(&mut self, (key, value): Entry<'_>) -> KindSettings {
        let mut kind = KindSettings::default();
        let title = format!("events.kind.\"{}\"", key.get_ref());
        let Some(table) = self.document.table(value, key.get_ref(), "write [events.kind.\"NAME\"]") else {
            return kind;
        };
        self.keys(&title, table, KIND, |this, key, value| match key {
            "window" => kind.window = this.time(key, value, Duration::from_millis(1)),
            "identity" => kind.identity = Some(this.members(key, value)),
            "vary" => kind.vary = Some(this.members(key, value)),
            "times" => {
                kind.all_times = this.document.choice(key, value, &[("all", true), ("first-and-last", false)]);
            }
            _ => {
                let count = this.document.whole(key, value, 1, RECORD_EVENTS_MAX as i64);
                kind.count = count.map(i64::cast_unsigned);
            }
        });
        if let (Some(_), Some(_), Some(span)) = (&kind.identity, &kind.vary, self.places.get(&format!("{title}.vary")))
        {
            let instead = "keep one of them: what has to be equal, or what may vary";
            self.document.wrong(&span.clone(), "'vary' contradicts 'identity'", instead);
        }
        kind
    }

    /// Names of an event's members.
    fn members(&mut self, key: &str, value: &Value<'_>) -> Vec<String> {
        let named = self.document.strings(key, value, "[\"client_addr\", \"server_port\"]");
        named.into_iter().filter_map(|(name, span)| self.event_name("a member", name, &span)).collect()
    }

    /// A name of an analyzer, a kind or a member of events.
    pub fn event_name(&mut self, of: &str, name: String, span: &Range<usize>) -> Option<String> {
        if tidewire_events::is_name(&name) {
            return Some(name);
        }
        let instead = "a name has 1 to 64 letters, digits, '.', '-' and '_'";
        self.document.wrong(span, format!("'{}' cannot be the name of {of}", quoted(&name)), instead);
        None
    }

    /// Reads `[spool]`.
    pub fn spool(&mut self, value: &Value<'_>) -> Spool {
        let mut spool = Spool::default();
        let Some(table) = self.document.table(value, "spool", "write [spool]") else { return spool };
        self.keys("spool", table, SPOOL, |this, key, value| match key {
            "nice" => spool.nice = this.document.whole(key, value, -20, 19).map(|nice| nice as i32),
            _ => spool.sandbox = this.document.boolean(key, value),
        });
        spool
    }
}

/// Why this is no recipient.
fn no_recipient(text: &str) -> Option<String> {
    if text.to_ascii_uppercase().starts_with("AGE-SECRET-KEY-") {
        return Some("this is an identity, which can read the events and must not be on the sensor".into());
    }
    let parsed = Recipients::parse(&[text]);
    parsed
        .err()
        .map(|_| format!("\"{}\" is no recipient of age: expected age1 and 58 letters and digits", quoted(text)))
}
