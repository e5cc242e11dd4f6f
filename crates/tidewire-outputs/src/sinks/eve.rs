//! `eve`: events of Suricata's EVE JSON, in one file or on standard output.

use std::{path::PathBuf, sync::Mutex};
use tidewire_types::Timestamp;

use tidewire_exports::eve::{self, Types};

use super::held::Held;
use crate::{
    error::OutputError,
    files::{Accounts, Frame, LineFiles, current, open_files},
    locking::lock,
    record::Record,
    settings::Settings,
    sink::{Account, Call, Needs, Sink},
    target::OutputDestination,
};

/// The file.
pub struct EveFile {
    files: LineFiles,
    /// Records so far.
    records: Mutex<u64>,
    types: Types,
    held: Held,
    accounts: Accounts,
}

impl EveFile {
    /// Opens the file.
    pub fn open(place: &OutputDestination, settings: &Settings, now_ns: u64) -> Result<Self, OutputError> {
        let files = open_files(place, Frame::Lines, settings, now_ns)?;
        Ok(Self {
            files: LineFiles::new(files, settings),
            records: Mutex::new(0),
            types: settings.eve,
            held: Held::default(),
            accounts: Accounts::default(),
        })
    }

    fn push_record(&self, out: &mut Vec<u8>, record: &Record<'_>) {
        match *record {
            Record::Flow(ended) => {
                eve::push_records(out, ended.flow, ended.anomalies, self.types);
                if !ended.held.is_empty() && self.types.has(Types::ANOMALY) {
                    self.held.push(ended.flow.id, |out| eve::push_anomalies(out, ended.flow, ended.held));
                }
            }
            Record::Release { are_few } => self.held.release(are_few, out),
            Record::Transaction { exchange, .. } => {
                eve::push_transaction(out, exchange, self.types);
            }
            Record::Match(found) if self.types.has(Types::ALERT) => eve::push_alert(out, found),
            Record::Explained { explained, origin } if self.types.has(Types::ANOMALY) => {
                eve::push_explained(out, explained, origin);
            }
            _ => {}
        }
    }
}

impl Sink for EveFile {
    fn needs(&self) -> Needs {
        Needs { content: true, anomalies: true, ..Needs::default() }
    }

    fn write(&self, record: &Record<'_>, call: &mut Call<'_>) {
        let mut lines = std::mem::take(call.scratch);
        // Counters include the records before them, so that they are formatted under the lock.
        let mut counted = None;
        match *record {
            Record::Stats { facts, flows } if self.types.has(Types::STATS) => {
                let records = lock(&self.records);
                let stats = eve::Stats {
                    time: Timestamp::from_nanos(call.now_ns),
                    uptime: facts.uptime,
                    packets: facts.packets,
                    bytes: facts.bytes,
                    dropped: facts.dropped,
                    flows,
                    records: *records,
                };
                eve::push_stats(&mut lines, &stats);
                counted = Some(records);
            }
            _ => self.push_record(&mut lines, record),
        }
        if !lines.is_empty() {
            let mut counted = counted.unwrap_or_else(|| lock(&self.records));
            *counted += current::lines(&lines);
            self.files.push(&self.accounts, &lines, call);
        }
        lines.clear();
        *call.scratch = lines;
    }

    fn flush(&self, call: &mut Call<'_>) {
        self.files.flush(&self.accounts, call);
    }

    fn flush_lines(&self, call: &mut Call<'_>) {
        self.files.flush_lines(&self.accounts, call);
    }

    fn begin_end(&self, now_ns: u64, is_whole: bool) {
        self.files.begin_end(now_ns, is_whole);
    }

    fn finish(&self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        self.files.finish(now_ns, is_whole)
    }

    fn account(&self) -> Account {
        self.files.account()
    }

    fn folder(&self) -> Option<PathBuf> {
        self.files.folder()
    }
}
