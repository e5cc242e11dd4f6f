//! Counted quantities: hosts on a port, ports of a host, half-open connections to a service.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use tidewire_events::{Event, FlowKey, Severity, Value};
use tidewire_types::ip_protocol::{TCP, UDP};

use super::{
    ports::PortSet,
    targets::{HostSet, Targets},
    watch::{Entry, Phase, Rule},
};
use crate::{emit::Outlet, settings::ScanSettings};

const HORIZONTAL: &str = "scan.horizontal";
const UDP_SWEEP: &str = "scan.udp-sweep";
const ICMP_SWEEP: &str = "scan.icmp-sweep";
const VERTICAL: &str = "scan.vertical";
const SYN_FLOOD: &str = "scan.syn-flood";

/// The kinds of events of scans.
pub const SCAN_KINDS: &[&str] = &[HORIZONTAL, UDP_SWEEP, ICMP_SWEEP, VERTICAL, SYN_FLOOD];

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// One source and one port: many hosts.
pub(super) struct Hosts;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SourceAndPort {
    pub protocol: u8,
    pub source: IpAddr,
    /// 0 for echo requests.
    pub port: u16,
}

/// One source and one host: many ports.
pub(super) struct Ports;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SourceAndHost {
    pub protocol: u8,
    pub source: IpAddr,
    pub host: IpAddr,
}

/// One service: many half-open connections.
pub(super) struct Services;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct HostAndPort {
    pub host: IpAddr,
    pub port: u16,
}

/// Fields of all events.
fn event<T: Targets>(kind: &str, severity: Severity, key: FlowKey, entry: &Entry<T>, phase: Phase) -> Event {
    Event { time_ns: entry.last_ns, kind: kind.into(), severity, key: Some(key), ..Event::default() }
        .with("phase", Value::Text(phase.name().into()))
        .with("attempts", Value::U64(entry.attempts))
        .with("first", Value::Time(entry.first_ns))
}

impl Rule for Hosts {
    type Key = SourceAndPort;
    type Targets = HostSet;

    fn figure(entry: &Entry<HostSet>) -> u32 {
        entry.different()
    }

    fn threshold(settings: &ScanSettings, key: &SourceAndPort) -> u32 {
        match key.protocol {
            TCP => settings.hosts,
            UDP => settings.udp_hosts,
            _ => settings.icmp_hosts,
        }
    }

    fn window_ns(settings: &ScanSettings) -> u64 {
        nanoseconds(settings.window)
    }

    fn report(outlet: &Outlet, key: &SourceAndPort, entry: &Entry<HostSet>, phase: Phase) {
        let kind = match key.protocol {
            TCP => HORIZONTAL,
            UDP => UDP_SWEEP,
            _ => ICMP_SWEEP,
        };
        let flow = FlowKey {
            protocol: key.protocol,
            client_addr: key.source,
            client_port: 0,
            server_addr: entry.targets.network(),
            server_port: key.port,
        };
        let event = event(kind, Severity::Medium, flow, entry, phase)
            .with("network", Value::Text(format!("{}/{}", entry.targets.network(), entry.targets.prefix())))
            .with("hosts", Value::U64(entry.different().into()))
            .with("is_estimate", Value::Bool(entry.targets.is_estimate()));
        outlet.emit(event);
    }
}

impl Rule for Ports {
    type Key = SourceAndHost;
    type Targets = PortSet;

    fn figure(entry: &Entry<PortSet>) -> u32 {
        entry.different()
    }

    fn threshold(settings: &ScanSettings, key: &SourceAndHost) -> u32 {
        if key.protocol == TCP { settings.ports } else { settings.udp_ports }
    }

    fn window_ns(settings: &ScanSettings) -> u64 {
        nanoseconds(settings.window)
    }

    fn report(outlet: &Outlet, key: &SourceAndHost, entry: &Entry<PortSet>, phase: Phase) {
        let flow = FlowKey {
            protocol: key.protocol,
            client_addr: key.source,
            client_port: 0,
            server_addr: key.host,
            server_port: 0,
        };
        let event = event(VERTICAL, Severity::Medium, flow, entry, phase)
            .with("port_range", Value::Text(entry.targets.range()))
            .with("ports", Value::U64(entry.different().into()))
            .with("is_estimate", Value::Bool(entry.targets.is_estimate()));
        outlet.emit(event);
    }
}

impl Rule for Services {
    type Key = HostAndPort;
    type Targets = HostSet;

    fn figure(entry: &Entry<HostSet>) -> u32 {
        u32::try_from(entry.attempts).unwrap_or(u32::MAX)
    }

    fn threshold(settings: &ScanSettings, _: &HostAndPort) -> u32 {
        settings.half_open
    }

    fn window_ns(settings: &ScanSettings) -> u64 {
        nanoseconds(settings.half_open_window)
    }

    fn report(outlet: &Outlet, key: &HostAndPort, entry: &Entry<HostSet>, phase: Phase) {
        let flow = FlowKey {
            protocol: TCP,
            client_addr: entry.last,
            client_port: 0,
            server_addr: key.host,
            server_port: key.port,
        };
        let event = event(SYN_FLOOD, Severity::High, flow, entry, phase)
            .with("sources", Value::U64(entry.different().into()))
            .with("is_estimate", Value::Bool(entry.targets.is_estimate()));
        outlet.emit(event);
    }
}

/// Whether an address stands for many hosts, or for none.
pub(super) fn is_no_host(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_multicast() || address.is_unspecified() || *address == Ipv4Addr::BROADCAST,
        IpAddr::V6(address) => address.is_multicast() || *address == Ipv6Addr::UNSPECIFIED,
    }
}
