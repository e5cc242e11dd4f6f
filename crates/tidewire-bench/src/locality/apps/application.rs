//! Applications whose tables are as large as one asks for.

mod flows;
mod ngrams;
mod rules;

use tidewire_core::Frame;
use tidewire_wire::{Decoded, Kind, LinkType, Settings, decode, ports};

pub use flows::Flows;
pub use ngrams::Ngrams;
pub use rules::Rules;

use super::traffic::{SERVICES, port_of};

/// Something that is given packets one after the other.
pub trait Application {
    /// Takes in a packet.
    fn packet(&mut self, frame: &Frame, bytes: &[u8]);

    /// What it found: the same whatever the order of the packets was.
    fn found(&self) -> u64;

    /// Bytes of its tables.
    fn table_bytes(&self) -> u64;
}

/// Which application, and how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// An intrusion detection system's search: a set of patterns for each service.
    Rules,
    /// A flow probe: a record for each flow.
    Flows,
    /// A detector of unusual content: a Bloom filter of 5-grams for each service (Anagram, RAID 2006).
    Ngrams,
}

impl Kinds {
    /// All.
    pub const ALL: [Self; 3] = [Self::Rules, Self::Flows, Self::Ngrams];

    /// As the command line names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Flows => "flows",
            Self::Ngrams => "ngrams",
        }
    }

    /// Builds one. `size`: patterns of a service, flows that are known already, or KiB of a service's filter.
    #[must_use]
    pub fn build(self, size: u64) -> Box<dyn Application> {
        match self {
            Self::Rules => Box::new(Rules::new(size)),
            Self::Flows => Box::new(Flows::new(size)),
            Self::Ngrams => Box::new(Ngrams::new(size)),
        }
    }
}

/// Decodes a frame without looking into tunnels.
fn decoded(frame: &Frame, bytes: &[u8]) -> Decoded {
    let settings = Settings::default().with_tunnel_depth(0);
    decode(frame.link, bytes, frame.wire_bytes, &settings)
}

/// The captured payload.
fn payload<'a>(bytes: &'a [u8], decoded: &Decoded) -> &'a [u8] {
    let at = decoded.payload_at as usize;
    bytes.get(at..at + decoded.payload_captured_bytes as usize).unwrap_or_default()
}

/// Which service a packet belongs to, as Snort chooses a group of rules: by the destination port where there is a group for
/// it, else by the source port, else the last group, for all others.
struct Groups {
    by_port: Vec<u8>,
}

impl Groups {
    /// Groups there are, that for all others included.
    const COUNT: usize = SERVICES as usize + 1;

    fn new() -> Self {
        let mut by_port = vec![SERVICES as u8; 65_536];
        (0..SERVICES).for_each(|service| by_port[usize::from(port_of(service))] = service as u8);
        Self { by_port }
    }

    fn of(&self, bytes: &[u8], decoded: &Decoded) -> usize {
        let (source, destination) = ports(bytes, decoded);
        let [source, destination] = [source, destination].map(|port| usize::from(self.by_port[usize::from(port)]));
        if destination < SERVICES as usize { destination } else { source }
    }
}

/// Whether a packet has a payload of its own.
fn is_transport(decoded: &Decoded) -> bool {
    matches!(decoded.kind, Kind::Tcp | Kind::Udp)
}

/// The link type that the built-in traffic has.
pub const LINK: LinkType = LinkType::ETHERNET;
