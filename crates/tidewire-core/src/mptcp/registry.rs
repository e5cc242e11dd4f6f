//! The tokens of connections, as frames show them: the same in every worker, whichever flows are its own.
//!
//! A worker knows the connections of all workers, so that one that gets a subflow knows whether it joins a known connection, and
//! the worker of that connection whether it must look at other workers' packets.

use std::collections::{BTreeMap, VecDeque};

use super::{Mptcp, keys::token_and_first, options::Signals};
use crate::{flow::Key, wire::tcp_flag};

/// Tokens that are remembered, of all connections; then the oldest are forgotten. A connection has two.
pub(crate) const TOKENS_MAX: usize = 8192;
/// Connections whose client's key is waited for; then the oldest are given up: no subflow that the server opens joins them.
const KEYS_AWAITED_MAX: usize = 64;
/// Time for which a client's key is waited for.
const KEYS_AWAITED_NS: u64 = 60_000_000_000;

/// A flow with the hash of its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HashedKey {
    pub key: Key,
    pub hash: u64,
}

/// A connection, as a token names it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionId {
    /// Its first subflow.
    pub first: HashedKey,
    pub server_key: u64,
    /// The token of the server's key.
    pub token: u32,
    /// Whether the client's key has the token that was looked up: a subflow with it is opened by the server.
    pub is_of_client: bool,
}

/// A connection whose client's key was not seen.
#[derive(Clone, Copy, Debug)]
struct Pending {
    connection: ConnectionId,
    version: u8,
    /// Whether the server is the lower endpoint of the key.
    server_is_a: bool,
    /// When the server answered.
    clock_ns: u64,
}

/// The tokens that were seen.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    connections: BTreeMap<u32, ConnectionId>,
    /// Their tokens, the oldest first.
    tokens: VecDeque<u32>,
    pending: VecDeque<Pending>,
}

impl Registry {
    /// Whether keys are waited for: every segment may have one.
    #[inline(always)]
    pub(crate) fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The connection that a token names.
    pub(crate) fn get(&self, token: u32) -> Option<&ConnectionId> {
        self.connections.get(&token)
    }

    /// Reads a TCP header, which has a SYN unless keys are waited for. Returns the token that it joins with, of a SYN.
    pub(crate) fn read(&mut self, header: &[u8], flow: HashedKey, from_a: bool, clock_ns: u64) -> Option<u32> {
        while self.pending.front().is_some_and(|one| one.clock_ns.saturating_add(KEYS_AWAITED_NS) < clock_ns) {
            self.pending.pop_front();
        }
        let flags = header.get(13)? & (tcp_flag::SYN | tcp_flag::ACK);
        if flags == tcp_flag::ACK {
            self.read_keys(header, flow, from_a);
            return None;
        }
        if flags & tcp_flag::SYN == 0 {
            return None;
        }
        let stated = Mptcp::of_header(header, flags & tcp_flag::ACK != 0)?;
        if let Some(server_key) = stated.server_key {
            let token = token_and_first(stated.version, server_key).0;
            let connection = ConnectionId { first: flow, server_key, token, is_of_client: false };
            if self.insert(token, connection) {
                self.pending.push_back(Pending { connection, version: stated.version, server_is_a: from_a, clock_ns });
                if self.pending.len() > KEYS_AWAITED_MAX {
                    self.pending.pop_front();
                }
            }
        }
        stated.token
    }

    /// Learns the client's key of the third segment of a handshake, or of the first with data.
    #[cold]
    fn read_keys(&mut self, header: &[u8], flow: HashedKey, from_a: bool) {
        let is_of = |one: &Pending| one.connection.first.hash == flow.hash && one.server_is_a != from_a;
        let Some(at) = self.pending.iter().position(is_of) else { return };
        let Some((client_key, server_key)) = Signals::of(header).keys else { return };
        let Some(Pending { connection, version, .. }) = self.pending.get(at).copied() else { return };
        if server_key == connection.server_key {
            self.pending.remove(at);
            let token = token_and_first(version, client_key).0;
            self.insert(token, ConnectionId { is_of_client: true, ..connection });
        }
    }

    /// Remembers a token. Returns false if it names another connection already.
    pub(crate) fn insert(&mut self, token: u32, connection: ConnectionId) -> bool {
        if self.connections.contains_key(&token) {
            return false;
        }
        self.connections.insert(token, connection);
        self.tokens.push_back(token);
        if self.tokens.len() > TOKENS_MAX
            && let Some(oldest) = self.tokens.pop_front()
        {
            self.connections.remove(&oldest);
        }
        true
    }

    /// Memory, bytes: of tree nodes of 6 to 11 entries about twice that of the entries.
    pub(crate) fn bytes(&self) -> u64 {
        let entries = self.connections.len() * 2 * (size_of::<u32>() + size_of::<ConnectionId>());
        let tokens = self.tokens.capacity() * size_of::<u32>();
        (entries + tokens + self.pending.capacity() * size_of::<Pending>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(flags: u8, option: &[u8]) -> Vec<u8> {
        let mut header = vec![0; 20];
        header.extend(option);
        header.resize(header.len().next_multiple_of(4), 0);
        header[12] = (header.len() as u8 / 4) << 4;
        header[13] = flags;
        header
    }

    fn answer(key: u64) -> Vec<u8> {
        header(tcp_flag::SYN | tcp_flag::ACK, &[&[30, 12, 1, 0x81][..], &key.to_be_bytes()].concat())
    }

    fn third(keys: [u64; 2]) -> Vec<u8> {
        header(tcp_flag::ACK, &[&[30, 20, 1, 0x81][..], &keys[0].to_be_bytes(), &keys[1].to_be_bytes()].concat())
    }

    fn flow(hash: u64) -> HashedKey {
        HashedKey { key: Key::NONE, hash }
    }

    #[test]
    fn both_tokens_name_the_connection() {
        let mut registry = Registry::default();
        assert!(registry.read(&answer(7), flow(1), true, 0).is_none() && registry.is_waiting());
        let [server, client] = [7, 8].map(|key| token_and_first(1, key).0);
        // Of another flow, of the server itself, and with another key of the server.
        registry.read(&third([8, 7]), flow(2), false, 0);
        registry.read(&third([8, 7]), flow(1), true, 0);
        registry.read(&third([8, 9]), flow(1), false, 0);
        assert!(registry.get(client).is_none() && registry.is_waiting());
        registry.read(&third([8, 7]), flow(1), false, 0);
        assert!(!registry.is_waiting());
        let known =
            [server, client].map(|token| registry.get(token).map(|one| (one.token, one.first.hash, one.is_of_client)));
        assert_eq!(known, [Some((server, 1, false)), Some((server, 1, true))]);
        let join = header(tcp_flag::SYN, &[30, 12, 0x10, 1, 1, 2, 3, 4, 0, 0, 0, 9]);
        assert_eq!(registry.read(&join, flow(3), false, 0), Some(0x0102_0304));
        // Who repeats a key that is in use takes nothing over.
        registry.read(&answer(7), flow(4), true, 0);
        assert_eq!(registry.get(server).map(|one| one.first.hash), Some(1));
    }

    #[test]
    fn a_key_that_never_comes_is_not_waited_for() {
        let mut registry = Registry::default();
        registry.read(&answer(7), flow(1), true, 5);
        registry.read(&third([8, 9]), flow(1), false, 5 + KEYS_AWAITED_NS);
        assert!(registry.is_waiting());
        registry.read(&third([8, 7]), flow(1), false, 6 + KEYS_AWAITED_NS);
        assert!(!registry.is_waiting() && registry.get(token_and_first(1, 8).0).is_none());
    }

    #[test]
    fn no_number_of_handshakes_takes_more_memory() {
        let mut registry = Registry::default();
        for key in 0..3 * TOKENS_MAX as u64 {
            registry.read(&answer(key), flow(key), true, 0);
        }
        assert_eq!((registry.connections.len(), registry.pending.len()), (TOKENS_MAX, KEYS_AWAITED_MAX));
        assert!(registry.bytes() < 2 << 20, "{}", registry.bytes());
        assert!(registry.get(token_and_first(1, 3 * TOKENS_MAX as u64 - 1).0).is_some(), "the last one");
        assert!(registry.get(token_and_first(1, 0).0).is_none(), "the oldest is forgotten");
    }
}
