//! The analyzers of a capture: made once, with a part for each worker.

use std::sync::Arc;

use crate::{
    anomaly::{Anomaly, Explained},
    emit::{Counts, Emit, Outlet},
    error::AnalyzersError,
    inline::Inline,
    matching::{self, Matching, Set},
    scan::{Scan, Tables},
    settings::{ANALYZERS, Settings},
};

/// The analyzers of a capture.
#[derive(Debug)]
pub struct Analyzers {
    settings: Settings,
    outlets: [Outlet; 3],
    patterns: Option<Arc<Set>>,
    scans: Option<Arc<Tables>>,
    explained: Arc<Explained>,
}

impl Analyzers {
    /// Reads pattern files and makes what the settings enable: before privileges are given up.
    ///
    /// # Errors
    /// [`AnalyzersError`].
    pub fn new(settings: &Settings, to: Arc<dyn Emit>) -> Result<Self, AnalyzersError> {
        let outlets = ANALYZERS.map(|name| Outlet::new(name, Arc::clone(&to)));
        let patterns = if settings.matching.enabled { matching::prepare(&settings.matching)? } else { None };
        let scans = settings.scan.enabled.then(|| Arc::new(Tables::new(&settings.scan, outlets[2].clone())));
        let explained = Arc::new(Explained::new(outlets[0].clone()));
        Ok(Self { settings: settings.clone(), outlets, patterns, scans, explained })
    }

    /// The part of one worker.
    #[must_use]
    pub fn worker(&self) -> Inline {
        let [anomalies, matches, _] = &self.outlets;
        let of_worker = || Anomaly::new(&self.settings.anomaly, anomalies.clone(), Arc::clone(&self.explained));
        let anomaly = self.settings.anomaly.enabled.then(of_worker);
        let set = self.patterns.clone();
        let matching = set.map(|set| Matching::new(&self.settings.matching, set, matches.clone()));
        Inline { anomaly, matching, scan: self.scans.clone().map(Scan::new) }
    }

    /// Whether any analyzer runs.
    #[must_use]
    pub fn is_any_enabled(&self) -> bool {
        self.settings.is_any_enabled()
    }

    /// Bytes of each direction that they look at.
    #[must_use]
    pub fn cutoff_bytes(&self) -> u64 {
        if self.patterns.is_some() { self.settings.matching.cutoff_bytes } else { 0 }
    }

    /// Events of each analyzer so far, in the order of [`ANALYZERS`].
    #[must_use]
    pub fn counts(&self) -> [(&'static str, Counts); 3] {
        std::array::from_fn(|at| (ANALYZERS[at], self.outlets[at].counts()))
    }

    /// Reports scans that have been silent for a window, which workers do by themselves as packets come, and what the point of the
    /// capture explains, where it is due. For a capture that lasts: `now_ns` is the present time, nanoseconds since 1970. May be
    /// called from any thread.
    pub fn look(&self, now_ns: u64) {
        self.explained.look(now_ns);
        if let Some(scans) = &self.scans {
            scans.look(now_ns);
        }
    }

    /// Reports scans that go on, and what all workers counted: the input has ended and every worker is [finished](Inline::finish).
    pub fn finish(&self) {
        self.explained.finish();
        if let Some(scans) = &self.scans {
            scans.finish();
        }
    }
}
