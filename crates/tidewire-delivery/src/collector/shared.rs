//! State that all connections of a collector share.

use std::{
    collections::{HashMap, VecDeque},
    fmt::Display,
    net::{Shutdown, TcpStream},
    sync::{
        Arc, Condvar, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rustls::ServerConfig;

use super::{
    bounds::Permits,
    log::{About, Log},
    sensors::Sensors,
};
use crate::keys::{Facts, Refused};

/// Connections of which it is not known yet whose they are, and those of one address among them.
const PENDING_MAX: usize = 128;
const PENDING_OF_ADDRESS_MAX: usize = 48;

/// State that all connections share.
pub(super) struct Shared {
    pub(super) sensors: Sensors,
    pub(super) log: Log,
    pub(super) places: Permits,
    pub(super) timeout: Duration,
    pub(super) connections_max: usize,
    pub(super) tls: RwLock<Arc<ServerConfig>>,
    pub(super) refusals: RwLock<Refused>,
    pub(super) refused: AtomicU64,
    /// Connections whose sensor is known.
    pub(super) connections: AtomicU64,
    /// The number of the next connection.
    pub(super) next: AtomicU64,
    /// Connections of which it is not known yet whose they are, the oldest first.
    pub(super) pending: Mutex<VecDeque<(u64, TcpStream)>>,
    pub(super) ending: Mutex<bool>,
    pub(super) ended: Condvar,
}

/// A connection that is counted.
pub(super) struct Admitted<'a>(&'a Shared);

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    /// Key and certificates as they were read last.
    pub(super) fn tls(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.tls.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a certificate is refused by name or number.
    pub(super) fn refuses(&self, facts: &Facts) -> bool {
        self.refusals.read().unwrap_or_else(PoisonError::into_inner).has(facts)
    }

    /// Counts a refused connection, and says why.
    pub(super) fn refuse(&self, about: About, text: impl Display) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        self.log.limited(about, text);
    }

    /// Counts a connection whose sensor is known; `None`: there are as many as there may be.
    pub(super) fn admit(&self) -> Option<Admitted<'_>> {
        let most = self.connections_max as u64;
        let more = |connections| (connections < most).then_some(connections + 1);
        self.connections.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Admitted(self))
    }

    /// Notes a connection without a certificate so far. Where there are too many, the oldest of the address that has most ends: clients
    /// without a certificate keep no sensor out.
    pub(super) fn pend(&self, number: u64, tcp: &TcpStream) {
        let Ok(tcp) = tcp.try_clone() else { return };
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let address = |tcp: &TcpStream| tcp.peer_addr().ok().map(|peer| peer.ip());
        let own = address(&tcp);
        let mut by_address: HashMap<_, usize> = HashMap::new();
        for (_, other) in &*pending {
            *by_address.entry(address(other)).or_default() += 1;
        }
        // Who opens many closes its own.
        let most = by_address.iter().max_by_key(|(_, count)| **count).map(|(address, _)| *address);
        let is_many = by_address.get(&own).is_some_and(|count| *count >= PENDING_OF_ADDRESS_MAX);
        let victim = if is_many { Some(own) } else { most.filter(|_| pending.len() >= PENDING_MAX) };
        if let Some(at) = victim.and_then(|victim| pending.iter().position(|(_, other)| address(other) == victim))
            && let Some((_, oldest)) = pending.remove(at)
        {
            let _ = oldest.shutdown(Shutdown::Both);
        }
        pending.push_back((number, tcp));
    }

    /// It is known whose connection this is, or it has ended.
    pub(super) fn settle(&self, number: u64) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).retain(|(pending, _)| *pending != number);
    }

    /// Ends all connections once they have stored what arrived.
    pub(super) fn disconnect(&self) {
        self.sensors.disconnect();
        for (_, tcp) in &*self.pending.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = tcp.shutdown(Shutdown::Both);
        }
    }

    /// Whether the collector ends.
    pub(super) fn is_ending(&self) -> bool {
        *self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, but not beyond the collector's end.
    pub(super) fn pause(&self, wait: Duration) {
        let ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.ended.wait_timeout_while(ending, wait, |ending| !*ending));
    }

    /// The collector ends.
    pub(super) fn end(&self) {
        *self.ending.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ended.notify_all();
    }
}
