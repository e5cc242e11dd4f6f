//! Records of closed streams, and parts of them that several subcommands print.

use std::{borrow::Cow, time::Duration};

use tidewire::{
    Anomaly, ClientBy, Conflict, Direction, DirectionStats, EndReason, Endpoint, FlowKey, Gap, Mptcp, Stream, TcpState,
    Timestamp, Tunnel, TunnelKind,
};
use tidewire_exports::FlowRecord;
use tidewire_protocols::App;
use tidewire_types::ip_protocol::has_ports;

use crate::{
    app_cells, cut_off,
    row::Aside,
    units::{Bytes, counted},
};

/// Both directions, in the order of their indices.
pub const DIRECTIONS: [Direction; 2] = [Direction::ClientToServer, Direction::ServerToClient];

/// A stream that ended.
pub struct Record {
    pub id: u64,
    pub key: FlowKey,
    pub client_known: bool,
    pub client_by: ClientBy,
    pub time_back: Option<Duration>,
    pub time_outliers: u32,
    pub state: TcpState,
    pub end: EndReason,
    pub priority: u8,
    pub start_ns: u64,
    pub end_ns: u64,
    pub stats: [DirectionStats; 2],
    /// `None` if there is nothing to report.
    pub irregularities: Option<Box<Irregularities>>,
    /// The protocol and its fields, if one was recognised.
    pub app: Option<Box<App>>,
    /// Parts that were cut off when an archive was recorded, by direction; `None`: no part, or unknown.
    pub cut_off: Option<Box<[cut_off::Amount; 2]>>,
    /// The connection of Multipath TCP, of a subflow.
    pub mptcp: Option<Box<Mptcp>>,
}

/// Unusual facts about a stream.
#[derive(Default)]
pub struct Irregularities {
    pub gaps: Vec<Gap>,
    pub conflicts: [Vec<Conflict>; 2],
    pub anomalies: Vec<Anomaly>,
}

impl Irregularities {
    fn memory_bytes(&self) -> usize {
        let conflicts = self.conflicts.iter().map(|conflicts| size_of_val(conflicts.as_slice())).sum::<usize>();
        size_of::<Self>() + size_of_val(self.gaps.as_slice()) + size_of_val(self.anomalies.as_slice()) + conflicts
    }
}

impl Record {
    /// Creates the record of a stream that ends.
    pub fn of<D>(stream: &Stream<'_, D>, end: EndReason) -> Self {
        let conflicts = DIRECTIONS.map(|direction| stream.conflicts(direction));
        let is_irregular = !stream.gaps().is_empty()
            || !stream.anomalies().is_empty()
            || conflicts.iter().any(|conflicts| !conflicts.is_empty());
        let irregularities = is_irregular.then(|| {
            let conflicts = conflicts.map(<[Conflict]>::to_vec);
            Box::new(Irregularities { gaps: stream.gaps().to_vec(), conflicts, anomalies: stream.anomalies().to_vec() })
        });
        Self { irregularities, ..Self::of_figures(stream, end) }
    }

    /// Creates the record of a stream that ends, without lists of unusual facts.
    pub fn of_figures<D>(stream: &Stream<'_, D>, end: EndReason) -> Self {
        Self {
            id: stream.id(),
            key: stream.key(),
            client_known: stream.client_known(),
            client_by: stream.client_by(),
            time_back: stream.time_back(),
            time_outliers: stream.time_outliers(),
            state: stream.state(),
            end,
            priority: stream.priority(),
            start_ns: stream.start().as_nanos(),
            end_ns: stream.end().as_nanos(),
            stats: DIRECTIONS.map(|direction| stream.stats(direction)),
            irregularities: None,
            app: None,
            cut_off: None,
            mptcp: stream.mptcp().map(Box::new),
        }
    }

    /// The record as descriptions of records have it.
    pub fn view(&self) -> FlowRecord<'_> {
        let lists = self.irregularities.as_deref();
        let mut record = FlowRecord::new(self.id, self.key, self.state, self.end);
        (record.client_known, record.client_by) = (self.client_known, self.client_by);
        [record.start, record.last] = [self.start_ns, self.end_ns].map(Timestamp::from_nanos);
        record.opened = record.start;
        (record.time_back, record.time_outliers) = (self.time_back, self.time_outliers);
        record.stats = self.stats;
        if let Some(lists) = lists {
            record.gaps = &lists.gaps;
            record.anomalies = &lists.anomalies;
            record.conflicts = [&lists.conflicts[0], &lists.conflicts[1]];
        }
        record.cut_off = self.cut_off.as_deref().copied();
        record.app = self.app.as_deref();
        record.priority = self.priority;
        record.mptcp = self.mptcp.as_deref().copied();
        record
    }

    /// Bytes that it holds beside itself.
    pub fn heap_bytes(&self) -> usize {
        let app = self.app.as_deref().map_or(0, |app| app.memory_bytes() as usize);
        let irregularities = self.irregularities.as_deref().map_or(0, Irregularities::memory_bytes);
        let mptcp = self.mptcp.as_deref().map_or(0, size_of_val);
        app + irregularities + mptcp + self.cut_off.as_deref().map_or(0, size_of_val)
    }

    /// Packets of both directions.
    pub fn packets(&self) -> u64 {
        self.stats[0].packets + self.stats[1].packets
    }

    /// Bytes of both directions, from the network layer up.
    pub fn bytes(&self) -> u64 {
        self.stats[0].ip_bytes + self.stats[1].ip_bytes
    }

    /// From the first packet to the last.
    pub fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// The name of a protocol in records, or its number.
pub fn proto_name(proto: u8) -> Cow<'static, str> {
    tidewire::protocol_name(proto).map_or_else(|| proto.to_string().into(), Cow::Borrowed)
}

/// The name of a tunnel in records; `None` outside of tunnels.
pub fn tunnel_name(tunnel: Tunnel) -> Option<&'static str> {
    (tunnel.kind != TunnelKind::None).then(|| tunnel.kind.name())
}

/// The VLAN ids, from the outside in.
pub fn vlans(key: &FlowKey) -> impl Iterator<Item = u64> {
    key.vlans.iter().map(u64::from)
}

/// Formats an endpoint: `10.0.0.1:80`, `[2001:db8::1]:80`, or only the address.
pub fn endpoint(endpoint: Endpoint, proto: u8) -> String {
    match endpoint.address {
        address if !has_ports(proto) => address.to_string(),
        std::net::IpAddr::V4(address) => format!("{address}:{}", endpoint.port),
        std::net::IpAddr::V6(address) => format!("[{address}]:{}", endpoint.port),
    }
}

/// TCP flags as tcpdump's letters, in the order FSRPAUEWe.
pub fn flags(flags: u16) -> String {
    "FSRPAUEWe".chars().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1).map(|(_, letter)| letter).collect()
}

/// The VLAN ids as one cell.
pub fn vlan_cell(key: &FlowKey) -> String {
    key.vlans.to_string()
}

/// The tunnel as one cell.
pub fn tunnel_cell(key: &FlowKey) -> String {
    tunnel_name(key.tunnel).map(|kind| format!("{kind} {}", key.tunnel.id)).unwrap_or_default()
}

/// The state as one cell; empty if the protocol has none.
pub fn state_cell(record: &Record) -> String {
    if record.state == TcpState::Stateless { String::new() } else { record.state.name().replace('_', " ") }
}

/// Notes beneath a row for columns that are not shown: only unusual facts.
pub fn asides(record: &Record) -> Vec<Aside> {
    let mut asides = Vec::new();
    let mut say = |title: &'static str, text: String| asides.push(Aside { title, text });
    // A server that is named by its address is in the row.
    let address = record.key.server.address.to_string();
    let name = record.app.as_deref().and_then(app_cells::name);
    if let Some(name) = name.filter(|name| name.trim_matches(['[', ']']) != address) {
        say("NAME", format!("name {}", app_cells::cell(name)));
    }
    let is_usual = matches!(record.state, TcpState::Stateless | TcpState::Established | TcpState::Closed);
    if !is_usual {
        say("STATE", format!("state: {}", state_cell(record)));
    }
    if !matches!(record.end, EndReason::Fin | EndReason::Rst | EndReason::EndOfInput) {
        say("END", format!("end: {}", record.end.name().replace('_', " ")));
    }
    for (direction, stats) in DIRECTIONS.iter().map(|direction| direction.name()).zip(&record.stats) {
        if stats.retransmitted_bytes > 0 {
            say("RETRANS", format!("{direction} {} retransmitted", Bytes(stats.retransmitted_bytes)));
        }
        if stats.out_of_order_packets > 0 {
            let packets = counted(stats.out_of_order_packets, "packet", "packets");
            say("REORDERED", format!("{direction} {packets} out of order"));
        }
        if stats.missing_bytes > 0 {
            say("MISSING", format!("{direction} {} missing", Bytes(stats.missing_bytes)));
        }
    }
    let cut = record.cut_off.iter().flat_map(|amounts| DIRECTIONS.iter().zip(amounts.iter()));
    for (direction, amount) in cut.filter(|(_, amount)| amount.packets > 0) {
        say("CUT OFF", format!("{} {}", direction.name(), cut_off::words(amount)));
    }
    if let Some(mptcp) = record.mptcp.as_deref() {
        let token = mptcp.known_token().map_or(String::new(), |token| format!(", token {token:08x}"));
        let which = match (mptcp.is_joined, mptcp.subflows) {
            (true, _) if mptcp.is_together => "further subflow of MPTCP, part of the first one's stream".into(),
            (true, _) => "further subflow of MPTCP".into(),
            (false, 0) => "first subflow of MPTCP".to_owned(),
            (false, subflows) => format!("stream of {} of MPTCP", counted(subflows.into(), "subflow", "subflows")),
        };
        say("MPTCP", format!("{which}{token}"));
    }
    let vlan = vlan_cell(&record.key);
    if !vlan.is_empty() {
        say("VLAN/TUNNEL", format!("vlan {vlan}"));
    }
    let tunnel = tunnel_cell(&record.key);
    if !tunnel.is_empty() {
        say("VLAN/TUNNEL", format!("tunnel {tunnel}"));
    }
    asides
}
