//! Which side of a new flow is the client, where no handshake shows it: what its first packet says, and its ports.

use crate::{
    ClientBy,
    flow::Key,
    packet::Packet,
    wire::{Kind, addresses, icmp_counterpart, icmp_request},
};

/// Ports below this one are given to services (RFC 6335 section 6: system ports).
const SYSTEM_PORTS: u16 = 1024;
/// Ports from this one on are given to clients by Linux (`ip_local_port_range`); those of RFC 6335 begin higher.
const EPHEMERAL_PORTS: u16 = 32_768;

/// Ports of DNS, NetBIOS names and LLMNR, whose messages say whether they answer (RFC 1035 section 4.1.1, RFC 1002
/// section 4.2.1.1, RFC 4795 section 2.1.1). Not of mDNS, whose answers come unasked.
const NAME_PORTS: [u16; 3] = [53, 137, 5355];
/// The port of NTP (RFC 5905).
const NTP_PORT: u16 = 123;
/// The mode of a server's packets of NTP (RFC 5905 figure 10).
const NTP_SERVER: u8 = 4;

/// First messages and answers of servers: HTTP, RTSP, SIP, SMTP and FTP, POP3, IMAP.
const SAID_BY_SERVERS: [&[u8]; 9] =
    [b"HTTP/1.", b"RTSP/1.0 ", b"SIP/2.0 ", b"220 ", b"220-", b"+OK", b"-ERR", b"* OK", b"ICY 200"];
/// First messages of clients: methods of HTTP (RFC 9110 section 9.1), the preface of HTTP/2, the greeting of SMTP.
const SAID_BY_CLIENTS: [&[u8]; 12] = [
    b"GET ",
    b"POST ",
    b"HEAD ",
    b"PUT ",
    b"DELETE ",
    b"CONNECT ",
    b"OPTIONS ",
    b"TRACE ",
    b"PATCH ",
    b"PRI * HTTP",
    b"EHLO ",
    b"HELO ",
];
/// Types of TLS handshake messages (RFC 8446 section 4).
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;

/// Whether the sender of a flow's first packet is the client, and by what. `from_a`: see [`Key`].
pub(super) fn of(packet: &Packet<'_>, key: &Key, from_a: bool, is_tcp: bool) -> (bool, ClientBy) {
    let ports = (key.port(from_a), key.port(!from_a));
    let by_system_port = ports.0 < SYSTEM_PORTS && ports.1 >= SYSTEM_PORTS;
    if is_tcp {
        if by_system_port || ports.1 < SYSTEM_PORTS && ports.0 >= SYSTEM_PORTS {
            return (!by_system_port, ClientBy::Ports);
        }
        if let Some(by_client) = by_bytes(packet.payload()) {
            return (by_client, ClientBy::Message);
        }
        let is_ephemeral = [ports.0, ports.1].map(|port| port >= EPHEMERAL_PORTS);
        return match is_ephemeral[0] != is_ephemeral[1] {
            true => (is_ephemeral[0], ClientBy::Ports),
            false => (true, ClientBy::FirstPacket),
        };
    }
    // A packet to a group or to all hosts answers no other.
    if is_to_many(packet) {
        return (true, ClientBy::FirstPacket);
    }
    match packet.decoded.kind {
        Kind::Icmp | Kind::Icmp6 if answers(packet) => (false, ClientBy::Message),
        Kind::Udp | Kind::UdpLite => of_datagram(packet.payload(), ports),
        _ => (true, ClientBy::FirstPacket),
    }
}

/// The same of a datagram. `ports`: the sender's and the receiver's.
fn of_datagram(bytes: &[u8], ports: (u16, u16)) -> (bool, ClientBy) {
    let is_answer = if NAME_PORTS.contains(&ports.0) || NAME_PORTS.contains(&ports.1) {
        bytes.get(2).map(|flags| flags & 0x80 != 0)
    } else if ports.0 == NTP_PORT {
        bytes.first().map(|first| first & 7 == NTP_SERVER)
    } else {
        bytes.starts_with(b"SIP/2.0 ").then_some(true)
    };
    match is_answer {
        Some(true) => (false, ClientBy::Message),
        None if ports.0 < SYSTEM_PORTS && ports.1 >= EPHEMERAL_PORTS => (false, ClientBy::Ports),
        _ => (true, ClientBy::FirstPacket),
    }
}

/// Whether the beginning of a segment's payload is said by a client; `None`: either may say it.
fn by_bytes(bytes: &[u8]) -> Option<bool> {
    if let [0x16, 3, _, _, _, kind @ (CLIENT_HELLO | SERVER_HELLO), ..] = bytes {
        return Some(*kind == CLIENT_HELLO);
    }
    let begins = |said: &&[u8]| bytes.starts_with(said);
    match SAID_BY_SERVERS.iter().any(begins) {
        true => Some(false),
        false => SAID_BY_CLIENTS.iter().any(begins).then_some(true),
    }
}

fn is_to_many(packet: &Packet<'_>) -> bool {
    match addresses(packet.bytes, packet.decoded).1 {
        std::net::IpAddr::V4(to) => to.is_multicast() || to.octets()[3] == 255,
        std::net::IpAddr::V6(to) => to.is_multicast(),
    }
}

/// Whether a packet of ICMP is of a type that answers another.
fn answers(packet: &Packet<'_>) -> bool {
    let kind = packet.bytes.get(packet.decoded.transport_at as usize).copied().unwrap_or(0);
    let proto = packet.decoded.proto;
    icmp_counterpart(proto, kind).is_some() && icmp_request(proto, kind) != kind
}
