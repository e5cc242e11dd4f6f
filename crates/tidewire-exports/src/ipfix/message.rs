//! A message with its sets.

use crate::ipfix::field::Template;

/// Number of the set that defines templates, and of the one that defines those of options.
const TEMPLATES: [u16; 2] = [2, 3];
const NETFLOW_TEMPLATES: [u16; 2] = [0, 1];

/// Bytes of the header of IPFIX and of NetFlow v9.
const HEADER_BYTES: usize = 16;
const NETFLOW_HEADER_BYTES: usize = 20;

/// Bytes of the header of a set.
const SET_BYTES: usize = 4;

/// A message that is filled.
#[derive(Debug)]
pub(super) struct Message {
    bytes: Vec<u8>,
    is_netflow: bool,
    /// The set that records are added to: its number and its place.
    set: Option<(u16, usize)>,
    /// Records of data.
    pub(super) data_records: u32,
    /// Records and templates.
    records: u16,
}

/// The header of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) export_s: u32,
    pub(super) sequence: u32,
    pub(super) domain: u32,
    pub(super) uptime_ms: u32,
}

impl Message {
    pub(super) fn new(is_netflow: bool) -> Self {
        let header = if is_netflow { NETFLOW_HEADER_BYTES } else { HEADER_BYTES };
        Self { bytes: vec![0; header], is_netflow, set: None, data_records: 0, records: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Bytes that it has with a further record.
    pub(super) fn bytes_with(&self, set: u16, record: usize) -> usize {
        let begins = self.set.is_none_or(|open| open.0 != set);
        // Padding of two sets.
        self.bytes.len() + record + if begins { SET_BYTES + 3 } else { 0 } + 3
    }

    /// Adds a record to a set.
    pub(super) fn push(&mut self, set: u16, fill: impl FnOnce(&mut Vec<u8>)) {
        if self.set.is_none_or(|open| open.0 != set) {
            self.close_set();
            self.set = Some((set, self.bytes.len()));
            self.bytes.extend_from_slice(&set.to_be_bytes());
            self.bytes.extend_from_slice(&[0; 2]);
        }
        fill(&mut self.bytes);
        self.records = self.records.saturating_add(1);
    }

    /// Adds the definition of a template.
    pub(super) fn push_template(&mut self, template: &Template) {
        let set = if self.is_netflow { NETFLOW_TEMPLATES[0] } else { TEMPLATES[0] };
        self.push(set, |out| {
            out.extend_from_slice(&template.id.to_be_bytes());
            out.extend_from_slice(&(template.count() as u16).to_be_bytes());
            template.push_specifications(out);
        });
    }

    /// Adds the definition of a template of options: elements with their lengths, of which the first `scopes` are the scope. IPFIX only.
    pub(super) fn push_options_template(&mut self, id: u16, elements: &[(u16, u16)], scopes: u16) {
        self.push(TEMPLATES[1], |out| {
            for value in [id, elements.len() as u16, scopes] {
                out.extend_from_slice(&value.to_be_bytes());
            }
            for (element, bytes) in elements {
                out.extend_from_slice(&element.to_be_bytes());
                out.extend_from_slice(&bytes.to_be_bytes());
            }
        });
    }

    /// Writes the length of the open set. Sets of NetFlow v9 end at a multiple of four bytes.
    fn close_set(&mut self) {
        let Some((_, at)) = self.set.take() else { return };
        if self.is_netflow {
            let padding = (self.bytes.len() - at).next_multiple_of(4) - (self.bytes.len() - at);
            self.bytes.extend_from_slice(&[0; 3][..padding]);
        }
        let length = (self.bytes.len() - at) as u16;
        self.bytes[at + 2..at + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Completes it with its header.
    pub(super) fn finish(mut self, header: Header) -> Vec<u8> {
        self.close_set();
        let words = |values: &[u32]| values.iter().flat_map(|value| value.to_be_bytes()).collect::<Vec<u8>>();
        let [version, second] = if self.is_netflow { [9, self.records] } else { [10, self.bytes.len() as u16] };
        let mut begin = [u16::to_be_bytes(version), second.to_be_bytes()].concat();
        if self.is_netflow {
            begin.extend(words(&[header.uptime_ms]));
        }
        begin.extend(words(&[header.export_s, header.sequence, header.domain]));
        self.bytes[..begin.len()].copy_from_slice(&begin);
        self.bytes
    }
}
