//! How far each session is: what was received, and what is durable.

use std::collections::{BTreeMap, BTreeSet};

/// Sessions that are known, at most; then the one goes that was used longest ago and is not connected.
const SESSIONS_MAX: usize = 4096;

/// A session.
#[derive(Clone, Copy, Debug, Default)]
struct Session {
    /// The last event that was received.
    accepted: u64,
    /// The last event that is durable.
    durable: u64,
    /// Connections that it has.
    clients: u32,
    /// The client said that no event follows.
    is_over: bool,
    /// By the order of use.
    used: u64,
}

/// All sessions by the name under which a store has them.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    all: BTreeMap<String, Session>,
    /// Those with events since [`take`](Self::take).
    dirty: BTreeSet<String>,
    /// Those that a store can forget.
    over: Vec<String>,
    used: u64,
}

impl Sessions {
    /// The name of a session in a store.
    pub fn name(analyzer: &str, session: u64) -> String {
        format!("{analyzer}/{session:016x}")
    }

    /// A session that a store has.
    pub fn restore(&mut self, name: String, durable: u64) {
        self.used += 1;
        let used = self.used;
        self.all.insert(name, Session { accepted: durable, durable, used, ..Session::default() });
        self.bound();
    }

    /// A client has this session now, and begins with the event `first`. The last event that is durable.
    pub fn join(&mut self, name: &str, first: u64) -> u64 {
        self.used += 1;
        let session = self.all.entry(name.to_owned()).or_default();
        // A newly created store does not know which events the client has seen acknowledged.
        session.durable = session.durable.max(if session.accepted == session.durable { first - 1 } else { 0 });
        session.accepted = session.accepted.max(session.durable).max(first - 1);
        (session.used, session.is_over) = (self.used, false);
        session.clients += 1;
        let durable = session.durable;
        self.bound();
        durable
    }

    pub fn leave(&mut self, name: &str) {
        if let Some(session) = self.all.get_mut(name) {
            session.clients = session.clients.saturating_sub(1);
        }
    }

    /// No event follows.
    pub fn finish(&mut self, name: &str) {
        if let Some(session) = self.all.get_mut(name) {
            session.is_over = true;
            self.dirty.insert(name.to_owned());
        }
    }

    /// The last event that was received.
    pub fn accepted(&self, name: &str) -> u64 {
        self.all.get(name).map_or(0, |session| session.accepted)
    }

    pub fn accept(&mut self, name: &str, number: u64) {
        if let Some(session) = self.all.get_mut(name) {
            session.accepted = number;
            if !self.dirty.contains(name) {
                self.dirty.insert(name.to_owned());
            }
        }
    }

    /// Events that were received and are not durable.
    pub fn waiting(&self, name: &str) -> u64 {
        self.all.get(name).map_or(0, |session| session.accepted - session.durable)
    }

    /// Changes since the last call: how far sessions are, and which are over.
    pub fn take(&mut self) -> (Vec<(String, u64)>, Vec<String>) {
        let mut positions = Vec::new();
        for name in std::mem::take(&mut self.dirty) {
            let Some(session) = self.all.get(&name) else { continue };
            if session.is_over && session.accepted == session.durable {
                self.forget(name);
            } else {
                positions.push((name, session.accepted));
            }
        }
        (positions, std::mem::take(&mut self.over))
    }

    /// Whether something was received since the last [`take`](Self::take).
    pub fn is_dirty(&self) -> bool {
        !self.dirty.is_empty() || !self.over.is_empty()
    }

    /// Everything up to this event is durable.
    pub fn store(&mut self, name: &str, number: u64) {
        if let Some(session) = self.all.get_mut(name) {
            session.durable = session.durable.max(number.min(session.accepted));
            if session.is_over && session.accepted == session.durable {
                self.forget(name.to_owned());
            }
        }
    }

    fn forget(&mut self, name: String) {
        self.all.remove(&name);
        self.over.push(name);
    }

    fn bound(&mut self) {
        while self.all.len() > SESSIONS_MAX {
            let idle =
                self.all.iter().filter(|(_, session)| session.clients == 0 && session.accepted == session.durable);
            let Some((name, _)) = idle.min_by_key(|(_, session)| session.used) else { return };
            self.forget(name.clone());
        }
    }
}
