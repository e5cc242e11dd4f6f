//! `flow` and `netflow`.

use tidewire::{EndReason, GapCause, TcpState};
use tidewire_types::{hex, ip_protocol, saturating_nanos, tcp_flag};

use crate::{
    eve::{
        common::{Identity, app_proto, icmp_answer, push_time},
        members::push_members,
    },
    json::{Key, Object, member},
    model::FlowRecord,
    records::{Description, Eve, FlowKind},
    time::SECOND_NS,
};

/// Appends the record `flow` of a stream.
pub fn push_flow(out: &mut Vec<u8>, flow: &FlowRecord<'_>) {
    push_flow_of::<FlowKind>(out, flow);
}

/// The same, with members of a description.
pub(crate) fn push_flow_of<D: Description<Kind = FlowKind>>(out: &mut Vec<u8>, flow: &FlowRecord<'_>) {
    let identity = Identity::of_flow(flow);
    let mut object = identity.open(out, "flow", flow.last.as_nanos(), false, None);
    let [client, server] = &flow.stats;
    if let Some(answer) = icmp_answer(&flow.key).filter(|_| server.packets > 0) {
        object.number(member!("response_icmp_type"), answer.into());
        object.number(member!("response_icmp_code"), 0);
    }
    if let Some(app) = flow.app {
        object.plain(member!("app_proto"), app_proto(app.service));
    }
    object.object(member!("flow"), |object| {
        object.number(member!("pkts_toserver"), client.packets);
        object.number(member!("pkts_toclient"), server.packets);
        object.number(member!("bytes_toserver"), client.frame_bytes);
        object.number(member!("bytes_toclient"), server.frame_bytes);
        push_span(object, flow.start.as_nanos(), flow.last.as_nanos());
        object.plain(member!("state"), state(flow));
        object.plain(member!("reason"), reason(flow.end));
        object.truth(member!("alerted"), false);
        push_transactions(object, flow);
        push_members::<D, { Eve::Flow as u8 }>(object, flow);
    });
    if flow.key.proto == ip_protocol::TCP {
        object.object(member!("tcp"), |object| push_tcp(object, flow));
    }
    identity.close(object, |object| push_own::<D>(object, flow));
    out.push(b'\n');
}

/// Appends the records `netflow` of a stream: the client's, and the server's if it sent packets. Begin and end are the stream's.
pub fn push_netflow(out: &mut Vec<u8>, flow: &FlowRecord<'_>) {
    let identity = Identity::of_flow(flow);
    for (side, stats) in flow.stats.iter().enumerate().filter(|(side, stats)| *side == 0 || stats.packets > 0) {
        let mut object = identity.open(out, "netflow", flow.last.as_nanos(), side == 1, None);
        object.plain(member!("app_proto"), flow.app.map_or("unknown", |app| app_proto(app.service)));
        object.object(member!("netflow"), |object| {
            object.number(member!("pkts"), stats.packets);
            object.number(member!("bytes"), stats.frame_bytes);
            push_span(object, flow.start.as_nanos(), flow.last.as_nanos());
            push_transactions(object, flow);
        });
        if flow.key.proto == ip_protocol::TCP {
            object.object(member!("tcp"), |object| {
                push_flags(object, member!("tcp_flags"), low(stats.tcp_flags));
                push_flag_names(object, low(stats.tcp_flags));
            });
        }
        identity.close(object, |_| {});
        out.push(b'\n');
    }
}

/// How many transactions there were: a member that is left out where there was none.
fn push_transactions(object: &mut Object<'_>, flow: &FlowRecord<'_>) {
    if let Some(app) = flow.app.filter(|app| app.transactions > 0) {
        object.number(member!("tx_cnt"), app.transactions.into());
    }
}

/// Begin, end, and whole seconds between.
fn push_span(object: &mut Object<'_>, start_ns: u64, end_ns: u64) {
    push_time(object, member!("start"), start_ns);
    push_time(object, member!("end"), end_ns);
    object.number(member!("age"), (end_ns / SECOND_NS).saturating_sub(start_ns / SECOND_NS));
}

fn state(flow: &FlowRecord<'_>) -> &'static str {
    let both = flow.stats.iter().all(|stats| stats.packets > 0);
    match flow.state {
        TcpState::Established | TcpState::Midstream | TcpState::HalfClosed => "established",
        TcpState::Closed | TcpState::Reset => "closed",
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
    let [client, server] = flow.stats.map(|stats| low(stats.tcp_flags));
    push_flags(object, member!("tcp_flags"), client | server);
    push_flags(object, member!("tcp_flags_ts"), client);
    push_flags(object, member!("tcp_flags_tc"), server);
    push_flag_names(object, client | server);
    let state = match flow.state {
        TcpState::SynSent => "syn_sent",
        TcpState::SynReceived => "syn_recv",
        TcpState::Established | TcpState::Midstream => "established",
        // Of the side that did not close.
        TcpState::HalfClosed if client & tcp_flag::FIN != 0 => "close_wait",
        TcpState::HalfClosed => "fin_wait1",
        TcpState::Closed | TcpState::Reset => "closed",
        _ => "none",
    };
    object.plain(member!("state"), state);
    // Bytes that Suricata's capture would have lost as well, neither those that a cutoff kept back nor urgent ones that were taken out.
    let lost = |side: usize| {
        let is_lost = |cause| !matches!(cause, GapCause::Cutoff | GapCause::Urgent);
        let of = |gap: &&tidewire::Gap| gap.direction as usize == side && is_lost(gap.cause);
        flow.gaps.iter().any(|gap| of(&gap))
    };
    for (side, name) in [member!("ts_gap"), member!("tc_gap")].into_iter().enumerate() {
        if lost(side) {
            object.truth(name, true);
        }
    }
}

/// The flags for which Suricata has a place.
fn low(flags: u16) -> u8 {
    flags as u8
}

/// Flags in two hexadecimal digits.
fn push_flags(object: &mut Object<'_>, name: impl Key, flags: u8) {
    let [high, low] = hex::digits(flags);
    object.key(name).extend_from_slice(&[b'"', high, low, b'"']);
}

/// Those that are set, by name.
fn push_flag_names(object: &mut Object<'_>, flags: u8) {
    let names = [
        (member!("syn"), tcp_flag::SYN),
        (member!("fin"), tcp_flag::FIN),
        (member!("rst"), tcp_flag::RST),
        (member!("psh"), tcp_flag::PSH),
        (member!("ack"), tcp_flag::ACK),
        (member!("urg"), tcp_flag::URG),
        (member!("ecn"), tcp_flag::ECE),
        (member!("cwr"), tcp_flag::CWR),
    ];
    for (name, flag) in names {
        if flags & flag != 0 {
            object.truth(name, true);
        }
    }
}

/// Figures that have no field in Suricata's record.
fn push_own<D: Description<Kind = FlowKind>>(object: &mut Object<'_>, flow: &FlowRecord<'_>) {
    object.plain(member!("end_reason"), flow.end.name());
    object.plain(member!("state"), flow.state.name());
    object.truth(member!("client_known"), flow.client_known);
    if flow.client_by.is_evidence() {
        object.plain(member!("client_by"), flow.client_by.name());
    }
    if let Some(back) = flow.time_back {
        object.number(member!("time_back_ns"), saturating_nanos(back));
    }
    if flow.time_outliers > 0 {
        object.number(member!("time_outliers"), flow.time_outliers.into());
    }
    object.number(member!("gaps"), flow.gaps.len() as u64);
    object.number(member!("conflicts"), flow.conflicts.iter().map(|list| list.len() as u64).sum());
    object.number(member!("anomalies"), flow.anomalies.len() as u64);
    for (side, name) in [member!("toserver"), member!("toclient")].into_iter().enumerate() {
        let stats = &flow.stats[side];
        object.object(name, |object| {
            object.number(member!("ip_bytes"), stats.ip_bytes);
            object.number(member!("payload_bytes"), stats.payload_wire_bytes);
            object.number(member!("reassembled_bytes"), stats.reassembled_bytes);
            object.number(member!("retransmitted_bytes"), stats.retransmitted_bytes);
            object.number(member!("out_of_order_packets"), stats.out_of_order_packets);
            object.number(member!("missing_bytes"), stats.missing_bytes);
            match side {
                0 => push_members::<D, { Eve::ToServer as u8 }>(object, flow),
                _ => push_members::<D, { Eve::ToClient as u8 }>(object, flow),
            }
        });
    }
    if let Some(name) = flow.app.and_then(|app| app.first.as_ref()).and_then(|first| first.name()) {
        object.text(member!("name"), name);
    }
    push_members::<D, { Eve::Own as u8 }>(object, flow);
}
