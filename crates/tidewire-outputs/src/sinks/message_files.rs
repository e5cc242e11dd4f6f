//! Files of messages of IPFIX (RFC 5655). Each begins with templates, so that it can be read without the one before.

use std::path::PathBuf;

use tidewire_exports::ipfix::{Encoded, templates_before};

use crate::{error::OutputError, files::Files, sink::Account, write_behind::RecordWriter};

/// The files.
pub struct MessageFiles {
    files: Files,
    /// A message of templates: the first message of an exporter has its own.
    templates: Vec<u8>,
    is_begun: bool,
}

/// Appends a message with its lengths, as a [`MessageFiles`] expects it.
pub fn push_framed(out: &mut Vec<u8>, message: &Encoded) {
    let bytes = u32::try_from(message.bytes.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&bytes.to_le_bytes());
    out.extend_from_slice(&message.flow_records.to_le_bytes());
    out.extend_from_slice(&message.bytes);
}

impl MessageFiles {
    /// Files of an exporter that sends templates with its first message.
    pub fn new(files: Files, templates: Vec<u8>) -> Self {
        Self { files, templates, is_begun: false }
    }

    /// The folder that files are made in.
    pub fn folder(&self) -> Option<PathBuf> {
        self.files.folder()
    }

    fn message(&mut self, bytes: &[u8], records: u64, now_ns: u64) {
        if self.files.is_due(bytes.len(), now_ns) {
            self.files.complete(now_ns);
        }
        if std::mem::replace(&mut self.is_begun, true) && self.files.is_new() {
            self.files.push_message(&templates_before(&self.templates, bytes), 0, now_ns);
        }
        self.files.push_message(bytes, records, now_ns);
    }
}

impl RecordWriter for MessageFiles {
    fn write(&mut self, mut records: &[u8], now_ns: u64) {
        while let Some((&[a, b, c, d, e, f, g, h], rest)) = records.split_first_chunk() {
            let [bytes, of_flows] = [[a, b, c, d], [e, f, g, h]].map(u32::from_le_bytes);
            let Some((message, rest)) = rest.split_at_checked(bytes as usize) else { return };
            self.message(message, of_flows.into(), now_ns);
            records = rest;
        }
    }

    fn flush(&mut self, now_ns: u64) {
        self.files.flush_or_complete(now_ns);
    }

    fn finish(&mut self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        self.files.finish(now_ns, is_whole)
    }

    fn account(&self) -> Account {
        self.files.account()
    }

    fn news(&mut self) -> Option<Option<String>> {
        self.files.news()
    }
}
