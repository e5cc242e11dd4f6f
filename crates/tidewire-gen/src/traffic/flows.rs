use super::{MACS, Made, pattern};
use crate::{
    craft::fold,
    number::TRAILER_BYTES,
    random::mix,
    setting::SettingError,
    size::{PLACES, Sizes, shared_out},
};

/// Greatest number of flows: each has a separate client address in 10.0.0.0/8.
pub const FLOWS_MAX: u64 = 1 << 24;
/// Most classes.
const CLASSES_MAX: usize = 8;
/// Bytes of headers that the kernel program writes at once.
pub(crate) const HEADER_BYTES: usize = 56;

const UDP_HEADERS_BYTES: usize = 42;
const TCP_HEADERS_BYTES: usize = 54;
/// Window of a SYN.
const WINDOW: u16 = 0xfaf0;

/// The kind of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowKind {
    /// UDP datagrams.
    Udp,
    /// TCP SYNs, each from a random address and port: a SYN flood.
    SynFlood,
}

/// The order in which flows send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after the other.
    InTurn,
    /// In random order, all equally likely.
    Random,
}

/// A class of flows, distinguished by port and DSCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// The server's port.
    pub port: u16,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// Its share of the flows.
    pub share: u32,
}

/// Independent packets of many flows: UDP datagrams, or a SYN flood. IPv4 without VLAN tags, which the kernel program can
/// generate. The `n`th packet depends on `n` and the seed alone.
#[derive(Clone, Debug)]
pub struct Flows {
    /// See [`FlowKind`].
    pub kind: FlowKind,
    /// Number of flows; a SYN flood has none.
    pub flows: u64,
    /// See [`Order`].
    pub order: Order,
    /// Whether servers send as well.
    pub both: bool,
    /// Sizes.
    pub sizes: Sizes,
    /// Seed.
    pub seed: u64,
    /// Numbers at the frames' ends.
    pub numbered: bool,
    classes: Vec<Class>,
    class_places: [u8; PLACES],
    /// Next flow, and in its lowest bit the direction.
    turn: u64,
    /// Checksums by frame length, filled as needed.
    sums: Vec<(usize, (u32, u32))>,
}

/// A packet's flow.
struct Picked {
    addresses: [u32; 2],
    ports: [u16; 2],
    tos: u8,
    end: usize,
}

impl Flows {
    /// First address of clients: 10.0.0.0.
    pub(crate) const CLIENT: u32 = 0x0a00_0000;
    /// First address of servers: 192.168.0.0.
    pub(crate) const SERVER: u32 = 0xc0a8_0000;

    /// UDP datagrams of this many flows in turn, from clients to servers, numbered, to port 5001.
    ///
    /// # Errors
    /// There are no flows or more than 2^24.
    pub fn udp(flows: u64, sizes: Sizes) -> Result<Self, SettingError> {
        SettingError::check_count("flows", FLOWS_MAX, flows)?;
        Ok(Self {
            kind: FlowKind::Udp,
            flows,
            order: Order::InTurn,
            both: false,
            sizes,
            seed: 1,
            numbered: true,
            classes: vec![Class { port: 5001, dscp: 0, share: 1 }],
            class_places: [0; PLACES],
            turn: 0,
            sums: Vec::new(),
        })
    }

    /// A flood of SYNs to 192.168.0.0, port 80, of 64 bytes each, numbered.
    ///
    /// # Errors
    /// Never.
    pub fn syn_flood() -> Result<Self, SettingError> {
        let mut flood = Self::udp(1, Sizes::fixed(64)?)?;
        flood.kind = FlowKind::SynFlood;
        flood.classes = vec![Class { port: 80, dscp: 0, share: 1 }];
        Ok(flood)
    }

    /// Divides the flows among classes by the flow's number.
    ///
    /// # Errors
    /// There are none or more than 8, or a share is less than a 128th.
    pub fn set_classes(&mut self, classes: Vec<Class>) -> Result<(), SettingError> {
        SettingError::check_count("classes", CLASSES_MAX as u64, classes.len() as u64)?;
        let shares: Vec<u32> = classes.iter().map(|class| class.share).collect();
        self.class_places = shared_out(&shares)?;
        self.classes = classes;
        Ok(())
    }

    /// Bytes of the trailer.
    fn trailer_bytes(&self) -> usize {
        if self.numbered { TRAILER_BYTES } else { 0 }
    }

    /// The classes.
    pub(crate) fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The class in each slot.
    pub(crate) fn class_places(&self) -> &[u8; PLACES] {
        &self.class_places
    }

    /// For a frame of this length: bytes of the IP packet, and of its payload.
    pub(crate) fn lengths(&self, frame: usize) -> (u16, u16) {
        let inner = match self.kind {
            FlowKind::Udp => frame.saturating_sub(self.trailer_bytes() + 34),
            FlowKind::SynFlood => 20,
        };
        (inner as u16 + 20, inner as u16)
    }

    /// Partial checksums (IP header, transport) over the fields that all packets of this length share.
    pub(crate) fn sums(&self, frame: usize) -> (u32, u32) {
        let (ip_bytes, inner_bytes) = self.lengths(frame);
        let proto: u32 = if self.kind == FlowKind::Udp { 17 } else { 6 };
        let ip = 0x4500 + u32::from(ip_bytes) + 0x4000 + (64 << 8 | proto);
        let inner = proto + u32::from(inner_bytes);
        let inner = match self.kind {
            FlowKind::Udp => {
                let payload = usize::from(inner_bytes).saturating_sub(8);
                // At most 9,000 bytes: far from 2^32.
                inner + u32::from(inner_bytes) + pattern::sum_of(UDP_HEADERS_BYTES as u64, payload) as u32
            }
            FlowKind::SynFlood => inner + 0x5002 + u32::from(WINDOW),
        };
        (ip, inner)
    }

    /// The headers of any packet; varying fields are 0.
    pub(crate) fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header: [u8; HEADER_BYTES] = std::array::from_fn(pattern::pattern_at);
        let [near, far] = MACS;
        let fixed = [0x08, 0, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64];
        let proto = if self.kind == FlowKind::Udp { 17 } else { 6 };
        let variable = [0; 10];
        let start = far.iter().chain(&near).chain(&fixed).chain([&proto]).chain(&variable);
        let transport: &[u8] = match self.kind {
            FlowKind::Udp => &[0; 8],
            FlowKind::SynFlood => &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x02, 0xfa, 0xf0, 0, 0, 0, 0],
        };
        for (to, from) in header.iter_mut().zip(start.chain(transport)) {
            *to = *from;
        }
        header
    }

    /// The next packet's flow; what the kernel program's `pick` does.
    fn pick(&mut self, random: u64) -> Picked {
        let (flow, is_back) = match self.order {
            Order::Random => (((random & 0xffff_ffff) * self.flows) >> 32, random >> 63 == 1),
            Order::InTurn => {
                let (flow, back) = (self.turn >> 1, self.turn & 1);
                self.turn = if flow + 1 < self.flows { self.turn + 2 } else { back ^ 1 };
                (flow, back == 1)
            }
        };
        let place = self.class_places.get(flow as usize % PLACES).copied().unwrap_or(0);
        let class = self.classes.get(usize::from(place)).copied().unwrap_or(Class { port: 0, dscp: 0, share: 1 });
        let mut client = Self::CLIENT.wrapping_add(flow as u32);
        let server = Self::SERVER + (flow & 0xff) as u32;
        let mut port = 1024 + ((flow.wrapping_mul(40_503)) & 0x7fff) as u16;
        if self.kind == FlowKind::SynFlood {
            client = (random >> 8) as u32;
            if matches!(client >> 24, 0 | 10 | 127 | 224..) {
                client = client & 0x00ff_ffff | 0x2d00_0000;
            }
            port = 1024 + (random >> 40 & 0x7fff) as u16;
        }
        let tos = class.dscp << 2;
        if self.both && is_back {
            Picked { addresses: [server, client], ports: [class.port, port], tos, end: 1 }
        } else {
            Picked { addresses: [client, server], ports: [port, class.port], tos, end: 0 }
        }
    }

    pub(super) fn write(&mut self, number: u64, frame: &mut [u8]) -> Option<Made> {
        let random = mix(number.wrapping_add(self.seed));
        let picked = self.pick(random);
        let bytes = self.sizes.pick(random) as usize;
        let (ip_bytes, inner_bytes) = self.lengths(bytes);
        let known = self.sums.iter().find(|known| known.0 == bytes).map(|known| known.1);
        let (ip_sum, inner_sum) = known.unwrap_or_else(|| {
            let sums = self.sums(bytes);
            self.sums.push((bytes, sums));
            sums
        });
        let [saddr, daddr] = picked.addresses;
        let addresses_sum = words(saddr) + words(daddr);
        let id = number as u16;
        let frame = frame.get_mut(..bytes)?;
        pattern::fill(frame, 0);
        put(frame, 0, &self.header());
        put(frame, 15, &[picked.tos]);
        put(frame, 16, &ip_bytes.to_be_bytes());
        put(frame, 18, &id.to_be_bytes());
        let ip_sum = u64::from(ip_sum) + u64::from(picked.tos) + u64::from(id) + addresses_sum;
        put(frame, 24, &fold(ip_sum).to_be_bytes());
        put(frame, 26, &saddr.to_be_bytes());
        put(frame, 30, &daddr.to_be_bytes());
        let [sport, dport] = picked.ports;
        put(frame, 34, &sport.to_be_bytes());
        put(frame, 36, &dport.to_be_bytes());
        let inner_sum = u64::from(inner_sum) + addresses_sum + u64::from(sport) + u64::from(dport);
        match self.kind {
            FlowKind::SynFlood => {
                let seq = (random >> 16) as u32;
                put(frame, 38, &seq.to_be_bytes());
                put(frame, 50, &fold(inner_sum + words(seq)).to_be_bytes());
            }
            FlowKind::Udp => {
                put(frame, 38, &inner_bytes.to_be_bytes());
                let checksum = Some(fold(inner_sum)).filter(|checksum| *checksum != 0).unwrap_or(0xffff);
                put(frame, 40, &checksum.to_be_bytes());
            }
        }
        Some(Made { bytes, end: picked.end, due_ns: None })
    }
}

impl Flows {
    /// Restarts with the first frame.
    pub(super) fn restart(&mut self) {
        self.turn = 0;
        self.sums.clear();
    }

    /// Bytes of the longest frame, with its number.
    pub(super) fn longest(&self) -> usize {
        self.sizes.bytes_max().max(TCP_HEADERS_BYTES + TRAILER_BYTES)
    }

    /// Whether frames are numbered.
    pub(super) fn is_numbered(&self) -> bool {
        self.numbered
    }
}

fn words(address: u32) -> u64 {
    u64::from(address >> 16) + u64::from(address & 0xffff)
}

fn put(frame: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = frame.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}
