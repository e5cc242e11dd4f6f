//! `[inline.anomaly]`, `[inline.match]` and `[inline.scan]`: analyzers within the capture.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tidewire_config::Value;

use tidewire_analyzers::{AnomalySettings, MatchSettings, ScanSettings, Settings};
use tidewire_events::{Severity, limits::EXCERPT_BYTES_MAX};

use super::common::{Sections, TIME_MAX, quoted_lines};

/// The keys of each table.
const INLINE: &[&str] = &["anomaly", "match", "scan"];
pub const ANOMALY: &[&str] = &["enabled", "severity"];
pub const MATCH: &[&str] = &["enabled", "builtin", "files", "cutoff", "excerpt", "stream-events"];
pub const SCAN: &[&str] = &[
    "enabled",
    "window",
    "hosts",
    "ports",
    "udp-hosts",
    "udp-ports",
    "icmp-hosts",
    "half-open",
    "half-open-window",
    "entries",
];
/// Thresholds that are hosts or connections; ports are fewer.
const COUNT_MAX: i64 = u32::MAX as i64;
const PORTS_MAX: i64 = 65_536;

/// Severities by name.
pub const SEVERITIES: [(&str, Severity); 5] = [
    ("info", Severity::Info),
    ("low", Severity::Low),
    ("medium", Severity::Medium),
    ("high", Severity::High),
    ("critical", Severity::Critical),
];

impl Sections<'_, '_> {
    /// Reads `[inline]`.
    pub fn inline(&mut self, value: &Value<'_>) -> Settings {
        let mut settings = Settings::default();
        let Some(table) = self.document.table(value, "inline", "write [inline.scan]") else { return settings };
        self.keys("inline", table, INLINE, |this, key, value| match key {
            "anomaly" => this.anomaly(value, &mut settings.anomaly),
            "match" => this.matching(value, &mut settings.matching),
            _ => this.scan(value, &mut settings.scan),
        });
        settings
    }

    fn anomaly(&mut self, value: &Value<'_>, settings: &mut AnomalySettings) {
        let Some(table) = self.document.table(value, "anomaly", "write [inline.anomaly]") else { return };
        self.keys("inline.anomaly", table, ANOMALY, |this, key, value| match key {
            "enabled" => set(&mut settings.enabled, this.document.boolean(key, value)),
            _ => set(&mut settings.severity, this.document.choice(key, value, &SEVERITIES)),
        });
    }

    fn matching(&mut self, value: &Value<'_>, settings: &mut MatchSettings) {
        let Some(table) = self.document.table(value, "match", "write [inline.match]") else { return };
        self.keys("inline.match", table, MATCH, |this, key, value| match key {
            "enabled" => set(&mut settings.enabled, this.document.boolean(key, value)),
            "builtin" => set(&mut settings.builtin, this.document.boolean(key, value)),
            "files" => settings.files = this.pattern_files(key, value),
            "cutoff" => set(&mut settings.cutoff_bytes, this.document.size(key, value, 0, u64::MAX)),
            "excerpt" => {
                let bytes = this.document.size(key, value, 0, EXCERPT_BYTES_MAX as u64 / 4);
                set(&mut settings.excerpt_bytes, bytes.map(|bytes| bytes as u32));
            }
            _ => set(&mut settings.stream_events, this.number(key, value, 1, 1 << 20)),
        });
    }

    fn pattern_files(&mut self, key: &str, value: &Value<'_>) -> Vec<PathBuf> {
        let named = self.document.strings(key, value, "[\"/etc/tidewire/patterns.txt\"]");
        for (name, span) in &named {
            if let Err(message) = self.system.patterns(Path::new(name)) {
                self.document.wrong(span, quoted_lines(&message), "docs/events.md has the form of pattern files");
            }
        }
        named.into_iter().map(|(name, _)| name.into()).collect()
    }

    fn scan(&mut self, value: &Value<'_>, settings: &mut ScanSettings) {
        let Some(table) = self.document.table(value, "scan", "write [inline.scan]") else { return };
        self.keys("inline.scan", table, SCAN, |this, key, value| match key {
            "enabled" => set(&mut settings.enabled, this.document.boolean(key, value)),
            "window" => set(&mut settings.window, this.seconds(key, value)),
            "hosts" => set(&mut settings.hosts, this.number(key, value, 2, COUNT_MAX)),
            "ports" => set(&mut settings.ports, this.number(key, value, 2, PORTS_MAX)),
            "udp-hosts" => set(&mut settings.udp_hosts, this.number(key, value, 2, COUNT_MAX)),
            "udp-ports" => set(&mut settings.udp_ports, this.number(key, value, 2, PORTS_MAX)),
            "icmp-hosts" => set(&mut settings.icmp_hosts, this.number(key, value, 2, COUNT_MAX)),
            "half-open" => set(&mut settings.half_open, this.number(key, value, 2, COUNT_MAX)),
            "half-open-window" => set(&mut settings.half_open_window, this.seconds(key, value)),
            _ => set(&mut settings.entries, this.number(key, value, 256, 1 << 20)),
        });
    }

    fn number(&mut self, key: &str, value: &Value<'_>, from: i64, to: i64) -> Option<u32> {
        self.document.whole(key, value, from, to).and_then(|number| u32::try_from(number).ok())
    }

    fn seconds(&mut self, key: &str, value: &Value<'_>) -> Option<Duration> {
        self.time_within(key, value, Duration::from_secs(1), TIME_MAX)
    }
}

/// Keeps what was there where the value is wrong.
fn set<T>(to: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *to = value;
    }
}
