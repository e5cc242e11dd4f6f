//! `[destination.NAME]`

use std::{ops::Range, path::PathBuf, time::Duration};
use tidewire_config::{Entry, Value, quoted};

use tidewire_delivery::{
    CollectorSettings, DestinationSettings, FolderSettings, KafkaSettings, KafkaTls, To, kafka, keys::Places,
};
use tidewire_event_socket::OWN_NAME;
use toml::de::{DeTable, DeValue};

use super::{
    common::{Sections, TIME_MAX},
    inline::SEVERITIES,
};

/// The keys of every destination.
pub const DESTINATION: &[&str] = &["type", "severity", "kinds", "analyzers", "retry"];
/// Those of a collector besides.
pub const COLLECTOR: &[&str] = &["address", "keys", "certificate", "key", "authority", "server-name", "timeout"];
/// Those of a folder.
pub const FOLDER: &[&str] = &["path", "every", "size", "expand"];
/// Those of a Kafka topic.
pub const KAFKA: &[&str] = &[
    "brokers",
    "topic",
    "expand",
    "expand-max",
    "message-size",
    "compression",
    "authority",
    "certificate",
    "key",
    "timeout",
];
/// Types of destinations, with their keys.
const TYPES: [(&str, &[&str]); 3] = [("collector", COLLECTOR), ("folder", FOLDER), ("kafka", KAFKA)];
/// Destinations, at most: each has a thread.
const DESTINATIONS_MAX: usize = 32;
/// Bytes of a folder's file at least: a file a record is no use.
const FILE_BYTES_MIN: u64 = 64 << 10;
/// The longest pause between attempts, by default.
const RETRY: Duration = Duration::from_secs(30);
const MINUTE: Duration = Duration::from_secs(60);

/// All keys of a destination as they were read.
#[derive(Default)]
struct Keys {
    severity: Option<&'static str>,
    kinds: Vec<String>,
    analyzers: Vec<String>,
    retry: Option<Duration>,
    address: Option<String>,
    keys: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    authority: Option<PathBuf>,
    server_name: Option<String>,
    timeout: Option<Duration>,
    path: Option<PathBuf>,
    every: Option<Duration>,
    size: Option<u64>,
    expand: Option<bool>,
    brokers: Vec<String>,
    topic: Option<String>,
    expand_max: Option<i64>,
    message_size: Option<u64>,
    compression: Option<&'static str>,
}

impl Sections<'_, '_> {
    /// Reads the tables below `[destination]`.
    pub fn destinations(&mut self, value: &Value<'_>) -> Vec<DestinationSettings> {
        let named = self.named("destination", value);
        if named.len() > DESTINATIONS_MAX {
            let what = format!("at most {DESTINATIONS_MAX} destinations, got {}", named.len());
            self.document.wrong(&value.span(), what, "");
        }
        named.into_iter().filter_map(|entry| self.destination(entry)).collect()
    }

    /// Reads `[destination.NAME]`; `None` where it has a mistake.
    fn destination(&mut self, (key, value): Entry<'_>) -> Option<DestinationSettings> {
        let name = key.get_ref().as_ref().to_owned();
        let title = format!("destination.{name}");
        let DeValue::Table(table) = value.get_ref() else { return None };
        if name == OWN_NAME {
            let what = format!("[{title}]: this is the name of the sensor's own events");
            self.document.wrong(&key.span(), what, "choose another name");
            return None;
        }
        let kind = self.destination_type(&title, &key.span(), table)?;
        let own = TYPES.iter().find(|(known, _)| *known == kind).map(|(_, keys)| *keys).unwrap_or_default();
        self.keys_of_other_types(&title, kind, own, table);
        let known: Vec<&str> = DESTINATION.iter().chain(own).copied().collect();
        let mut keys = Keys::default();
        // Those of other types are mistakes already.
        let all: Vec<&str> = TYPES.iter().flat_map(|(_, keys)| keys.iter().copied()).chain(known.clone()).collect();
        self.keys(&title, table, &all, |this, key, value| {
            if known.contains(&key) {
                this.destination_key(key, value, &mut keys);
            }
        });
        let to = match kind {
            "collector" => self.collector(&title, &key.span(), &mut keys)?,
            "folder" => self.folder(&title, &key.span(), &mut keys)?,
            _ => self.kafka(&title, &key.span(), &mut keys)?,
        };
        Some(DestinationSettings {
            name,
            severity: keys.severity.unwrap_or("info").into(),
            kinds: keys.kinds,
            analyzers: keys.analyzers,
            retry_max: keys.retry.unwrap_or(RETRY),
            to,
        })
    }

    fn destination_type(&mut self, title: &str, span: &Range<usize>, table: &DeTable<'_>) -> Option<&'static str> {
        let words = TYPES.map(|(kind, _)| (kind, kind));
        match table.iter().find(|(key, _)| key.get_ref() == "type") {
            Some((_, value)) => self.document.choice("type", value, &words),
            None => {
                let all: Vec<String> = TYPES.iter().map(|(kind, _)| format!("type = \"{kind}\"")).collect();
                self.document.wrong(span, format!("[{title}] has no 'type'"), format!("write {}", all.join(" or ")));
                None
            }
        }
    }

    fn keys_of_other_types(&mut self, title: &str, kind: &str, own: &[&str], table: &DeTable<'_>) {
        for (key, _) in table.iter() {
            let name = key.get_ref().as_ref();
            let other = TYPES.iter().find(|(_, keys)| keys.contains(&name)).filter(|_| !own.contains(&name));
            if let Some((other, _)) = other {
                let what = format!("[{title}] is a {kind}, and '{name}' is a key of a {other}");
                self.document.wrong(&key.span(), what, format!("leave it out, or write type = \"{other}\""));
            }
        }
    }

    fn destination_key(&mut self, key: &str, value: &Value<'_>, keys: &mut Keys) {
        match key {
            "type" => {}
            "severity" => {
                let words = SEVERITIES.map(|(name, _)| (name, name));
                keys.severity = self.document.choice(key, value, &words);
            }
            "kinds" => {
                let named = self.document.strings(key, value, "[\"scan.*\"]");
                keys.kinds = named.into_iter().filter_map(|(name, span)| self.kind_pattern(name, &span)).collect();
            }
            "analyzers" => keys.analyzers = self.event_names("an analyzer", key, value, "[\"scan\"]"),
            "retry" => keys.retry = self.time_within(key, value, Duration::from_millis(100), TIME_MAX),
            "address" => keys.address = self.address(key, value),
            "keys" => keys.keys = self.readable_file(key, value, "\"/etc/tidewire/sensor.keys\""),
            "certificate" => keys.certificate = self.readable_file(key, value, "\"/etc/tidewire/sensor.crt\""),
            "key" => keys.key = self.readable_file(key, value, "\"/etc/tidewire/sensor.key\""),
            "authority" => keys.authority = self.readable_file(key, value, "\"/etc/tidewire/authority.crt\""),
            "server-name" => keys.server_name = self.document.string(key, value, "\"collector.example.org\""),
            "timeout" => keys.timeout = self.time_within(key, value, Duration::from_secs(1), TIME_MAX),
            "path" => keys.path = self.absolute(key, value, "\"/var/spool/tidewire\""),
            "every" => keys.every = self.time_within(key, value, Duration::from_secs(1), TIME_MAX),
            "size" => keys.size = self.document.size(key, value, FILE_BYTES_MIN, 1 << 40),
            "expand" => keys.expand = self.document.boolean(key, value),
            _ => self.kafka_key(key, value, keys),
        }
    }

    fn kafka_key(&mut self, key: &str, value: &Value<'_>, keys: &mut Keys) {
        match key {
            "brokers" => {
                let named = self.document.strings(key, value, "[\"kafka.example.org:9092\"]");
                keys.brokers = named.into_iter().map(|(broker, _)| broker.to_owned()).collect();
            }
            "topic" => keys.topic = self.document.string(key, value, "\"tidewire.events\""),
            "expand-max" => keys.expand_max = self.document.whole(key, value, 1, 1 << 20),
            "message-size" => {
                let (from, to) = (kafka::MESSAGE_BYTES_MIN, kafka::MESSAGE_BYTES_MAX);
                keys.message_size = self.document.size(key, value, from.into(), to.into());
            }
            _ => {
                let words = kafka::COMPRESSIONS.map(|name| (name, name));
                keys.compression = self.document.choice(key, value, &words);
            }
        }
    }

    fn event_names(&mut self, of: &str, key: &str, value: &Value<'_>, example: &str) -> Vec<String> {
        let named = self.document.strings(key, value, example);
        named.into_iter().filter_map(|(name, span)| self.event_name(of, name, &span)).collect()
    }

    /// A kind, or the beginning of kinds.
    fn kind_pattern(&mut self, name: String, span: &Range<usize>) -> Option<String> {
        if tidewire_events::is_name_pattern(&name) {
            return Some(name);
        }
        let instead = "write a kind, or the beginning of kinds and a *, as in \"scan.*\"";
        self.document.wrong(span, format!("'{}' chooses no kinds", quoted(&name)), instead);
        None
    }

    /// Host and port.
    fn address(&mut self, key: &str, value: &Value<'_>) -> Option<String> {
        let text = self.document.string(key, value, "\"collector.example.org:9610\"")?;
        let is_one = text.rsplit_once(':').is_some_and(|(host, port)| {
            let is_host = !host.is_empty() && (!host.contains(':') || host.starts_with('[') && host.ends_with(']'));
            is_host && port.parse::<u16>().is_ok_and(|port| port != 0)
        });
        if is_one {
            return Some(text);
        }
        let what = format!("\"{}\" is no address of a collector", quoted(&text));
        self.document.wrong(&value.span(), what, "write HOST:PORT, as in \"collector.example.org:9610\"");
        None
    }

    fn collector(&mut self, title: &str, span: &Range<usize>, keys: &mut Keys) -> Option<To> {
        let has = |key: &str| self.places.contains_key(&format!("{title}.{key}"));
        let singly = [has("certificate"), has("key"), has("authority")];
        let (is_whole, has_address) = (has("keys") || singly == [true; 3], has("address"));
        if !has_address {
            let instead = "as in address = \"collector.example.org:9610\"";
            self.document.wrong(span, format!("[{title}] has no 'address'"), instead);
        }
        if !is_whole {
            let what = format!("[{title}] does not say who the sensor is to the collector");
            let instead =
                "write keys = \"FILE\" (tidewire keys sensor makes it), or 'certificate', 'key' and 'authority'";
            self.document.wrong(span, what, instead);
        }
        let files = [&keys.keys, &keys.certificate, &keys.key, &keys.authority];
        // An unreadable file is reported as a mistake already.
        let are_readable = files.into_iter().flatten().all(|file| self.system.file(file).is_ok());
        if is_whole && are_readable {
            let looked = self.system.keys(&Places {
                keys: keys.keys.clone(),
                certificate: keys.certificate.clone(),
                key: keys.key.clone(),
                authority: keys.authority.clone(),
            });
            let place = ["keys", "certificate"].iter().find_map(|key| self.places.get(&format!("{title}.{key}")));
            self.doubt(place.cloned().as_ref(), looked, "write the file that tidewire keys sensor NAME makes");
        }
        Some(To::Collector(CollectorSettings {
            address: keys.address.take()?,
            keys: keys.keys.take(),
            certificate: keys.certificate.take(),
            key: keys.key.take(),
            authority: keys.authority.take(),
            server_name: keys.server_name.take(),
            timeout: keys.timeout.unwrap_or(MINUTE),
        }))
    }

    fn folder(&mut self, title: &str, span: &Range<usize>, keys: &mut Keys) -> Option<To> {
        if !self.places.contains_key(&format!("{title}.path")) {
            let what = format!("[{title}] has no 'path'");
            self.document.wrong(span, what, "as in path = \"/var/spool/tidewire\", a folder that exists");
        }
        if let (Some(path), Some(place)) = (&keys.path, self.places.get(&format!("{title}.path")).cloned()) {
            let looked = self.system.folder(path);
            self.doubt(Some(&place), looked, "write a folder that exists and that the sensor's user may write to");
        }
        Some(To::Folder(FolderSettings {
            path: keys.path.take()?,
            every: keys.every.unwrap_or(MINUTE),
            bytes: keys.size.unwrap_or(64 << 20),
            expand: keys.expand.unwrap_or(true),
        }))
    }

    fn kafka(&mut self, title: &str, span: &Range<usize>, keys: &mut Keys) -> Option<To> {
        let usual = KafkaSettings::default();
        let (certificate, key) = (keys.certificate.take(), keys.key.take());
        let tls = keys.authority.take().map(|authority| KafkaTls {
            authority,
            certificate: certificate.clone(),
            key: key.clone(),
        });
        if tls.is_none() && (certificate.is_some() || key.is_some()) {
            let what = format!("[{title}] has a certificate, and no 'authority' to know the brokers by");
            self.document.wrong(span, what, "write authority = \"FILE\" for TLS");
        }
        let settings = KafkaSettings {
            brokers: std::mem::take(&mut keys.brokers),
            topic: keys.topic.take().unwrap_or(usual.topic),
            expand: keys.expand.unwrap_or(usual.expand),
            expand_max: keys.expand_max.map_or(usual.expand_max, i64::cast_unsigned),
            message_bytes: keys.message_size.and_then(|size| u32::try_from(size).ok()).unwrap_or(usual.message_bytes),
            compression: keys.compression.map_or(usual.compression, str::to_owned),
            tls,
            timeout: keys.timeout.unwrap_or(usual.timeout),
        };
        if let Err(what) = settings.check() {
            self.document.wrong(span, format!("[{title}]: {what}"), "");
            return None;
        }
        Some(To::Kafka(settings))
    }
}
