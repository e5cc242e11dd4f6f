//! `flow` and `netflow`.

use tidewire::{EndReason, GapCause, TcpState};

use crate::{
    eve::common::{Identity, app_proto, push_time},
    json::Object,
    model::{FlowRecord, flag, proto},
    time::SECOND_NS,
};

impl<'a> FlowRecord<'a> {
    pub(super) fn identity(&'a self) -> Identity<'a> {
        Identity { stream: self.id, start_ns: self.start_ns, key: &self.key, origin: self.origin }
    }
}

/// Appends the record `flow` of a stream.
pub fn push_flow(out: &mut Vec<u8>, flow: &FlowRecord<'_>) {
    let identity = flow.identity();
    let mut object = identity.open(out, "flow", flow.end_ns, false, None);
    push_app(&mut object, flow);
    let [client, server] = &flow.stats;
    object.object("flow", |object| {
        object.number("pkts_toserver", client.packets);
        object.number("pkts_toclient", server.packets);
        object.number("bytes_toserver", client.frame_bytes);
        object.number("bytes_toclient", server.frame_bytes);
        push_span(object, flow.start_ns, flow.end_ns);
        object.plain("state", state(flow));
        object.plain("reason", reason(flow.end));
        object.truth("alerted", false);
        object.number("tx_cnt", flow.app.map_or(0, |app| app.transactions.into()));
    });
    if flow.key.proto == proto::TCP {
        object.object("tcp", |object| push_tcp(object, flow));
    }
    identity.close(object, |object| push_own(object, flow));
    out.push(b'\n');
}

/// Appends the records `netflow` of a stream: one for each direction that sent packets.
pub fn push_netflow(out: &mut Vec<u8>, flow: &FlowRecord<'_>) {
    let identity = flow.identity();
    for (side, stats) in flow.stats.iter().enumerate().filter(|(_, stats)| stats.packets > 0) {
        let mut object = identity.open(out, "netflow", flow.end_ns, side == 1, None);
        push_app(&mut object, flow);
        object.object("netflow", |object| {
            object.number("pkts", stats.packets);
            object.number("bytes", stats.frame_bytes);
            push_span(object, stats.start_ns, stats.end_ns);
        });
        if flow.key.proto == proto::TCP {
            object.object("tcp", |object| {
                push_flags(object, "tcp_flags", stats.tcp_flags);
                push_flag_names(object, stats.tcp_flags);
            });
        }
        identity.close(object, |_| {});
        out.push(b'\n');
    }
}

fn push_app(object: &mut Object<'_>, flow: &FlowRecord<'_>) {
    if let Some(app) = flow.app {
        object.plain("app_proto", app_proto(app.service));
    }
}

/// Begin, end, and whole seconds between.
fn push_span(object: &mut Object<'_>, start_ns: u64, end_ns: u64) {
    push_time(object, "start", start_ns);
    push_time(object, "end", end_ns);
    object.number("age", (end_ns / SECOND_NS).saturating_sub(start_ns / SECOND_NS));
}

fn state(flow: &FlowRecord<'_>) -> &'static str {
    let both = flow.stats.iter().all(|stats| stats.packets > 0);
    match flow.state {
        TcpState::Established | TcpState::Midstream => "established",
        TcpState::HalfClosed | TcpState::Closed | TcpState::Reset => "closed",
        TcpState::Stateless if both => "established",
        _ => "new",
    }
}

/// Suricata closes a connection by a short timeout, too: `shutdown` is that of the program.
fn reason(end: EndReason) -> &'static str {
    match end {
        EndReason::Reused => "tcp_reuse",
        EndReason::Evicted => "forced",
        EndReason::EndOfInput => "shutdown",
        _ => "timeout",
    }
}

fn push_tcp(object: &mut Object<'_>, flow: &FlowRecord<'_>) {
    let [client, server] = flow.stats.map(|stats| stats.tcp_flags);
    push_flags(object, "tcp_flags", client | server);
    push_flags(object, "tcp_flags_ts", client);
    push_flags(object, "tcp_flags_tc", server);
    push_flag_names(object, client | server);
    let state = match flow.state {
        TcpState::SynSent => "syn_sent",
        TcpState::SynReceived => "syn_recv",
        TcpState::Established | TcpState::Midstream => "established",
        // Of the side that did not close.
        TcpState::HalfClosed if client & flag::FIN != 0 => "close_wait",
        TcpState::HalfClosed => "fin_wait1",
        TcpState::Closed | TcpState::Reset => "closed",
        _ => "none",
    };
    object.plain("state", state);
    // Bytes that Suricata's capture would have lost as well, not those that a cutoff kept back.
    let lost = |side: usize| {
        let of = |gap: &&tidewire::Gap| gap.direction as usize == side && gap.cause != GapCause::Cutoff;
        flow.gaps.iter().any(|gap| of(&gap))
    };
    for (side, name) in ["ts_gap", "tc_gap"].into_iter().enumerate() {
        if lost(side) {
            object.truth(name, true);
        }
    }
}

/// Flags in two hexadecimal digits.
fn push_flags(object: &mut Object<'_>, name: &str, flags: u8) {
    object.plain(name, &crate::json::hex(&[flags]));
}

/// Those that are set, by name.
fn push_flag_names(object: &mut Object<'_>, flags: u8) {
    let names = [
        ("syn", flag::SYN),
        ("fin", flag::FIN),
        ("rst", flag::RST),
        ("psh", flag::PSH),
        ("ack", flag::ACK),
        ("urg", flag::URG),
        ("ecn", flag::ECE),
        ("cwr", flag::CWR),
    ];
    for (name, flag) in names {
        if flags & flag != 0 {
            object.truth(name, true);
        }
    }
}

/// Figures that have no field in Suricata's record.
fn push_own(object: &mut Object<'_>, flow: &FlowRecord<'_>) {
    object.plain("end_reason", flow.end.name());
    object.plain("state", flow.state.name());
    object.truth("client_known", flow.client_known);
    object.number("gaps", flow.gaps.len() as u64);
    object.number("conflicts", flow.conflicts.iter().map(|list| list.len() as u64).sum());
    object.number("anomalies", flow.anomalies.len() as u64);
    for (stats, name) in flow.stats.iter().zip(["toserver", "toclient"]) {
        object.object(name, |object| {
            object.number("ip_bytes", stats.ip_bytes);
            object.number("payload_bytes", stats.payload_wire_bytes);
            object.number("reassembled_bytes", stats.reassembled_bytes);
            object.number("retransmitted_bytes", stats.retransmitted_bytes);
            object.number("out_of_order_packets", stats.out_of_order_packets);
            object.number("missing_bytes", stats.missing_bytes);
        });
    }
    if let Some(name) = flow.app.and_then(|app| app.first.as_ref()).and_then(|first| first.name()) {
        object.text("name", name);
    }
}
