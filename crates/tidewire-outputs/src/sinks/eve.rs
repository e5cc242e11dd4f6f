//! `eve`: events of Suricata's EVE JSON, in one file or on standard output.

use std::{path::PathBuf, sync::Mutex};

use tidewire_exports::eve::{self, Types};

use super::held::Held;
use crate::{
    error::OutputError,
    files::{Accounts, Files, Frame, current, lock, open_files},
    record::Record,
    settings::Settings,
    sink::{Account, Call, Needs, Sink},
    target::OutputDestination,
};

/// The file.
pub struct EveFile {
    written: Mutex<Written>,
    types: Types,
    held: Held,
    accounts: Accounts,
}

struct Written {
    files: Files,
    records: u64,
}

impl EveFile {
    /// Opens the file.
    pub fn open(place: &OutputDestination, settings: &Settings, now_ns: u64) -> Result<Self, OutputError> {
        let files = open_files(place, Frame::Lines, settings, now_ns)?;
        Ok(Self {
            written: Mutex::new(Written { files, records: 0 }),
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
        let mut written = None;
        match *record {
            Record::Stats { facts, flows } if self.types.has(Types::STATS) => {
                let file = lock(&self.written);
                let stats = eve::Stats {
                    time_ns: call.now_ns,
                    uptime: facts.uptime,
                    packets: facts.packets,
                    bytes: facts.bytes,
                    dropped: facts.dropped,
                    flows,
                    records: file.records,
                };
                eve::push_stats(&mut lines, &stats);
                written = Some(file);
            }
            _ => self.push_record(&mut lines, record),
        }
        if !lines.is_empty() {
            let mut written = written.unwrap_or_else(|| lock(&self.written));
            written.records += current::lines(&lines);
            self.accounts.push(&mut written.files, &lines, call);
        }
        lines.clear();
        *call.scratch = lines;
    }

    fn flush(&self, call: &mut Call<'_>) {
        self.accounts.flush(&mut lock(&self.written).files, call);
    }

    fn flush_lines(&self, call: &mut Call<'_>) {
        self.accounts.flush_lines(&mut lock(&self.written).files, call);
    }

    fn finish(&self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        lock(&self.written).files.finish_and_settle(now_ns, is_whole)
    }

    fn account(&self) -> Account {
        lock(&self.written).files.account()
    }

    fn folder(&self) -> Option<PathBuf> {
        lock(&self.written).files.folder()
    }
}
