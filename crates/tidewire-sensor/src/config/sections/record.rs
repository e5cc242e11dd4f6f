//! `[record]`

use std::{path::Path, time::Duration};
use tidewire_config::{Value, items, nearest, quoted};

use tidewire_analyzers::SCAN_KINDS;
use tidewire_archive::Compression;
use tidewire_patterns::{Syntax, parse};
use tidewire_recorder::{LookBackOptions, RecordClass, RecordingOptions, snap_bytes};
use tidewire_types::Share;

use super::{common::Sections, keys::RECORD};
use crate::{
    config::types::{CaptureConfig, CaptureInput, RecordConfig},
    events::EventsSettings,
};

/// The keys of a class.
pub const RECORD_CLASS: &[&str] = &["filter", "cutoff", "snaplen", "priority"];

/// Of these, what has no meaning without `keep-last`.
const LOOK_BACK: &[&str] =
    &["keep-after", "keep-memory", "trigger", "trigger-pattern", "trigger-streams", "trigger-events"];
/// Longest time that packets are kept: ten years.
const AGE_MAX: Duration = Duration::from_secs(3660 * 86_400);
const EXAMPLE: &str = "\"/var/packets\"";
const NO_DIRECTORY: &str = "[record] does not say where packets are recorded";

/// `[record]`
#[derive(Default)]
pub struct Record {
    options: RecordingOptions,
    look_back: LookBackOptions,
    keeps_last: bool,
    trigger_events: Vec<String>,
}

impl Sections<'_, '_> {
    /// Reads `[record]`.
    pub fn record(&mut self, value: &Value<'_>) -> Option<Record> {
        let table = self.document.table(value, "record", "write [record]")?;
        self.places.insert("record".into(), value.span());
        let mut record = Record::default();
        self.keys("record", table, RECORD, |this, key, value| this.record_key(&mut record, key, value));
        Some(record)
    }

    fn record_key(&mut self, record: &mut Record, key: &str, value: &Value<'_>) {
        let (options, look_back) = (&mut record.options, &mut record.look_back);
        match key {
            "directory" => {
                let named = items(value);
                if named.is_empty() {
                    self.document.wrong(&value.span(), NO_DIRECTORY, format!("write directory = {EXAMPLE}"));
                }
                let path = |item: &Value<'_>| self.absolute(key, item, EXAMPLE);
                options.directories = named.iter().filter_map(path).collect();
            }
            "size" => options.size_bytes = self.document.size(key, value, 1, u64::MAX),
            "age" => options.age = self.time_within(key, value, Duration::from_secs(1), AGE_MAX),
            "free" => options.free_bytes = self.document.size(key, value, 1, u64::MAX),
            "segment-size" => options.segment_bytes = self.document.size(key, value, 1, u64::MAX),
            "segment-time" => options.segment_time = self.time(key, value, Duration::from_millis(1)),
            "compress" => {
                let ways = [("none", Compression::None), ("lz4", Compression::Lz4), ("zstd", Compression::Zstd)];
                options.compression = self.document.choice(key, value, &ways).unwrap_or_default();
            }
            "encrypt-to" => {
                let names = self.document.strings(key, value, "\"age1...\"");
                options.recipients = names.into_iter().map(|(name, _)| name).collect();
            }
            "identity" => options.identities = self.readable_files(key, value, "\"/etc/tidewire/identity.txt\""),
            "durable" => options.durable = self.time(key, value, Duration::from_millis(1)).unwrap_or(options.durable),
            "filter" => options.filter = self.filter(key, value),
            "cutoff" => {
                let bytes = self.document.size(key, value, 0, u64::MAX);
                options.cutoff_bytes = [bytes.unwrap_or(u64::MAX); 2];
            }
            "snaplen" => options.snap_bytes = self.document.size(key, value, 0, u64::MAX).map_or(u32::MAX, snap_bytes),
            "classes" => options.classes = self.record_classes(value),
            "tunnel-depth" => {
                let depth = self.document.whole(key, value, 0, u8::MAX.into());
                options.tunnel_depth = depth.map_or(options.tunnel_depth, |depth| depth as u8);
            }
            "buffer" => {
                options.buffer_bytes = self.document.size(key, value, 1, u64::MAX).unwrap_or(options.buffer_bytes);
            }
            "base-threshold" => {
                let share = self.document.string(key, value, "\"50%\"");
                match share.map(|text| text.parse::<Share>()) {
                    Some(Ok(share)) => options.base_threshold_permille = share.0,
                    Some(Err(what)) => self.document.wrong(&value.span(), format!("'{key}': {what}"), ""),
                    None => {}
                }
            }
            "flows" => {
                let flows = self.document.count(key, value, 1, u32::MAX.into());
                options.flows_max = flows.map_or(options.flows_max, |flows| flows as u32);
            }
            "keep-last" => {
                record.keeps_last = true;
                look_back.before = self.time(key, value, Duration::from_millis(1)).unwrap_or_default();
            }
            "keep-after" => look_back.after = self.time(key, value, Duration::ZERO).unwrap_or(look_back.after),
            "keep-memory" => {
                let bytes = self.document.size(key, value, 1, u64::MAX);
                look_back.memory_bytes = bytes.unwrap_or(look_back.memory_bytes);
            }
            "trigger" => {
                look_back.filters = items(value).iter().filter_map(|item| self.filter(key, item)).collect();
            }
            "trigger-pattern" => look_back.patterns = self.trigger_patterns(key, value),
            "trigger-streams" => look_back.is_of_streams = self.document.boolean(key, value).unwrap_or_default(),
            _ => {
                let kinds = self.document.strings(key, value, "[\"scan\"]");
                for (kind, span) in &kinds {
                    // Analyzers of others have kinds of their own.
                    if kind.starts_with("scan.") && !SCAN_KINDS.contains(&kind.as_str()) {
                        let instead = match nearest(kind, SCAN_KINDS.iter().copied()) {
                            Some(meant) => format!("did you mean \"{meant}\"?"),
                            None => format!("there are: {}", SCAN_KINDS.join(", ")),
                        };
                        self.document.wrong(span, format!("\"{}\" is no kind of events", quoted(kind)), instead);
                    }
                }
                if let Some((_, span)) = kinds.iter().find(|(kind, _)| kind.is_empty()) {
                    self.document.wrong(span, format!("'{key}' has an empty kind"), "as in [\"scan\"]");
                }
                record.trigger_events = kinds.into_iter().map(|(kind, _)| kind).collect();
            }
        }
    }

    fn trigger_patterns(&mut self, key: &str, value: &Value<'_>) -> Vec<Vec<u8>> {
        let mut patterns = Vec::new();
        for (text, span) in self.document.strings(key, value, "\"|de ad be ef|\"") {
            match parse(text.as_bytes(), Syntax::Text) {
                Ok(pattern) => patterns.push(pattern.bytes),
                Err(what) => self.document.wrong(&span, format!("'{key}': {what}"), "written as for tidewire match -e"),
            }
        }
        patterns
    }

    fn record_classes(&mut self, value: &Value<'_>) -> Vec<RecordClass> {
        let read = |this: &mut Self, class: &mut RecordClass, key: &str, value: &Value<'_>| match key {
            "cutoff" => class.cutoff_bytes = this.document.size(key, value, 0, u64::MAX).map(|bytes| [bytes; 2]),
            "snaplen" => class.snap_bytes = this.document.size(key, value, 0, u64::MAX).map(snap_bytes),
            _ => class.priority = this.priority(key, value),
        };
        let classes = self.classes(value, "a recording", RECORD_CLASS, read).into_iter();
        classes.map(|(expression, class)| RecordClass { expression, ..class }).collect()
    }

    /// Refuses an archive that is the sensor's own directory, and a store within an archive.
    pub fn check_directories(&mut self, record: Option<&RecordConfig>, directory: &Path, store: Option<&Path>) {
        for archive in record.iter().flat_map(|record| &record.options.directories) {
            let place = self.places.get("record.directory").cloned();
            if archive == directory {
                let what = "'directory' of [record] is that of [sensor], which has the sockets";
                self.document.wrong_at(place.as_ref(), what, "name another directory");
            }
            if store.is_some_and(|store| store.starts_with(archive)) {
                let place = self.places.get("events.store").cloned().or(place);
                let what = format!("the store of events lies in {}, where packets are recorded", archive.display());
                self.document.wrong_at(place.as_ref(), what, "name another place");
            }
        }
    }

    /// Has the events that are triggers passed on.
    pub fn take_triggers(&mut self, record: Option<&RecordConfig>, events: Option<&mut EventsSettings>) {
        let Some(record) = record.filter(|record| !record.trigger_events.is_empty()) else { return };
        match events {
            Some(events) => events.trigger_kinds.clone_from(&record.trigger_events),
            None => {
                let place = self.places.get("record.trigger-events").cloned();
                let what = "'trigger-events' needs events: [events] has enabled = false";
                self.document.wrong_at(place.as_ref(), what, "leave it out, or write enabled = true");
            }
        }
    }

    /// The recording with what the capture says; `None`: packets are not recorded.
    pub fn completed_record(&mut self, record: Option<Record>, capture: &CaptureConfig) -> Option<RecordConfig> {
        let Record { mut options, look_back, keeps_last, trigger_events } = record?;
        let place = self.places.get("record").cloned();
        options.is_live = matches!(capture.input, CaptureInput::Interfaces(_));
        options.matched.clone_from(&capture.filter);
        options.workers = if options.is_live { u16::try_from(capture.workers).unwrap_or(u16::MAX) } else { 1 };
        if !self.places.contains_key("record.directory") {
            self.document.wrong_at(place.as_ref(), NO_DIRECTORY, format!("write directory = {EXAMPLE}"));
        }
        if keeps_last {
            let has_events = !trigger_events.is_empty();
            if has_events && !options.is_live {
                let place = self.places.get("record.trigger-events").cloned();
                self.document.wrong_at(
                    place.as_ref(),
                    "'trigger-events' needs an interface: files are read at once",
                    "",
                );
            }
            options.look_back = Some(look_back);
        } else if let Some(key) = LOOK_BACK.iter().find(|key| self.places.contains_key(&format!("record.{key}"))) {
            let place = self.places.get(&format!("record.{key}")).cloned();
            let what = format!("'{key}' has no meaning where packets are recorded at once");
            self.document.wrong_at(place.as_ref(), what, "write keep-last = \"5m\", or leave it out");
        }
        if let Err(error) = options.check() {
            // The command's option has another name.
            let key = if error.option == "output" { "directory" } else { error.option };
            let place = self.places.get(&format!("record.{key}")).cloned().or(place);
            self.document.wrong_at(place.as_ref(), format!("'{key}' {}", error.what), "");
        }
        Some(RecordConfig { options, trigger_events })
    }
}
