//! The log `conn`.

use std::net::IpAddr;

use tidewire_protocols::Service;

use tidewire_types::ip_protocol;

use crate::{
    model::FlowRecord,
    zeek::{
        cell::{Column, Line, col},
        history::History,
    },
};

#[rustfmt::skip]
pub(super) const COLUMNS: &[Column] = &[
    ("ts", "time"), ("uid", "string"), ("id.orig_h", "addr"), ("id.orig_p", "port"), ("id.resp_h", "addr"), ("id.resp_p", "port"),
    ("proto", "enum"), ("service", "string"), ("duration", "interval"), ("orig_bytes", "count"), ("resp_bytes", "count"),
    ("conn_state", "string"), ("local_orig", "bool"), ("local_resp", "bool"), ("missed_bytes", "count"), ("history", "string"),
    ("orig_pkts", "count"), ("orig_ip_bytes", "count"), ("resp_pkts", "count"), ("resp_ip_bytes", "count"),
    ("tunnel_parents", "set[string]"), ("ip_proto", "count"), ("community_id", "string"),
];

pub(super) fn push(line: &mut Line<'_>, flow: &FlowRecord<'_>, history: &History) {
    line.identity(flow.start.as_nanos(), flow.id, flow.opened.as_nanos(), &flow.key);
    line.at(col!("proto")).word(transport(flow.key.proto));
    if let Some(app) = flow.app {
        line.at(col!("service")).word(service(app.service));
    }
    // Zeek leaves these out where there is one point in time only.
    let duration = history.duration_ns(flow);
    if duration > 0 {
        let [origin, answer] = history.bytes(flow);
        line.at(col!("duration")).seconds(duration);
        line.at(col!("orig_bytes")).count(origin);
        line.at(col!("resp_bytes")).count(answer);
    }
    line.at(col!("conn_state")).word(history.conn_state(flow.key.proto));
    line.at(col!("local_orig")).truth(is_local(flow.key.client.address));
    line.at(col!("local_resp")).truth(is_local(flow.key.server.address));
    line.at(col!("missed_bytes")).count(history.missed_bytes());
    if !history.letters().is_empty() {
        line.at(col!("history")).word(history.letters());
    }
    let [[origin_packets, origin_bytes], [answer_packets, answer_bytes]] =
        [0, 1].map(|side| history.packets(flow, side));
    line.at(col!("orig_pkts")).count(origin_packets);
    line.at(col!("orig_ip_bytes")).count(origin_bytes);
    line.at(col!("resp_pkts")).count(answer_packets);
    line.at(col!("resp_ip_bytes")).count(answer_bytes);
    line.at(col!("tunnel_parents")).texts(history.parents());
    line.at(col!("ip_proto")).count(flow.key.proto.into());
    line.at(col!("community_id")).word(&tidewire::community_id(&flow.key, 0));
}

/// The protocol of a connection as Zeek's type `transport_proto` has it.
pub(super) fn transport(number: u8) -> &'static str {
    match number {
        ip_protocol::TCP => "tcp",
        ip_protocol::UDP => "udp",
        ip_protocol::ICMP | ip_protocol::ICMP6 => "icmp",
        _ => "unknown_transport",
    }
}

/// The name of a protocol's analyzer.
fn service(service: Service) -> &'static str {
    match service {
        Service::Tls => "ssl",
        Service::Llmnr | Service::Mdns => "dns",
        // The hello inside is an analyzer of its own.
        Service::Quic => "quic,ssl",
        other => other.name(),
    }
}

/// Whether an address is in the networks that are private by standard, Zeek's default of `Site::local_nets`.
pub(super) fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [a, b, ..] = address.octets();
            address.is_private() || address.is_loopback() || address.is_link_local() || a == 100 && b & 0xc0 == 64
        }
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local(),
    }
}
