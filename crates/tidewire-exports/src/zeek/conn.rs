//! The log `conn`.

use std::net::IpAddr;

use tidewire_protocols::Service;

use crate::{
    model::{FlowRecord, proto},
    zeek::{
        cell::{Column, Line},
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
    line.identity(flow.start_ns, flow.id, flow.opened_ns, &flow.key);
    line.word(transport(flow.key.proto));
    match flow.app {
        Some(app) => line.word(service(app.service)),
        None => line.unset(),
    }
    // Zeek leaves these out where there is one point in time only.
    match history.duration_ns(flow) {
        0 => line.unset_all(3),
        duration => {
            line.seconds(duration);
            history.bytes(flow).into_iter().for_each(|bytes| line.count(bytes));
        }
    }
    line.word(history.conn_state(flow.key.proto));
    line.truth(is_local(flow.key.client.address));
    line.truth(is_local(flow.key.server.address));
    line.count(history.missed_bytes());
    match history.letters() {
        "" => line.unset(),
        letters => line.word(letters),
    }
    for side in 0..2 {
        history.packets(flow, side).into_iter().for_each(|count| line.count(count));
    }
    line.texts(history.parents());
    line.count(flow.key.proto.into());
    line.word(&tidewire::community_id(&flow.key, 0));
}

/// The protocol of a connection as Zeek's type `transport_proto` has it.
pub(super) fn transport(number: u8) -> &'static str {
    match number {
        proto::TCP => "tcp",
        proto::UDP => "udp",
        proto::ICMP | proto::ICMP6 => "icmp",
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
