//! Printing of keys and settings: for people, and for `{:?}` without numbers that stand for "none".

use std::{
    borrow::Cow,
    fmt::{self, Debug, Display, Formatter},
};

use tidewire_types::{ip_protocol, protocol_name};
use tidewire_wire::{Tunnel, TunnelKind};

use crate::{DirectionCutoff, FlowKey};

impl FlowKey {
    /// The protocol's name (`tcp`, `udp`, `icmp6`), or its number.
    #[must_use]
    pub fn proto_name(&self) -> Cow<'static, str> {
        protocol_name(self.proto).map_or_else(|| Cow::Owned(self.proto.to_string()), Cow::Borrowed)
    }

    /// Whether the protocol has ports: TCP, UDP, SCTP, UDP-Lite.
    #[must_use]
    pub fn has_ports(&self) -> bool {
        ip_protocol::has_ports(self.proto)
    }

    /// The innermost tunnel, if there is one.
    #[must_use]
    pub fn in_tunnel(&self) -> Option<Tunnel> {
        (self.tunnel.kind != TunnelKind::None).then_some(self.tunnel)
    }
}

/// `tcp 10.0.0.1:40000 > 10.0.0.2:80`, followed by VLANs and tunnel: `vlan 5`, `vxlan 7`.
impl Display for FlowKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.proto_name())?;
        if self.has_ports() {
            write!(f, "{} > {}", self.client.with_port(), self.server.with_port())?;
        } else {
            write!(f, "{} > {}", self.client.address, self.server.address)?;
        }
        if !self.vlans.is_empty() {
            write!(f, " vlan {}", self.vlans)?;
        }
        match self.in_tunnel() {
            Some(tunnel) => write!(f, " {} {}", format!("{:?}", tunnel.kind).to_lowercase(), tunnel.id),
            None => Ok(()),
        }
    }
}

impl Debug for FlowKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let icmp = ip_protocol::is_icmp(self.proto).then_some(self.icmp);
        f.debug_struct("FlowKey")
            .field("client", &self.client)
            .field("server", &self.server)
            .field("proto", &self.proto)
            .field("vlans", &self.vlans)
            .field("tunnel", &self.in_tunnel())
            .field("icmp", &icmp)
            .finish()
    }
}

/// A number that may stand for "none".
fn unless<T: PartialEq>(value: T, none: T) -> Option<T> {
    (value != none).then_some(value)
}

impl Debug for DirectionCutoff {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DirectionCutoff").field(&self.0.map(|bytes| unless(bytes, u64::MAX))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoint, Vlans};

    fn key(proto: u8, tunnel: Tunnel, vlans: Vlans) -> FlowKey {
        let end = |text: &str, port| Endpoint { address: text.parse().unwrap(), port };
        let (client, server) = (end("10.0.0.1", 40_000), end("2001:db8::2", 0));
        FlowKey { client, server, proto, vlans, tunnel, icmp: [8, 0] }
    }

    const NONE: Tunnel = Tunnel { kind: TunnelKind::None, id: 0 };

    #[test]
    fn keys_as_people_write_them() {
        assert_eq!(key(6, NONE, Vlans::NONE).to_string(), "tcp 10.0.0.1:40000 > [2001:db8::2]:0");
        let vxlan = Tunnel { kind: TunnelKind::Vxlan, id: 7 };
        assert_eq!(
            key(17, vxlan, Vlans::new([5, 6])).to_string(),
            "udp 10.0.0.1:40000 > [2001:db8::2]:0 vlan 5.6 vxlan 7"
        );
        assert_eq!(key(1, NONE, Vlans::new([5])).to_string(), "icmp 10.0.0.1 > 2001:db8::2 vlan 5");
        assert_eq!(key(200, NONE, Vlans::NONE).to_string(), "200 10.0.0.1 > 2001:db8::2");
    }

    #[test]
    fn no_number_stands_for_none() {
        let all = [format!("{:?}", key(6, NONE, Vlans::NONE)), format!("{:?}", DirectionCutoff([u64::MAX, 9]))];
        assert!(all[0].ends_with("vlans: [], tunnel: None, icmp: None }"), "{}", all[0]);
        assert_eq!(all[1], "DirectionCutoff([None, Some(9)])");
        let icmp = format!("{:?}", key(58, Tunnel { kind: TunnelKind::Gre, id: 0 }, Vlans::new([9])));
        assert!(
            icmp.ends_with("vlans: [9], tunnel: Some(Tunnel { kind: Gre, id: 0 }), icmp: Some([8, 0]) }"),
            "{icmp}"
        );
    }
}
