//! Assigns packets to flows, fragments included, and records where each packet went.

use std::{collections::HashMap, net::IpAddr};

use tidewire_types::ip_protocol;
use tidewire_wire::{Decoded, Kind, Vlans, addresses, ports};

/// Most flows; each takes about 200 bytes.
pub const FLOWS_MAX: usize = 4 << 20;

/// The key of a flow, both directions: its endpoints in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub ends: [(IpAddr, u16); 2],
    pub proto: u8,
    /// VLAN ids and tunnel, to separate equal addresses of different networks.
    vlans: Vlans,
    tunnel: (u8, u32),
}

/// The key of a fragmented datagram, one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Datagram {
    ends: [IpAddr; 2],
    id: u32,
    proto: u8,
}

/// Destinations of a flow's packets.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// Number of its first packet.
    pub first: u64,
    pub packets: u64,
    /// Packets without a destination.
    pub dropped: u64,
    /// Packets by destination.
    pub places: Vec<(u32, u64)>,
}

impl Flow {
    fn add(&mut self, number: u64, places: &[u32]) {
        self.first = if self.packets == 0 { number } else { self.first.min(number) };
        self.packets += 1;
        self.dropped += u64::from(places.is_empty());
        for place in places {
            match self.places.iter_mut().find(|known| known.0 == *place) {
                Some(known) => known.1 += 1,
                None => self.places.push((*place, 1)),
            }
        }
    }

    /// Whether no destination got all packets.
    pub fn is_split(&self) -> bool {
        let whole = self.places.iter().any(|place| place.1 == self.packets);
        !whole && !self.places.is_empty()
    }
}

/// A fragment before the first fragment of its datagram: its number and destinations.
type Early = Vec<(u64, Vec<u32>)>;

/// All flows of a capture.
#[derive(Debug, Default)]
pub struct Flows {
    flows: HashMap<Key, Flow>,
    datagrams: HashMap<Datagram, Key>,
    early: HashMap<Datagram, (Key, Early)>,
}

impl Flows {
    /// Records the destinations of a packet; `false` if there are too many flows.
    pub fn add(&mut self, number: u64, frame: &[u8], decoded: &Decoded, places: &[u32]) -> bool {
        if !is_flow(decoded) {
            return true;
        }
        let (source, destination) = addresses(frame, decoded);
        let key = |ports: (u16, u16)| Key {
            ends: if (source, ports.0) <= (destination, ports.1) {
                [(source, ports.0), (destination, ports.1)]
            } else {
                [(destination, ports.1), (source, ports.0)]
            },
            proto: decoded.proto,
            vlans: decoded.vlans,
            tunnel: (decoded.tunnel.kind as u8, decoded.tunnel.id),
        };
        if decoded.kind != Kind::Fragment {
            self.flow(key(ports(frame, decoded)), number, places);
            return self.has_room();
        }
        let datagram = Datagram { ends: [source, destination], id: decoded.fragment.id, proto: decoded.proto };
        if decoded.fragment.offset_bytes == 0 {
            let key = key(fragment_ports(frame, decoded));
            self.datagrams.insert(datagram, key);
            self.flow(key, number, places);
            for (number, places) in self.early.remove(&datagram).map(|early| early.1).unwrap_or_default() {
                self.flow(key, number, &places);
            }
        } else if let Some(key) = self.datagrams.get(&datagram).copied() {
            self.flow(key, number, places);
        } else {
            let entry = self.early.entry(datagram).or_insert_with(|| (key((0, 0)), Vec::new()));
            entry.1.push((number, places.to_vec()));
        }
        self.has_room()
    }

    fn flow(&mut self, key: Key, number: u64, places: &[u32]) {
        self.flows.entry(key).or_default().add(number, places);
    }

    fn has_room(&self) -> bool {
        self.flows.len() + self.datagrams.len() + self.early.len() <= FLOWS_MAX
    }

    /// All flows, by first packet. Fragments without a first fragment are flows without ports.
    pub fn finish(mut self) -> Vec<(Key, Flow)> {
        for (_, (key, fragments)) in std::mem::take(&mut self.early) {
            for (number, places) in fragments {
                self.flow(key, number, &places);
            }
        }
        let mut flows: Vec<_> = self.flows.into_iter().collect();
        flows.sort_by_key(|flow| flow.1.first);
        flows
    }
}

fn is_flow(decoded: &Decoded) -> bool {
    !matches!(decoded.kind, Kind::Arp | Kind::OtherLink | Kind::UnsupportedLink | Kind::Malformed)
}

/// The ports at the start of a first fragment, if its protocol has ports.
fn fragment_ports(frame: &[u8], decoded: &Decoded) -> (u16, u16) {
    match frame.get(decoded.fragment.data_at as usize..) {
        Some(&[a, b, c, d, ..]) if ip_protocol::has_ports(decoded.proto) => {
            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        }
        _ => (0, 0),
    }
}

impl Key {
    /// As a line names it.
    pub fn text(&self) -> String {
        let proto = match self.proto {
            ip_protocol::ICMP => "icmp".into(),
            ip_protocol::TCP => "tcp".into(),
            ip_protocol::UDP => "udp".into(),
            ip_protocol::ICMP6 => "icmp6".into(),
            ip_protocol::SCTP => "sctp".into(),
            other => format!("proto {other}"),
        };
        let end = |(address, port): (IpAddr, u16)| match (address, port) {
            (address, 0) => address.to_string(),
            (IpAddr::V4(address), port) => format!("{address}:{port}"),
            (IpAddr::V6(address), port) => format!("[{address}]:{port}"),
        };
        format!("{proto} {} - {}", end(self.ends[0]), end(self.ends[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_split_when_no_worker_got_all_of_it() {
        let mut flow = Flow::default();
        flow.add(1, &[2]);
        flow.add(2, &[2, 3]);
        assert!(!flow.is_split(), "worker 2 has everything");
        flow.add(3, &[3]);
        assert!(flow.is_split());
        let mut dropped = Flow::default();
        dropped.add(1, &[]);
        assert!(!dropped.is_split(), "no worker has a part of it");
        dropped.add(2, &[1]);
        assert!(dropped.is_split(), "a part is missing");
    }
}
