//! The interface of applications, and helpers that they share.

use tidewire_core::Frame;
use tidewire_wire::{Decoded, Kind, Settings, decode, ports};

use crate::locality::traffic::{SERVICES, port_of};

/// An application that processes packets one by one.
pub trait Application {
    /// Processes a packet.
    fn packet(&mut self, frame: &Frame, bytes: &[u8]);

    /// A count of findings that does not depend on the order of the packets.
    fn found(&self) -> u64;

    /// Size of its tables, bytes.
    fn table_bytes(&self) -> u64;
}

/// Decodes a frame; tunnels are not decoded.
pub(super) fn decoded(frame: &Frame, bytes: &[u8]) -> Decoded {
    let settings = Settings::default().with_tunnel_depth(0);
    decode(frame.link, bytes, frame.wire_bytes, &settings)
}

/// The captured payload.
pub(super) fn payload<'a>(bytes: &'a [u8], decoded: &Decoded) -> &'a [u8] {
    let at = decoded.payload_at as usize;
    bytes.get(at..at + decoded.payload_captured_bytes as usize).unwrap_or_default()
}

/// Finds the service of a packet as Snort selects a group of rules: by the destination port if there is a group for it,
/// otherwise by the source port, otherwise the last group.
pub(super) struct Groups {
    by_port: Vec<u8>,
}

impl Groups {
    /// Number of groups, including the last one for all other ports.
    pub const COUNT: usize = SERVICES as usize + 1;

    pub fn new() -> Self {
        let mut by_port = vec![SERVICES as u8; 65_536];
        (0..SERVICES).for_each(|service| by_port[usize::from(port_of(service))] = service as u8);
        Self { by_port }
    }

    pub fn of(&self, bytes: &[u8], decoded: &Decoded) -> usize {
        let (source, destination) = ports(bytes, decoded);
        let [source, destination] = [source, destination].map(|port| usize::from(self.by_port[usize::from(port)]));
        if destination < SERVICES as usize { destination } else { source }
    }
}

/// Whether a packet is TCP or UDP.
pub(super) fn is_transport(decoded: &Decoded) -> bool {
    matches!(decoded.kind, Kind::Tcp | Kind::Udp)
}
