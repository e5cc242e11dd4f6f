//! `scan`: who tries many hosts or ports, and floods of half-open connections.
//!
//! What is counted are attempts that failed, because successful ones are what clients, resolvers and monitors make all the time:
//!
//! - TCP: the client sent a SYN, or a segment without SYN, ACK and RST (FIN, NULL and XMAS scans), and never an ACK: it was not
//!   answered, was refused, or did not complete the handshake. Those that were not refused are half-open: they count for their
//!   service, too.
//! - UDP: no answer. Answers of services whose request was not captured (a port below 1024 sends to one above) do not count.
//! - ICMP: echo requests without an answer.
//!
//! One event for each probe would be a flood as large as the scan, made in the thread that captures. So probes are counted in
//! tables that do not grow, and there is an event when a threshold is passed, each time the figure has doubled, and at the end.
//!
//! The tables are shared by the workers, each in parts with a lock of its own: a source's attempts are streams of all workers.

mod distinct;
mod leases;
mod ports;
mod rules;
mod table;
mod targets;
mod watch;

pub use rules::SCAN_KINDS;

use std::{
    fmt,
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

use tidewire::{AnomalyKind, Direction, FlowKey, Stream, TcpState, Unfinished};
use tidewire_types::{
    ip_protocol::{ICMP, ICMP6, TCP, UDP},
    tcp_flag::{ACK, RST, SYN},
};

use self::{
    rules::{HostAndPort, Hosts, Ports, Services, SourceAndHost, SourceAndPort, is_no_host},
    targets::Targets,
    watch::{Attempt, LOOK_NS, Rule, Watch},
};
use crate::{emit::Outlet, settings::ScanSettings};

/// Parts of each table.
const PARTS: usize = 16;

/// Types of echo requests.
const ECHO: u8 = 8;
const ECHO6: u8 = 128;

/// State that all workers share.
pub(crate) struct Tables {
    settings: ScanSettings,
    outlet: Outlet,
    /// The key of hashes: random, so that no sender can choose what is counted together.
    hasher: RandomState,
    hosts: Vec<Watch<Hosts>>,
    ports: Vec<Watch<Ports>>,
    services: Vec<Watch<Services>>,
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// State of a conversation.
#[derive(Clone, Copy)]
struct Seen {
    key: FlowKey,
    start_ns: u64,
    tcp_flags: [u8; 2],
    packets: [u64; 2],
    payload_bytes: u64,
}

/// The analyzer, for one worker.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    tables: Arc<Tables>,
    look_ns: u64,
}

impl Scan {
    pub(crate) fn new(tables: Arc<Tables>) -> Self {
        Self { tables, look_ns: 0 }
    }

    /// A conversation was not completed in time.
    pub(crate) fn unfinished(&self, unfinished: &Unfinished) {
        let Unfinished { key, start, tcp_flags, packets, payload_bytes, .. } = *unfinished;
        let seen = Seen { key, start_ns: start.as_nanos(), tcp_flags, packets, payload_bytes: payload_bytes[0] };
        // Without flags it may be a segment whose header was not captured.
        if key.proto != TCP || tcp_flags[0] != 0 {
            self.tables.note(&seen);
        }
    }

    /// A stream ended.
    #[inline]
    pub(crate) fn close<D>(&mut self, stream: &Stream<'_, D>) {
        let end_ns = stream.end().as_nanos();
        if end_ns >= self.look_ns {
            self.look_ns = end_ns.saturating_add(LOOK_NS);
            self.tables.look(end_ns);
        }
        let is_completed = match stream.state() {
            TcpState::Established | TcpState::HalfClosed | TcpState::Closed => true,
            TcpState::Stateless => stream.stats(Direction::ServerToClient).packets != 0,
            _ => false,
        };
        if !is_completed {
            self.close_failed(stream);
        }
    }

    #[cold]
    fn close_failed<D>(&self, stream: &Stream<'_, D>) {
        let [client, server] = [stream.stats(Direction::ClientToServer), stream.stats(Direction::ServerToClient)];
        let key = stream.key();
        if key.proto == TCP && client.tcp_flags == 0 {
            // A segment without flags is an anomaly; one whose header was not captured is not.
            if !stream.anomalies().iter().any(|anomaly| anomaly.kind == AnomalyKind::InvalidFlags) {
                return;
            }
        } else if stream.was_unfinished() {
            return;
        }
        self.tables.note(&Seen {
            key,
            start_ns: stream.start().as_nanos(),
            tcp_flags: [client.tcp_flags as u8, server.tcp_flags as u8],
            packets: [client.packets, server.packets],
            payload_bytes: client.payload_wire_bytes,
        });
    }
}

impl Tables {
    pub(crate) fn new(settings: &ScanSettings, outlet: Outlet) -> Self {
        let entries = (settings.entries as usize).div_ceil(PARTS);
        Self {
            settings: settings.clone(),
            outlet,
            hasher: RandomState::new(),
            hosts: (0..PARTS).map(|_| Watch::new(entries)).collect(),
            ports: (0..PARTS).map(|_| Watch::new(entries)).collect(),
            services: (0..PARTS).map(|_| Watch::new(entries)).collect(),
        }
    }

    fn note(&self, seen: &Seen) {
        let FlowKey { client, server, proto, icmp, .. } = seen.key;
        if is_no_host(&server.address) || seen.packets[0] == 0 {
            return;
        }
        match proto {
            TCP => self.note_tcp(seen),
            // An answer whose request was not captured, rather than a request.
            UDP if client.port < 1024 && server.port >= 1024 => {}
            UDP if seen.packets[1] == 0 => self.note_probe(seen, server.port, true),
            ICMP | ICMP6 if matches!(icmp[0], ECHO | ECHO6) && seen.packets[1] == 0 => self.note_probe(seen, 0, false),
            _ => {}
        }
    }

    fn note_tcp(&self, seen: &Seen) {
        let [client, server] = seen.tcp_flags;
        let is_syn = client & SYN != 0;
        let is_flag_scan = client & (SYN | RST) == 0 && seen.payload_bytes == 0;
        if client & ACK != 0 || !(is_syn || is_flag_scan) {
            return;
        }
        let FlowKey { client: from, server: to, .. } = seen.key;
        self.note_probe(seen, to.port, true);
        if is_syn && (client | server) & RST == 0 {
            let key = HostAndPort { host: to.address, port: to.port };
            self.attempt(&self.services, key, from.address, seen.start_ns);
        }
    }

    fn note_probe(&self, seen: &Seen, port: u16, has_ports: bool) {
        let (protocol, source, host) = (seen.key.proto, seen.key.client.address, seen.key.server.address);
        self.attempt(&self.hosts, SourceAndPort { protocol, source, port }, host, seen.start_ns);
        if has_ports {
            self.attempt(&self.ports, SourceAndHost { protocol, source, host }, port, seen.start_ns);
        }
    }

    fn attempt<R: Rule>(&self, parts: &[Watch<R>], key: R::Key, target: <R::Targets as Targets>::Target, time_ns: u64) {
        let part = self.hasher.hash_one(key) as usize % PARTS;
        let attempt = Attempt { key, target, hash: self.hasher.hash_one(target), time_ns };
        parts[part].note(&self.settings, &self.outlet, attempt);
    }

    /// Ends scans that were silent for a window.
    pub(crate) fn look(&self, now_ns: u64) {
        let (settings, outlet) = (&self.settings, &self.outlet);
        self.hosts.iter().for_each(|part| part.look(settings, outlet, now_ns));
        self.ports.iter().for_each(|part| part.look(settings, outlet, now_ns));
        self.services.iter().for_each(|part| part.look(settings, outlet, now_ns));
    }

    /// Ends all scans: the input has ended.
    pub(crate) fn finish(&self) {
        self.hosts.iter().for_each(|part| part.finish(&self.outlet));
        self.ports.iter().for_each(|part| part.finish(&self.outlet));
        self.services.iter().for_each(|part| part.finish(&self.outlet));
    }
}
