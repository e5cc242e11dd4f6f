//! Community ID of an event's flow (version 1, seed 0), as `tidewire flows` prints it.

use std::net::IpAddr;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use sha1::{Digest as _, Sha1};
use tidewire_types::ip_protocol::{ICMP, ICMP6, SCTP, TCP, UDP};

use crate::event::FlowKey;

impl FlowKey {
    /// The Community ID; `None`: the event does not say enough of its flow. That is so of ICMP, whose type it does not have, and of
    /// events about several flows, which have no port.
    #[must_use]
    pub fn community_id(&self) -> Option<String> {
        let is_one_flow = match self.protocol {
            ICMP | ICMP6 => false,
            TCP | UDP | SCTP => self.client_port != 0 && self.server_port != 0,
            _ => true,
        };
        is_one_flow.then(|| format!("1:{}", BASE64_STANDARD.encode(self.community_digest())))
    }

    /// The SHA-1 of the Community ID. Events do not have the type of an ICMP message: it counts as an echo.
    #[must_use]
    pub fn community_digest(&self) -> [u8; 20] {
        let (has_ports, [client_port, server_port]) = match self.protocol {
            ICMP => (true, [8, 0]),
            ICMP6 => (true, [128, 129]),
            TCP | UDP | SCTP => (true, [self.client_port, self.server_port]),
            _ => (false, [0; 2]),
        };
        let mut ends = [(self.client_addr, client_port), (self.server_addr, server_port)];
        ends.sort();
        let mut hash = Sha1::new();
        hash.update([0; 2]);
        for (addr, _) in ends {
            match addr {
                IpAddr::V4(addr) => hash.update(addr.octets()),
                IpAddr::V6(addr) => hash.update(addr.octets()),
            }
        }
        hash.update([self.protocol, 0]);
        if has_ports {
            ends.iter().for_each(|(_, port)| hash.update(port.to_be_bytes()));
        }
        hash.finalize().into()
    }
}
