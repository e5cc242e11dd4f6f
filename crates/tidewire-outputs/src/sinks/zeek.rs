//! `zeek` and `zeek-json`: a folder of Zeek's logs, each a file of its own.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tidewire::legible::legible;
use tidewire_exports::{
    Exchange,
    zeek::{self, Form, Log},
};

use super::held::Held;
use crate::{
    error::{Notify, OutputError, graver},
    files::{Accounts, Files, Keeper, LineFiles},
    place::folder::Folder,
    record::Record,
    settings::Settings,
    sink::{Account, Call, Needs, Sink},
};

/// The folder.
pub struct ZeekLogs {
    form: Form,
    logs: Box<[LineFiles; Log::ALL.len()]>,
    held: Held,
    accounts: Accounts,
    notify: Notify,
}

impl ZeekLogs {
    /// Opens the folder; its logs are made with their first records.
    pub fn open(form: Form, path: &Path, settings: &Settings) -> Result<Self, OutputError> {
        let shown = legible(&path.to_string_lossy()).into_owned();
        if path.is_file() {
            return Err(OutputError::Usage(format!("{shown} is a file; Zeek's logs are several: name a folder")));
        }
        let folder = Folder::open_or_make(path)
            .map_err(|error| OutputError::Write(format!("{shown}: cannot be written to: {error}")))?;
        let folder = Arc::new(folder);
        let names = Log::ALL.iter().map(|log| format!("{}.log", log.name()).into()).collect();
        let keeper = Keeper::new(&folder, names, settings);
        let logs = Log::ALL.map(|log| {
            LineFiles::new(Files::of_log(&folder, &shown, form, log, settings).kept_by(keeper.clone()), settings)
        });
        logs.iter().try_for_each(|files| files.check_free())?;
        Ok(Self {
            form,
            logs: Box::new(logs),
            held: Held::default(),
            accounts: Accounts::default(),
            notify: settings.notify.clone(),
        })
    }

    /// Adds the lines that `encode` makes to a log.
    fn push(&self, log: Log, call: &mut Call<'_>, encode: impl FnOnce(&mut Vec<u8>)) {
        let mut lines = std::mem::take(call.scratch);
        encode(&mut lines);
        if !lines.is_empty() {
            self.logs[log as usize].push(&self.accounts, &lines, call);
        }
        lines.clear();
        *call.scratch = lines;
    }

    fn transaction(&self, exchange: &Exchange<'_>, has_packets: bool, call: &mut Call<'_>) {
        let form = self.form;
        if let Some(log) = zeek::log_of(exchange) {
            self.push(log, call, |out| zeek::push_transaction(out, form, exchange));
            self.push(Log::Files, call, |out| zeek::push_files(out, form, exchange));
            self.push(Log::Weird, call, |out| zeek::push_weird_answer(out, form, exchange));
        }
        if !has_packets {
            self.push(Log::Quic, call, |out| zeek::push_quic(out, form, exchange));
        }
    }
}

impl Sink for ZeekLogs {
    fn needs(&self) -> Needs {
        Needs { history: true, content: true, anomalies: true, ..Needs::default() }
    }

    fn write(&self, record: &Record<'_>, call: &mut Call<'_>) {
        let form = self.form;
        match *record {
            Record::Flow(ended) => {
                self.push(Log::Conn, call, |out| zeek::push_conn(out, form, ended.flow, ended.history));
                self.push(Log::Weird, call, |out| zeek::push_weirds(out, form, ended.flow, ended.anomalies));
                if !ended.held.is_empty() {
                    self.held.push(ended.flow.id, |out| zeek::push_weirds(out, form, ended.flow, ended.held));
                }
            }
            Record::Release { are_few } => self.push(Log::Weird, call, |out| self.held.release(are_few, out)),
            Record::Explained { explained, .. } => {
                self.push(Log::Weird, call, |out| zeek::push_explained(out, form, explained));
            }
            Record::Transaction { exchange, has_packets } => self.transaction(exchange, has_packets, call),
            Record::Quic { stream, entry } => {
                self.push(Log::Quic, call, |out| zeek::push_quic_entry(out, form, stream, entry));
            }
            Record::Tunnel { tunnel, time_ns } => {
                self.push(Log::Tunnel, call, |out| zeek::push_tunnel(out, form, tunnel, time_ns));
            }
            _ => {}
        }
    }

    fn flush(&self, call: &mut Call<'_>) {
        self.logs.iter().for_each(|files| files.flush(&self.accounts, call));
    }

    fn flush_lines(&self, call: &mut Call<'_>) {
        self.logs.iter().for_each(|files| files.flush_lines(&self.accounts, call));
    }

    fn begin_end(&self, now_ns: u64, is_whole: bool) {
        self.logs.iter().for_each(|files| files.begin_end(now_ns, is_whole));
    }

    fn finish(&self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        self.begin_end(now_ns, is_whole);
        let mut result = Ok(());
        for files in &*self.logs {
            result = graver(result, files.finish(now_ns, is_whole), &self.notify);
        }
        result
    }

    fn account(&self) -> Account {
        let mut all = Account::default();
        self.logs.iter().for_each(|files| all.add(&files.account()));
        // The logs have one keeper.
        let Account { removed_files, removed_bytes, .. } = self.logs[0].account();
        Account { removed_files, removed_bytes, ..all }
    }

    fn folder(&self) -> Option<PathBuf> {
        self.logs[0].folder()
    }
}
