//! Community ID of an event's flow (version 1, seed 0), as `tidewire flows` prints it.

use tidewire_types::{
    community,
    ip_protocol::{ICMP, ICMP6, SCTP, TCP, UDP},
};

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
        is_one_flow.then(|| community::text(&self.community_digest()))
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
        let ends = community::ordered((self.client_addr, client_port), (self.server_addr, server_port));
        community::digest(0, ends, self.protocol, has_ports)
    }
}
