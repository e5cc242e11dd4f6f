//! An application that is given packets, and what applications have in common.

use tidewire_core::Frame;
use tidewire_wire::{Decoded, Kind, Settings, decode, ports};

use crate::locality::traffic::{SERVICES, port_of};

/// Something that is given packets one after the other.
pub trait Application {
    /// Takes in a packet.
    fn packet(&mut self, frame: &Frame, bytes: &[u8]);

    /// What it found: the same whatever the order of the packets was.
    fn found(&self) -> u64;

    /// Bytes of its tables.
    fn table_bytes(&self) -> u64;
}

/// Decodes a frame without looking into tunnels.
pub(super) fn decoded(frame: &Frame, bytes: &[u8]) -> Decoded {
    let settings = Settings::default().with_tunnel_depth(0);
    decode(frame.link, bytes, frame.wire_bytes, &settings)
}

/// The captured payload.
pub(super) fn payload<'a>(bytes: &'a [u8], decoded: &Decoded) -> &'a [u8] {
    let at = decoded.payload_at as usize;
    bytes.get(at..at + decoded.payload_captured_bytes as usize).unwrap_or_default()
}

/// Which service a packet belongs to, as Snort chooses a group of rules: by the destination port where there is a group for
/// it, else by the source port, else the last group, for all others.
pub(super) struct Groups {
    by_port: Vec<u8>,
}

impl Groups {
    /// Groups there are, that for all others included.
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

/// Whether a packet has a payload of its own.
pub(super) fn is_transport(decoded: &Decoded) -> bool {
    matches!(decoded.kind, Kind::Tcp | Kind::Udp)
}
