//! Members that records of all types have.

use std::net::{IpAddr, Ipv6Addr};

use tidewire::{FlowKey, TunnelKind, community_id};
use tidewire_protocols::Service;
use tidewire_types::{hex, ip_protocol};
use tidewire_wire::icmp_counterpart;

use crate::{
    eve::proto::push_proto,
    json::{Key, Object, member, push_number},
    model::{Exchange, FlowRecord, MatchRecord, Origin, stream_number},
    time::{SECOND_NS, push_civil, push_microseconds},
};

/// Bits of a flow's number: as many as Suricata's have, fewer than the 53 that readers of JSON keep.
const FLOW_ID_BITS: u32 = 51;

/// A stream as records name it: made once for all records of a transaction, as its hash is most of what one costs.
pub(super) struct Identity<'a> {
    stream: u64,
    flow_id: u64,
    key: &'a FlowKey,
    origin: Origin<'a>,
    community: String,
}

impl<'a> Identity<'a> {
    fn new(stream: u64, start_ns: u64, key: &'a FlowKey, origin: Origin<'a>) -> Self {
        let flow_id = stream_number(stream, start_ns, 0) >> (u64::BITS - FLOW_ID_BITS);
        Self { stream, flow_id, key, origin, community: community_id(key, 0) }
    }

    pub(super) fn of_flow(flow: &'a FlowRecord<'a>) -> Self {
        Self::new(flow.id, flow.opened.as_nanos(), &flow.key, flow.origin)
    }

    pub(super) fn of_exchange(exchange: &'a Exchange<'a>) -> Self {
        Self::new(exchange.stream, exchange.stream_start.as_nanos(), &exchange.key, exchange.origin)
    }

    pub(super) fn of_match(found: &'a MatchRecord<'a>) -> Self {
        Self::new(found.stream, found.stream_start.as_nanos(), &found.key, found.origin)
    }

    /// Opens a record: time, stream, type, addresses. `swapped`: the server's address is the source. `packet`: the number of the
    /// packet that it is about.
    pub(super) fn open<'o>(
        &self,
        out: &'o mut Vec<u8>,
        event: &str,
        time_ns: u64,
        swapped: bool,
        packet: Option<u64>,
    ) -> Object<'o> {
        let mut object = Object::open(out);
        push_time(&mut object, member!("timestamp"), time_ns);
        object.number(member!("flow_id"), self.flow_id);
        if let Some(interface) = self.origin.interface {
            object.text(member!("in_iface"), interface);
        }
        if let Some(packet) = packet {
            object.number(member!("pcap_cnt"), packet);
        }
        object.plain(member!("event_type"), event);
        if !self.key.vlans.is_empty() {
            object.array(member!("vlan"), self.key.vlans.iter().map(u64::from), push_number);
        }
        let mut ends = [
            (member!("src_ip"), member!("src_port"), self.key.client),
            (member!("dest_ip"), member!("dest_port"), self.key.server),
        ];
        if swapped {
            let [from, to] = &mut ends;
            std::mem::swap(&mut from.2, &mut to.2);
        }
        let has_ports = matches!(self.key.proto, ip_protocol::TCP | ip_protocol::UDP | ip_protocol::SCTP);
        for (address, port, end) in ends {
            push_address(&mut object, address, end.address);
            if has_ports {
                object.number(port, end.port.into());
            }
        }
        push_proto(&mut object, self.key.proto);
        // The one record that says it by the addresses alone.
        if event != "netflow" {
            object.number(member!("ip_v"), if self.key.client.address.is_ipv4() { 4 } else { 6 });
        }
        if ip_protocol::is_icmp(self.key.proto) {
            let [kind, code] = match icmp_answer(self.key) {
                Some(answer) if swapped => [answer, 0],
                _ => self.key.icmp,
            };
            object.number(member!("icmp_type"), kind.into());
            object.number(member!("icmp_code"), code.into());
        }
        object
    }

    /// Appends what stands last in a record.
    pub(super) fn close(&self, mut object: Object<'_>, more: impl FnOnce(&mut Object<'_>)) {
        object.plain(member!("community_id"), &self.community);
        if let Some(file) = self.origin.file {
            object.text(member!("pcap_filename"), file);
        }
        object.object(member!("tidewire"), |object| {
            object.number(member!("id"), self.stream);
            if self.key.tunnel.kind != TunnelKind::None {
                object.object(member!("tunnel"), |object| {
                    object.plain(member!("kind"), self.key.tunnel.kind.name());
                    object.number(member!("id"), self.key.tunnel.id.into());
                });
            }
            more(object);
        });
        object.close();
    }
}

/// An address as Suricata writes it: of IPv6 all digits.
fn push_address(object: &mut Object<'_>, name: impl Key, address: IpAddr) {
    let IpAddr::V6(address) = address else { return object.address(name, address) };
    push_address_6(object.key(name), address);
}

/// An address of IPv6 with all digits.
pub(super) fn push_address_6(out: &mut Vec<u8>, address: Ipv6Addr) {
    for (index, group) in address.segments().into_iter().enumerate() {
        out.push(if index == 0 { b'"' } else { b':' });
        hex::push(out, &group.to_be_bytes());
    }
    out.push(b'"');
}

/// The type of ICMP that answers this one, where it is one of a pair that belongs to one stream.
pub(super) fn icmp_answer(key: &FlowKey) -> Option<u8> {
    icmp_counterpart(key.proto, key.icmp[0])
}

/// `2026-11-22T06:30:00.123456+0000`.
pub(super) fn push_time(object: &mut Object<'_>, name: impl Key, ns: u64) {
    let out = object.key(name);
    out.push(b'"');
    push_civil(out, (ns / SECOND_NS) as i64, *b"-T:");
    push_microseconds(out, ns);
    out.extend_from_slice(b"+0000\"");
}

/// The name of an application protocol as Suricata has it. Of those that it does not know, our own.
pub(super) fn app_proto(service: Service) -> &'static str {
    match service {
        // Suricata's parser reports LLMNR as DNS; mDNS has a dedicated one since 8.0.
        Service::Llmnr => "dns",
        other => other.name(),
    }
}
