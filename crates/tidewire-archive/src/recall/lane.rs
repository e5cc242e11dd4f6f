//! Captures that follow each other: the segments of one worker, or a single one.

use std::collections::VecDeque;

use tidewire_files::{Supplement, Supplements};
use tidewire_wire::Frame;

use super::{
    entry::Entry,
    interfaces::Interfaces,
    plan::{Chosen, Plan},
    reader::{Piece, Reader},
    select,
};
use crate::{Error, Identities, block::Interface, query::Exact};

/// A lane of captures.
pub(crate) struct Lane {
    waiting: VecDeque<Entry>,
    reader: Option<Reader>,
    piece: Piece,
    next: usize,
    /// Interfaces of all captures by those of the current one.
    interfaces: Vec<u16>,
    /// [`Run::layer`](super::entry::Run) of the captures.
    layer: u16,
    /// Texts of sections, secrets and names, until they are taken.
    supplements: Supplements,
    bytes_read: u64,
    pub captures_read: u64,
    /// Captures that were removed before they were read.
    pub captures_gone: u64,
}

impl Lane {
    pub fn new(entries: VecDeque<Entry>) -> Self {
        let (reader, piece, interfaces) = (None, Piece::default(), Vec::new());
        let layer = entries.front().map_or(0, |entry| entry.run.layer);
        Self {
            waiting: entries,
            reader,
            piece,
            next: 0,
            interfaces,
            layer,
            supplements: Supplements::default(),
            bytes_read: 0,
            captures_read: 0,
            captures_gone: 0,
        }
    }

    /// The earliest time that its next packet can have, if none is in memory.
    pub fn due_ns(&self) -> u64 {
        if self.reader.is_some() {
            return 0;
        }
        let first = self.waiting.front().and_then(|entry| entry.summary.as_ref());
        first.map_or(0, |summary| summary.first_ns)
    }

    pub fn is_ended(&self) -> bool {
        self.reader.is_none() && self.waiting.is_empty() && self.head().is_none()
    }

    pub fn bytes_read(&self) -> u64 {
        self.bytes_read + self.reader.as_ref().map_or(0, |reader| reader.bytes_read)
    }

    /// The next packet, if it is in memory.
    pub fn head(&self) -> Option<&Frame> {
        self.piece.frames.get(self.next)
    }

    /// The packet behind it, if it is in memory.
    pub fn after_head(&self) -> Option<&Frame> {
        self.piece.frames.get(self.next + 1)
    }

    /// Takes the next packet: its bytes, and the options of its block.
    pub fn take(&mut self) -> Option<(&[u8], &[u8])> {
        let frame = self.piece.frames.get(self.next)?;
        let options = self.piece.options.get(self.next)?.clone();
        self.next += 1;
        let bytes = self.piece.bytes.get(frame.at as usize..frame.at as usize + frame.captured_bytes as usize)?;
        Some((bytes, self.piece.options_of(options)))
    }

    /// Reads the next packets. Stops early where the next capture is not due at `until_ns`, and where there is a problem.
    pub fn load(
        &mut self,
        until_ns: u64,
        exact: &mut Exact,
        identities: &Identities,
        interfaces: &mut Interfaces,
        problems: &mut VecDeque<Error>,
    ) {
        while self.head().is_none() && problems.is_empty() {
            if self.reader.is_none() {
                if self.waiting.is_empty() || self.due_ns() > until_ns {
                    return;
                }
                self.open(exact, identities, problems);
                continue;
            }
            self.next = 0;
            let Some(reader) = &mut self.reader else { return };
            let filled = reader.fill(exact, &mut self.piece);
            self.supplements.add_all(&reader.descriptions.supplements.take());
            match filled {
                Ok(true) => self.number_interfaces(interfaces),
                Ok(false) => {
                    self.bytes_read += reader.bytes_read;
                    self.reader = None;
                }
                // The packets before the error are in the piece.
                Err(error) => {
                    problems.push_back(error);
                    self.bytes_read += reader.bytes_read;
                    self.number_interfaces(interfaces);
                    self.reader = None;
                }
            }
            problems.extend(exact.take_problems());
        }
    }

    /// Texts of sections, secrets and names of what was read since the last call: they belong before its packets.
    pub fn take_supplements(&mut self) -> Vec<Supplement> {
        self.supplements.take()
    }

    fn open(&mut self, exact: &Exact, identities: &Identities, problems: &mut VecDeque<Error>) {
        let Some(entry) = self.waiting.pop_front() else { return };
        if !entry.is_part && !entry.path.exists() {
            self.captures_gone += 1;
            return;
        }
        let trace = entry.trace.clone().map(|trace| Chosen::Traced(Box::new(trace)));
        let whole = Some(Plan { parts: None, descriptions: Vec::new(), chosen: trace });
        let planned = entry.sidecar(identities).and_then(|sidecar| match sidecar {
            _ if entry.trace.is_some() => Ok(whole.clone()),
            Some(mut sidecar) => select::plan(&mut sidecar, &exact.query, entry.stream),
            // Removed meanwhile, as the capture then is.
            None if exact.query.is_of_streams() => Ok(None),
            None => Ok(whole.clone()),
        });
        let plan = match planned {
            Ok(plan) => plan,
            // An index that is damaged is as none.
            Err(error) => {
                let is_of_streams = exact.query.is_of_streams();
                problems.push_back(error);
                if is_of_streams {
                    return;
                }
                whole
            }
        };
        let Some(plan) = plan else { return };
        self.interfaces.clear();
        match Reader::open(&entry, plan, identities) {
            Ok(reader) => {
                self.captures_read += u64::from(reader.is_some());
                self.reader = reader;
                problems.extend(entry.damage());
            }
            Err(error) => problems.push_back(error),
        }
    }

    /// Renumbers the interfaces of the piece's frames: among those of all captures.
    fn number_interfaces(&mut self, all: &mut Interfaces) {
        let Some(reader) = &self.reader else { return };
        let found = &reader.descriptions.found;
        for frame in &mut self.piece.frames {
            let own = usize::from(frame.interface);
            while self.interfaces.len() <= own {
                let unknown = Interface::new("", frame.link);
                let interface = found.get(self.interfaces.len()).unwrap_or(&unknown);
                self.interfaces.push(all.number(interface, self.layer));
            }
            frame.interface = self.interfaces.get(own).copied().unwrap_or_default();
        }
    }
}
