//! Which events are shown.

use std::{
    cell::{Cell, RefCell},
    net::IpAddr,
};

use tidewire::LinkType;
use tidewire_event_store::Query;
use tidewire_events::{Event, FlowKey, Record, Severity, is_name_pattern};
use tidewire_filter::Filter;

use super::options::Options;
use crate::{error::CliError, times};

/// Conditions on records and events.
pub struct Selection {
    since_ns: Option<u64>,
    until_ns: Option<u64>,
    severity: Severity,
    kinds: Vec<String>,
    analyzers: Vec<String>,
    filter: Option<RefCell<Filter>>,
    /// Encrypted records that could not be compared with the filter.
    unexamined: Cell<u64>,
}

impl Selection {
    pub fn new(options: &Options) -> Result<Self, CliError> {
        let now = times::now_ns();
        let filter = match &options.filter[..] {
            [] => None,
            words => {
                let mut filter = Filter::new(&words.join(" "))
                    .map_err(|error| CliError::Usage(format!("the filter does not compile: {error}")))?;
                let prepared = filter.prepare(LinkType::RAW);
                prepared.map_err(|error| {
                    CliError::Usage(format!("the filter is not about addresses, ports or protocols: {error}"))
                })?;
                Some(RefCell::new(filter))
            }
        };
        if let Some(wrong) = options.kind.iter().find(|kind| !is_name_pattern(kind)) {
            let expected = "expected a kind, or the beginning of kinds and a *, as in 'scan.*'";
            return Err(CliError::Usage(format!("invalid --kind '{wrong}': {expected}")));
        }
        Ok(Self {
            since_ns: options
                .since
                .as_ref()
                .map(|text| times::parse(text, now))
                .transpose()
                .map_err(CliError::Usage)?,
            until_ns: options
                .until
                .as_ref()
                .map(|text| times::parse_last(text, now))
                .transpose()
                .map_err(CliError::Usage)?,
            severity: options.severity.map_or(Severity::Info, Severity::from),
            kinds: options.kind.clone(),
            analyzers: options.analyzer.clone(),
            filter,
            unexamined: Cell::new(0),
        })
    }

    /// The part of the selection that a store can look for by itself.
    pub fn query(&self, after: u64) -> Query<'_> {
        Query {
            after,
            since_ns: self.since_ns,
            until_ns: self.until_ns,
            severity: self.severity,
            kinds: &self.kinds,
            analyzers: &self.analyzers,
            ..Query::default()
        }
    }

    /// Whether a beginning of the time was given.
    pub fn has_begin(&self) -> bool {
        self.since_ns.is_some()
    }

    /// Encrypted records, of which it is unknown whether the filter matches them.
    pub fn unexamined(&self) -> u64 {
        self.unexamined.get()
    }

    /// Whether any event of a record matches the filter. Of an encrypted one that is unknown: it is counted.
    pub fn matches(&self, record: Option<&Record>) -> bool {
        let Some(filter) = &self.filter else { return true };
        let Some(record) = record else {
            self.unexamined.set(self.unexamined.get() + 1);
            return false;
        };
        let matches = |key: &Option<FlowKey>| key.is_some_and(|key| matches_key(&mut filter.borrow_mut(), &key));
        let Ok(mut unfold) = record.unfold() else { return false };
        while let Ok(Some((_, message))) = unfold.next() {
            if message.event().is_ok_and(|event| matches(&event.key)) {
                return true;
            }
        }
        false
    }

    /// Whether an original is wanted.
    pub fn has(&self, event: &Event) -> bool {
        let is_in_time = self.since_ns.is_none_or(|since| event.time_ns >= since)
            && self.until_ns.is_none_or(|until| event.time_ns <= until);
        let matches =
            |filter: &RefCell<Filter>| event.key.is_some_and(|key| matches_key(&mut filter.borrow_mut(), &key));
        is_in_time && self.filter.as_ref().is_none_or(matches)
    }
}

fn matches_key(filter: &mut Filter, key: &FlowKey) -> bool {
    let packet = packet(key);
    filter.matches(LinkType::RAW, &packet, packet.len() as u32).unwrap_or(false)
}

/// A packet from the client to the server: headers only, with a SYN where they are TCP's.
fn packet(key: &FlowKey) -> Vec<u8> {
    let transport = {
        let [client, server] = [key.client_port, key.server_port].map(u16::to_be_bytes);
        let mut header = vec![0; 20];
        header[..4].copy_from_slice(&[client, server].concat());
        // Data offset and flags of TCP; for others this is payload.
        (header[12], header[13]) = (5 << 4, 2);
        header
    };
    let mut packet = match (key.client_addr, key.server_addr) {
        (IpAddr::V4(client), IpAddr::V4(server)) => {
            let mut header = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, key.protocol, 0, 0];
            header.extend(client.octets().into_iter().chain(server.octets()));
            header
        }
        (client, server) => {
            let octets = |address: IpAddr| match address {
                IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                IpAddr::V6(address) => address.octets(),
            };
            let mut header = vec![0x60, 0, 0, 0, 0, 20, key.protocol, 64];
            header.extend(octets(client).into_iter().chain(octets(server)));
            header
        }
    };
    packet.extend(transport);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_matched_as_packets_are() {
        let v4 = FlowKey {
            protocol: 6,
            client_addr: "192.0.2.1".parse().expect("an address"),
            client_port: 40_000,
            server_addr: "198.51.100.2".parse().expect("an address"),
            server_port: 80,
        };
        let v6 = FlowKey {
            protocol: 17,
            client_addr: "2001:db8::1".parse().expect("an address"),
            server_addr: "2001:db8::2".parse().expect("an address"),
            ..v4
        };
        for (expression, of_v4, of_v6) in [
            ("tcp", true, false),
            ("udp port 80", false, true),
            ("host 192.0.2.1", true, false),
            ("src host 198.51.100.2", false, false),
            ("dst port 80", true, true),
            ("ip6 and net 2001:db8::/32", false, true),
            ("tcp[tcpflags] & tcp-syn != 0", true, false),
            ("not tcp", false, true),
        ] {
            let mut filter = Filter::new(expression).expect(expression);
            assert_eq!((matches_key(&mut filter, &v4), matches_key(&mut filter, &v6)), (of_v4, of_v6), "{expression}");
        }
    }
}
