//! Addresses, ports, protocol and encapsulation of a stream or a packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tidewire_types::Endpoint;

use super::bytes::{Fields, Writer};

/// A VLAN id that stands for no tag.
pub const VLAN_NONE: u16 = 0xffff;

/// Identifies a stream, client first. For a packet without a stream, the sender is the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The endpoint that opened the stream, or is inferred to have opened it.
    pub client: Endpoint,
    /// The other endpoint.
    pub server: Endpoint,
    /// IP protocol number.
    pub protocol: u8,
    /// VLAN ids, outermost first; [`VLAN_NONE`]: no tag.
    pub vlan: [u16; 2],
    /// Number of the innermost tunnel's kind ([`TUNNELS`](super::TUNNELS)); 0: no tunnel.
    pub tunnel_kind: u8,
    /// The tunnel's id.
    pub tunnel_id: u32,
    /// Type and code of the first ICMP or ICMPv6 packet; 0 for other protocols.
    pub icmp: [u8; 2],
    /// Whether the client is known and not inferred.
    pub is_client_known: bool,
}

fn address(octets: [u8; 16], version: u8) -> Option<IpAddr> {
    match version {
        4 => Some(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into()),
        6 => Some(Ipv6Addr::from(octets).into()),
        _ => None,
    }
}

impl Default for Key {
    fn default() -> Self {
        Self {
            client: Endpoint::UNSPECIFIED,
            server: Endpoint::UNSPECIFIED,
            protocol: 0,
            vlan: [VLAN_NONE; 2],
            tunnel_kind: 0,
            tunnel_id: 0,
            icmp: [0; 2],
            is_client_known: false,
        }
    }
}

impl Key {
    /// Bytes of a key.
    pub const BYTES: usize = 56;

    /// Appends the key. Both addresses have the version of the client's.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut out = Writer(out);
        out.bytes(&self.client.octets());
        out.bytes(&self.server.octets());
        out.u16(self.client.port);
        out.u16(self.server.port);
        let version = if self.client.address.is_ipv4() { 4 } else { 6 };
        out.bytes(&[self.protocol, version, self.tunnel_kind, u8::from(self.is_client_known)]);
        out.u16(self.vlan[0]);
        out.u16(self.vlan[1]);
        out.bytes(&self.icmp);
        out.u16(0);
        out.u32(self.tunnel_id);
        out.u32(0);
    }

    /// Reads a key; `None`: too short, or an unknown IP version.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (client, server) = (fields.array::<16>()?, fields.array::<16>()?);
        let ports = [fields.u16()?, fields.u16()?];
        let [protocol, version, tunnel_kind, flags] = fields.array()?;
        let vlan = [fields.u16()?, fields.u16()?];
        let icmp = fields.array()?;
        let _ = fields.u16()?;
        let tunnel_id = fields.u32()?;
        let _ = fields.u32()?;
        Some(Self {
            client: Endpoint { address: address(client, version)?, port: ports[0] },
            server: Endpoint { address: address(server, version)?, port: ports[1] },
            protocol,
            vlan,
            tunnel_kind,
            tunnel_id,
            icmp,
            is_client_known: flags & 1 == 1,
        })
    }
}
