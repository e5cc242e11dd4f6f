//! When counters of a capture are written while it lasts.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// EVE's `stats`: Suricata's default interval.
const EVE_STATS: Duration = Duration::from_secs(8);

/// IPFIX's statistics: as often as templates are sent over UDP.
const IPFIX_STATISTICS: Duration = Duration::from_secs(60);

/// The periods of a capture: how many of each ended.
#[derive(Debug, Default)]
pub struct Periods {
    eve_stats: AtomicU64,
    ipfix_statistics: AtomicU64,
}

impl Periods {
    /// Whether EVE's records and IPFIX's are due. `elapsed`: since the capture began. A period without a call is left out.
    pub fn ended(&self, elapsed: Duration) -> [bool; 2] {
        [(&self.eve_stats, EVE_STATS), (&self.ipfix_statistics, IPFIX_STATISTICS)].map(|(ended, period)| {
            let count = elapsed.as_secs() / period.as_secs();
            ended.fetch_max(count, Ordering::Relaxed) < count
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tidewire::Ledger;
    use tidewire_exports::table;

    use super::*;
    use crate::{Exports, Facts, Settings, Source};

    #[test]
    fn a_period_ends_once() {
        let periods = Periods::default();
        let seconds = [0, 7, 8, 9, 15, 33, 34, 39, 40, 59, 60, 63];
        let ended = seconds.map(|second| (second, periods.ended(Duration::from_secs(second))));
        let of = |index: usize| ended.iter().filter(move |(_, ended)| ended[index]).map(|(second, _)| *second);
        assert_eq!(of(0).collect::<Vec<_>>(), [8, 33, 40, 59]);
        assert_eq!(of(1).collect::<Vec<_>>(), [60]);
    }

    /// Counters are in the outputs before the capture ends, not only behind it.
    #[test]
    fn counters_are_written_while_a_capture_lasts() {
        let folder = tempfile::tempdir().unwrap();
        let target = |format: &str, name: &str| format!("{format}:{}", folder.path().join(name).display());
        let targets = [target("eve", "eve.json"), target("ipfix", "a.ipfix")].map(|text| text.parse().unwrap());
        let settings = Settings {
            source: Source { is_live: true, ..Source::default() },
            tables: &[table::FLOWS],
            ..Settings::default()
        };
        let exports = Exports::open(&targets, settings).unwrap();
        for second in 0..130 {
            exports.report_counters(Duration::from_secs(second), None, || (Ledger::default(), Some(second)));
        }
        exports.finish(&Facts { uptime: 130, dropped: Some(130), ..Facts::default() }, true).unwrap();
        let text = fs::read_to_string(folder.path().join("eve.json")).unwrap();
        assert_eq!(text.lines().count(), 130 / 8 + 1);
        assert!(text.lines().next().unwrap().contains(r#""uptime":8"#), "{text}");
        assert!(text.lines().next().unwrap().contains(r#""kernel_drops":8"#), "{text}");
        // Templates and three records, of which two came before the end.
        let bytes = fs::read(folder.path().join("a.ipfix")).unwrap();
        let dropped = |count: u64| bytes.windows(8).filter(|bytes| **bytes == count.to_be_bytes()).count();
        assert_eq!([60, 120, 130].map(dropped), [1, 1, 1]);
    }
}
