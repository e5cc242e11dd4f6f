//! The promises of the header views: each getter is called, and values that the walk has too are compared with it.

use crate::{Headers, Kind, LinkType, Vlans, addresses, icmp_type_and_code, ports};

/// A name that is returned where the promise does not hold.
type Promise = (bool, &'static str);

impl Headers<'_> {
    /// The documented invariant that a view violates, if any: for tests and fuzzing.
    #[must_use]
    pub fn broken_promise(&self) -> Option<&'static str> {
        let promises = [self.presence(), self.ipv4_promises(), self.ipv6_promises(), self.transport_promises()];
        let broken = promises.into_iter().chain([self.ethernet_promises()]).flatten().find(|(kept, _)| !kept);
        broken.map(|(_, promise)| promise)
    }

    /// Each header is there exactly where the walk found one.
    fn presence(&self) -> Vec<Promise> {
        let is = |kinds: &[Kind]| kinds.contains(&self.decoded().kind);
        let has_link = self.link() == LinkType::ETHERNET && self.bytes().len() >= 14;
        vec![
            (self.ipv4().is_some() == (self.decoded().ip_version == 4), "an IPv4 header where the flow has one"),
            (self.ipv6().is_some() == (self.decoded().ip_version == 6), "an IPv6 header where the flow has one"),
            (self.tcp().is_some() == is(&[Kind::Tcp]), "a TCP header where the walk found one"),
            (self.udp().is_some() == is(&[Kind::Udp]), "a UDP header where the walk found one"),
            (self.sctp().is_some() == is(&[Kind::Sctp]), "an SCTP header where the walk found one"),
            (self.icmp().is_some() == is(&[Kind::Icmp, Kind::Icmp6]), "an ICMP message where the walk found one"),
            (self.ethernet().is_some() == has_link, "an Ethernet header where it was captured"),
            (self.payload().len() == self.decoded().payload_captured_bytes as usize, "the payload that the walk found"),
        ]
    }

    fn ipv4_promises(&self) -> Vec<Promise> {
        let mut promises = Vec::new();
        for ip in [self.ipv4(), self.outer_ipv4()].into_iter().flatten() {
            let _ = (ip.total_bytes(), ip.identification(), ip.dont_fragment(), ip.checksum());
            promises.push((ip.dscp() < 64 && ip.ecn() < 4, "six bits of DSCP and two of ECN"));
            let options_bytes = ip.header_bytes().saturating_sub(20);
            promises.push((ip.option_bytes().len() <= options_bytes, "options end with the header"));
        }
        if let Some(ip) = self.ipv4() {
            let (decoded, (source, destination)) = (self.decoded(), addresses(self.bytes(), self.decoded()));
            let place = (ip.more_fragments(), ip.fragment_offset_bytes(), ip.protocol());
            let fragment = (decoded.fragment.more, decoded.fragment.offset_bytes, decoded.proto);
            promises.push((ip.ttl() == decoded.ttl, "the TTL of the walk"));
            promises.push((ip.source() == source && ip.destination() == destination, "IPv4 addresses of the flow"));
            promises.push((decoded.kind != Kind::Fragment || place == fragment, "the fragment's place"));
        }
        promises
    }

    fn ipv6_promises(&self) -> Vec<Promise> {
        let mut promises = Vec::new();
        for ip in [self.ipv6(), self.outer_ipv6()].into_iter().flatten() {
            let _ = (ip.payload_bytes(), ip.next_header());
            promises.push((ip.dscp() < 64 && ip.ecn() < 4, "six bits of DSCP and two of ECN"));
            promises.push((ip.flow_label() < 1 << 20, "20 bits of flow label"));
        }
        if let Some(ip) = self.ipv6() {
            let (decoded, (source, destination)) = (self.decoded(), addresses(self.bytes(), self.decoded()));
            promises.push((ip.hop_limit() == decoded.ttl, "the hop limit of the walk"));
            promises.push((ip.source() == source, "the source of the flow"));
            promises.push((decoded.is_routed || ip.destination() == destination, "the destination of the flow"));
        }
        promises
    }

    fn transport_promises(&self) -> Vec<Promise> {
        let decoded = self.decoded();
        let mut promises = Vec::new();
        let mut has_ports = |both| promises.push((both == ports(self.bytes(), decoded), "the ports of the flow"));
        if let Some(udp) = self.udp() {
            let _ = (udp.length(), udp.checksum());
            has_ports((udp.source_port(), udp.destination_port()));
        }
        if let Some(sctp) = self.sctp() {
            let _ = (sctp.verification_tag(), sctp.checksum());
            has_ports((sctp.source_port(), sctp.destination_port()));
        }
        if let Some(tcp) = self.tcp() {
            let _ = (tcp.sequence(), tcp.acknowledgment(), tcp.flags(), tcp.window(), tcp.checksum());
            let _ = (tcp.urgent_pointer(), tcp.timestamps(), tcp.maximum_segment_size(), tcp.sack_permitted());
            has_ports((tcp.source_port(), tcp.destination_port()));
            let header_bytes = decoded.payload_at.saturating_sub(decoded.transport_at);
            promises.push((tcp.header_bytes() == header_bytes as usize, "the length of the TCP header"));
            promises.push((tcp.options().count() <= tcp.option_bytes().len(), "an option has bytes"));
            promises.push((tcp.window_scale().is_none_or(|shift| shift <= 14), "a window scale of at most 14"));
            promises.push((tcp.reserved_bits() < 16, "four reserved bits"));
        }
        let icmp = self.icmp().map(|icmp| {
            let _ = (icmp.is_v6(), icmp.checksum(), icmp.echo());
            promises.push((icmp.body().ends_with(self.payload()), "the payload is the end of an ICMP message"));
            (icmp.kind(), icmp.code())
        });
        promises.push((icmp == icmp_type_and_code(self.bytes(), decoded), "the type and code of the walk"));
        promises
    }

    fn ethernet_promises(&self) -> Vec<Promise> {
        let Some(ethernet) = self.ethernet() else { return Vec::new() };
        let (frame, decoded) = (self.bytes(), self.decoded());
        let behind = frame.len().saturating_sub(ethernet.payload().len());
        let addresses = [ethernet.destination(), ethernet.source()].concat();
        // Where IP follows the tags, the walk noted these and no others.
        let is_plain =
            decoded.ip_version != 0 && decoded.outer_ip_at == decoded.ip_at && behind == decoded.ip_at as usize;
        let tags: Vlans = ethernet.tags().map(|tag| tag.id).collect();
        vec![
            (frame.starts_with(&addresses), "addresses are the first bytes"),
            (frame.ends_with(ethernet.payload()), "the payload is the end of the frame"),
            (ethernet.tags().all(|tag| tag.priority < 8 && tag.id < 4096), "three bits of priority, twelve of id"),
            (behind == 14 + 4 * ethernet.tags().count(), "the payload is behind the tags"),
            (!is_plain || tags == self.vlans(), "the VLAN ids of the walk"),
            (!is_plain || matches!(ethernet.ether_type(), Some(0x0800 | 0x86dd)), "the type behind the tags"),
        ]
    }
}
