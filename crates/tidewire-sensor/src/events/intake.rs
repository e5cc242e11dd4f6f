//! Where what is received is folded, until it is cut into records.

use std::{collections::BTreeMap, time::Instant};

use tidewire_event_socket::Received;
use tidewire_event_store::{Error, Store};
use tidewire_events::{Counts, Event, Folder, FolderSettings, Output, Severity};

/// Events that were received, folded.
pub(super) struct Intake {
    folder: Folder,
    /// Events that the folder had received before, in a state that it continues.
    events_before: u64,
    begun: Instant,
    /// Nanoseconds since then.
    now_ns: u64,
    out: Output,
    out_bytes: usize,
    /// Since when something waits to be stored.
    since: Option<Instant>,
    /// How far destinations are, as was said since the last cut.
    delivered: BTreeMap<String, u64>,
    registered: Option<Vec<String>>,
    /// From which severity on records are for them, as was said since the last cut.
    severities: BTreeMap<String, Severity>,
}

/// Records and positions that are stored together.
#[derive(Default)]
pub(super) struct Cut {
    pub out: Output,
    pub delivered: Vec<(String, u64)>,
    pub registered: Option<Vec<String>>,
    pub severities: Vec<(String, Severity)>,
    pub state: Option<Vec<u8>>,
}

/// States of more bytes than these are not stored: folds then begin again after a crash.
const STATE_BYTES_MAX: usize = 4 << 20;

impl Intake {
    /// Continues where the store is; folds are hashed under `key`. Also says why, if folds cannot be continued.
    pub(super) fn new(
        settings: FolderSettings,
        key: [u64; 2],
        store: &Store,
        continues: bool,
    ) -> Result<(Self, Option<String>), Error> {
        let numbers = store.next_numbers()?;
        let (mut why, mut folder) = (None, None);
        if continues && let Some(state) = store.state()?.filter(|state| !state.is_empty()) {
            match Folder::with_state(settings.clone(), key, 0, &state) {
                Ok(with_state) => folder = Some(with_state),
                Err(error) => why = Some(error.to_string()),
            }
        }
        let mut folder = folder.unwrap_or_else(|| Folder::new(settings, key, 0, 0));
        // The state is stored less often than records.
        folder.skip_to(numbers);
        let intake = Self {
            events_before: folder.counts().events,
            folder,
            begun: Instant::now(),
            now_ns: 0,
            out: Output::default(),
            out_bytes: 0,
            since: None,
            delivered: BTreeMap::new(),
            registered: None,
            severities: BTreeMap::new(),
        };
        Ok((intake, why))
    }

    /// Looks at the clock: what is received from now on is received now.
    pub(super) fn look_at_clock(&mut self) {
        self.now_ns = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    }

    fn note(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// Takes what was received.
    pub(super) fn take(&mut self, received: &Received<'_>) {
        match received {
            Received::Event(message) => {
                let before = self.out.records.len();
                // It was checked when it was received.
                let _ = self.folder.push(self.now_ns, message, &mut self.out);
                self.weigh(before);
            }
            Received::Destinations(names) => self.registered = Some(names.to_vec()),
            Received::Severity { destination, severity } => {
                self.severities.insert((*destination).to_owned(), *severity);
            }
            Received::Delivered { destination, id } => {
                let known = self.delivered.entry((*destination).to_owned()).or_default();
                *known = (*known).max(*id);
            }
            _ => return,
        }
        self.note();
    }

    /// Adds an event of our own.
    pub(super) fn add(&mut self, event: &Event) {
        let before = self.out.records.len();
        // It keeps within the limits.
        let _ = self.folder.push_event(self.now_ns, event, &mut self.out);
        self.weigh(before);
        self.note();
    }

    fn weigh(&mut self, before: usize) {
        let new = self.out.records.get(before..).unwrap_or_default();
        self.out_bytes += new.iter().map(|record| record.bytes().len()).sum::<usize>();
    }

    /// Closes folds that are old enough.
    pub(super) fn tick(&mut self) {
        let before = self.out.records.len();
        if self.folder.next_deadline_ns().is_some_and(|deadline| deadline <= self.now_ns) {
            // Messages were checked.
            let _ = self.folder.tick(self.now_ns, &mut self.out);
            self.weigh(before);
            if !self.out.records.is_empty() || !self.out.closed.is_empty() {
                self.note();
            }
        }
    }

    /// Since when something waits.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }

    /// Records and bytes that wait, about.
    pub(super) fn waiting(&self) -> (usize, usize) {
        (self.out.records.len() + self.folder.pending(), self.out_bytes)
    }

    /// Cuts what waits into records.
    pub(super) fn cut(&mut self, with_state: bool) -> Cut {
        let mut cut = Cut::default();
        // Messages were checked.
        if with_state {
            let state = self.folder.state(self.now_ns, &mut self.out);
            cut.state = Some(state.ok().filter(|state| state.len() <= STATE_BYTES_MAX).unwrap_or_default());
        } else {
            let _ = self.folder.cut(&mut self.out);
        }
        cut.out = std::mem::take(&mut self.out);
        cut.delivered = std::mem::take(&mut self.delivered).into_iter().collect();
        cut.registered = self.registered.take();
        cut.severities = std::mem::take(&mut self.severities).into_iter().collect();
        (self.out_bytes, self.since) = (0, None);
        cut
    }

    pub(super) fn counts(&self) -> Counts {
        self.folder.counts()
    }

    /// Events that were received, our own among them.
    pub(super) fn events(&self) -> u64 {
        self.folder.counts().events.saturating_sub(self.events_before)
    }

    /// Open folds, and the bytes that they take.
    pub(super) fn open(&self) -> (usize, usize) {
        (self.folder.open(), self.folder.charged_bytes())
    }
}

impl Intake {
    /// The first event number and the first fold that were not given yet.
    pub(super) fn next_numbers(&self) -> (u64, u64) {
        self.folder.next_numbers()
    }
}
