//! Settings of a topic, and which of them this build can do.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

/// Remedy for a build without Kafka.
pub(super) const WITHOUT: &str = "this build has no Kafka: build with `--features kafka` (librdkafka is built with it: make and a C++ \
     compiler; scripts/setup.sh kafka installs them)";
/// Remedy for a build without TLS to brokers.
const WITHOUT_TLS: &str =
    "this build has no TLS to Kafka's brokers: build with `--features kafka-tls` (needs OpenSSL's headers)";
/// Bytes of a message at least: the longest event as JSON has less.
pub const MESSAGE_BYTES_MIN: u32 = 512 << 10;
/// And at most.
pub const MESSAGE_BYTES_MAX: u32 = 64 << 20;
/// Bytes of a topic's name, as brokers have it.
const TOPIC_BYTES_MAX: usize = 249;
/// Methods of compression that brokers know and this build has.
pub const COMPRESSIONS: [&str; 4] = ["zstd", "lz4", "snappy", "none"];

/// A topic of a Kafka cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KafkaSettings {
    /// Brokers, `HOST:PORT` each. One that answers is enough: the others are learned from it.
    pub brokers: Vec<String>,
    /// The topic. It has to exist, unless brokers make topics by themselves. Default `tidewire.events`.
    #[serde(default = "events")]
    pub topic: String,
    /// Whether each event is a message; otherwise each record is one, with the number of its events, its first event and what
    /// varied. Default `true`.
    #[serde(default = "yes")]
    pub expand: bool,
    /// A record with more events than this is one message in any case: a flood does not fill the topic. Default 1,000.
    #[serde(default = "thousand")]
    pub expand_max: u64,
    /// Bytes of a message, at most: no more than `max.message.bytes` of the topic. Default 1,000,000, less than brokers' default.
    #[serde(default = "million")]
    pub message_bytes: u32,
    /// `zstd` (the default), `lz4`, `snappy` or `none`.
    #[serde(default = "zstd")]
    pub compression: String,
    /// TLS to the brokers; `None`: in the clear.
    #[serde(default)]
    pub tls: Option<KafkaTls>,
    /// After so long without an acknowledgment the producer is closed, and opened again after a pause. Default 30 s.
    #[serde(default = "half_a_minute")]
    pub timeout: Duration,
}

/// Certificates for TLS to brokers, as PEM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KafkaTls {
    /// Certificates of the authorities that the brokers' may be from.
    pub authority: PathBuf,
    /// The sensor's certificate and its key, where brokers ask for one.
    pub certificate: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
}

fn events() -> String {
    "tidewire.events".into()
}

fn yes() -> bool {
    true
}

fn thousand() -> u64 {
    1000
}

fn million() -> u32 {
    1_000_000
}

fn zstd() -> String {
    "zstd".into()
}

fn half_a_minute() -> Duration {
    Duration::from_secs(30)
}

impl Default for KafkaSettings {
    /// No broker, and the defaults of everything else.
    fn default() -> Self {
        Self {
            brokers: Vec::new(),
            topic: events(),
            expand: true,
            expand_max: thousand(),
            message_bytes: million(),
            compression: zstd(),
            tls: None,
            timeout: half_a_minute(),
        }
    }
}

impl KafkaSettings {
    /// The first mistake, in words: what is wrong, and what is possible.
    ///
    /// # Errors
    /// There is one, or this build cannot do it.
    pub fn check(&self) -> Result<(), String> {
        self.check_values()?;
        if !cfg!(feature = "kafka") {
            return Err(WITHOUT.into());
        }
        let Some(tls) = &self.tls else { return Ok(()) };
        if tls.certificate.is_some() != tls.key.is_some() {
            return Err("a certificate for Kafka's brokers needs its key, and a key its certificate".into());
        }
        if cfg!(feature = "kafka-tls") { Ok(()) } else { Err(WITHOUT_TLS.into()) }
    }

    fn check_values(&self) -> Result<(), String> {
        if self.brokers.is_empty() {
            return Err("no broker is named: at least one HOST:PORT is needed".into());
        }
        if let Some(broker) = self.brokers.iter().find(|broker| !is_address(broker)) {
            return Err(format!("'{}' is no broker: HOST:PORT is needed", broker.escape_debug()));
        }
        let may = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_name = (1..=TOPIC_BYTES_MAX).contains(&self.topic.len()) && self.topic.bytes().all(may);
        if !is_name || self.topic == "." || self.topic == ".." {
            let topic = self.topic.escape_debug();
            return Err(format!("'{topic}' is no topic: 1 to {TOPIC_BYTES_MAX} letters, digits, '.', '_' and '-'"));
        }
        if !(MESSAGE_BYTES_MIN..=MESSAGE_BYTES_MAX).contains(&self.message_bytes) {
            let got = self.message_bytes;
            return Err(format!("a message has {MESSAGE_BYTES_MIN} to {MESSAGE_BYTES_MAX} bytes at most, got {got}"));
        }
        if !COMPRESSIONS.contains(&self.compression.as_str()) {
            let (got, known) = (self.compression.escape_debug(), COMPRESSIONS.join(", "));
            return Err(format!("'{got}' is no compression: {known}"));
        }
        Ok(())
    }
}

/// `HOST:PORT`, without what librdkafka would read as several, or as a protocol.
fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_v6 = host.starts_with('[') && host.ends_with(']');
    let may = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte) || is_v6 && b"[]:".contains(&byte);
    !host.is_empty() && host.bytes().all(may) && port.parse::<u16>().is_ok_and(|port| port != 0)
}
