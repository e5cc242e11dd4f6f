//! Settings: what is on, thresholds, bounds.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use tidewire_events::{Severity, limits::EXCERPT_BYTES_MAX};

/// Names of the analyzers, as events and configurations have them.
pub const ANALYZERS: [&str; 3] = ["anomaly", "match", "scan"];

/// Analyzers of a capture. Each is on by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Events of what the engine flags.
    pub anomaly: AnomalySettings,
    /// Patterns in streams.
    #[serde(rename = "match")]
    pub matching: MatchSettings,
    /// Scans, sweeps and floods.
    pub scan: ScanSettings,
}

/// Settings of `anomaly`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnomalySettings {
    /// Whether it runs.
    pub enabled: bool,
    /// Kinds below this severity are no events. Default `low`: what ordinary hosts do all the time (keep-alive probes, urgent
    /// bytes) is `info`.
    #[serde(with = "severity")]
    pub severity: Severity,
}

/// Settings of `match`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MatchSettings {
    /// Whether it runs.
    pub enabled: bool,
    /// Whether the built-in patterns are searched for.
    pub builtin: bool,
    /// Files of patterns, in the format of `tidewire match -f`.
    pub files: Vec<PathBuf>,
    /// Bytes of each direction that are searched. Default 65,536: requests and the beginnings of responses.
    pub cutoff_bytes: u64,
    /// Bytes before and behind a match in the excerpt, each; at most 1,024. Default 32.
    pub excerpt_bytes: u32,
    /// Matches of one stream that become events; the search of that stream ends with the last one. Default 16.
    pub stream_events: u32,
}

/// Settings of `scan`. A *failed* connection is one that its client began and did not complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScanSettings {
    /// Whether it runs.
    pub enabled: bool,
    /// Time in which a threshold must be reached, and silence after which a scan is over. Default 5 minutes, as Zeek's
    /// `scan.zeek` has it.
    pub window: Duration,
    /// Hosts on one port, to which one source has failed TCP connections. Default 25 (Zeek's `addr_scan_threshold`).
    pub hosts: u32,
    /// Ports of one host, to which one source has failed TCP connections. Default 15 (Zeek's `port_scan_threshold`).
    pub ports: u32,
    /// Hosts on one UDP port that did not answer one source. Default 100: ordinary peers are often silent.
    pub udp_hosts: u32,
    /// UDP ports of one host that did not answer one source. Default 200: more than traceroute uses.
    pub udp_ports: u32,
    /// Hosts that did not answer one source's echo requests. Default 25.
    pub icmp_hosts: u32,
    /// Half-open connections to one service. Default 1,000: less than fills the queue of a Linux host (4,096).
    pub half_open: u32,
    /// Time in which `half_open` must be reached. Default 60 s: Linux keeps a half-open connection for 63 s.
    pub half_open_window: Duration,
    /// Entries of each of the three tables: by source and port, by source and host, by service. Default 16,384, which take at
    /// most 6 MiB each.
    pub entries: u32,
}

impl Default for AnomalySettings {
    fn default() -> Self {
        Self { enabled: true, severity: Severity::Low }
    }
}

impl Default for MatchSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            builtin: true,
            files: Vec::new(),
            cutoff_bytes: 64 << 10,
            excerpt_bytes: 32,
            stream_events: 16,
        }
    }
}

impl Default for ScanSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            window: Duration::from_secs(300),
            hosts: 25,
            ports: 15,
            udp_hosts: 100,
            udp_ports: 200,
            icmp_hosts: 25,
            half_open: 1000,
            half_open_window: Duration::from_secs(60),
            entries: 16_384,
        }
    }
}

/// A setting that is out of range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The analyzer and the setting, as in `scan.hosts`.
    pub key: &'static str,
    /// The valid values.
    pub text: String,
}

impl Settings {
    /// Whether any analyzer runs.
    #[must_use]
    pub fn is_any_enabled(&self) -> bool {
        self.anomaly.enabled || self.matching.enabled || self.scan.enabled
    }

    /// Every analyzer off.
    #[must_use]
    pub fn off() -> Self {
        let mut settings = Self::default();
        (settings.anomaly.enabled, settings.matching.enabled, settings.scan.enabled) = (false, false, false);
        settings
    }

    /// Settings that are out of range.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let (matching, scan) = (&self.matching, &self.scan);
        let mut problems = Vec::new();
        let mut within = |key, given: u64, least: u64, most: u64| {
            if !(least..=most).contains(&given) {
                problems.push(Problem { key, text: format!("expected {least} to {most}, got {given}") });
            }
        };
        within("match.excerpt_bytes", matching.excerpt_bytes.into(), 0, EXCERPT_BYTES_MAX as u64 / 4);
        within("match.stream_events", matching.stream_events.into(), 1, 1 << 20);
        within("scan.hosts", scan.hosts.into(), 2, u32::MAX.into());
        within("scan.ports", scan.ports.into(), 2, 65_536);
        within("scan.udp_hosts", scan.udp_hosts.into(), 2, u32::MAX.into());
        within("scan.udp_ports", scan.udp_ports.into(), 2, 65_536);
        within("scan.icmp_hosts", scan.icmp_hosts.into(), 2, u32::MAX.into());
        within("scan.half_open", scan.half_open.into(), 2, u32::MAX.into());
        within("scan.window", scan.window.as_secs(), 1, 86_400);
        within("scan.half_open_window", scan.half_open_window.as_secs(), 1, 86_400);
        within("scan.entries", scan.entries.into(), 256, 1 << 20);
        problems
    }
}

/// Severities by name.
mod severity {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};
    use tidewire_events::Severity;

    pub(super) fn serialize<S: Serializer>(severity: &Severity, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(severity.name())
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Severity, D::Error> {
        let name = std::borrow::Cow::<'d, str>::deserialize(from)?;
        let expected = || Severity::ALL.map(Severity::name).join(", ");
        Severity::by_name(&name)
            .ok_or_else(|| D::Error::custom(format_args!("unknown severity '{name}': expected one of {}", expected())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_pass_through_json() {
        let mut settings = Settings::default();
        settings.anomaly.severity = Severity::High;
        settings.matching.files.push("patterns.txt".into());
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings);
        assert_eq!(serde_json::from_str::<Settings>("{}").unwrap(), Settings::default());
        let wrong = serde_json::from_str::<Settings>(r#"{"anomaly": {"severity": "worst"}}"#).unwrap_err().to_string();
        assert!(wrong.contains("unknown severity 'worst': expected one of info, low"), "{wrong}");
        assert!(serde_json::from_str::<Settings>(r#"{"scans": {}}"#).is_err());
    }

    #[test]
    fn settings_out_of_range_are_named() {
        assert_eq!(Settings::default().problems(), []);
        let mut settings = Settings::default();
        settings.scan.hosts = 1;
        settings.matching.excerpt_bytes = 5000;
        let keys: Vec<_> = settings.problems().into_iter().map(|problem| problem.key).collect();
        assert_eq!(keys, ["match.excerpt_bytes", "scan.hosts"]);
        assert!(!Settings::off().is_any_enabled());
    }
}
