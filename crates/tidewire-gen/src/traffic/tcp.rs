use super::{
    Class, Made, Order, Traffic,
    flows::FLOWS_MAX,
    headers::{self, Ip, Link, put},
    pattern,
};
use crate::{
    craft::{ACK, FIN, PSH, SYN, fold, sum},
    number::TRAILER_BYTES,
    random::{Random, mix},
    setting::SettingError,
    size::{PLACES, Sizes, shared_out},
};

/// Most connections open at once: 16 bytes each.
pub const CONCURRENT_MAX: u64 = 1 << 26;
/// Header without options, and the options of a SYN.
const TCP_BYTES: usize = 20;
const SYN_OPTIONS_BYTES: usize = 12;
/// Window field of the header; the window scale is 7.
const WINDOW: u16 = 0x01f5;
const WINDOW_SHIFT: u8 = 7;
/// Bytes of a request: this many and up to twice as many.
const REQUEST_BYTES: u32 = 200;

/// Properties of the connections.
#[derive(Clone, Debug)]
pub struct TcpSettings {
    /// Connections open at once. Default 10.
    pub concurrent: u64,
    /// Connections in all; `None`: no limit. Default: as many as are open at once.
    pub connections: Option<u64>,
    /// Data segments of the server, every other one acknowledged. Default 10.
    pub segments: u32,
    /// Sizes of the server's data frames on the wire. Default 512.
    pub sizes: Sizes,
    /// Order of the connections' packets. Default: one packet of each connection in turn.
    pub order: Order,
    /// IPv4 or IPv6, tag.
    pub link: Link,
    /// Seed.
    pub seed: u64,
    /// Numbers at the frames' ends.
    pub numbered: bool,
    /// Servers' ports and DSCP, by share. Default: port 80.
    pub classes: Vec<Class>,
}

impl TcpSettings {
    /// The defaults.
    ///
    /// # Errors
    /// Never.
    pub fn new() -> Result<Self, SettingError> {
        Ok(Self {
            concurrent: 10,
            connections: Some(10),
            segments: 10,
            sizes: Sizes::fixed(512)?,
            order: Order::InTurn,
            link: Link::default(),
            seed: 1,
            numbered: true,
            classes: vec![Class { port: 80, dscp: 0, share: 1 }],
        })
    }
}

/// An open connection.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Its number, which determines its ends and sequence numbers.
    number: u32,
    /// Number of its packets so far.
    step: u32,
    /// Payload bytes sent so far, by the client and by the server.
    sent: [u32; 2],
}

/// TCP connections from handshake to FINs, many at once, in the order in which a tap between the two ends sees them: SYN,
/// SYN-ACK, ACK, a request of 200 to 400 bytes, data from the server with an ACK for each second segment, both FINs, ACK.
/// No segment is lost, late or repeated. The payload at offset `o` of connection `n` is that of `tidewire…` at `o + n`.
#[derive(Clone, Debug)]
pub struct Connections {
    settings: TcpSettings,
    class_places: [u8; PLACES],
    open: Vec<Slot>,
    /// Whose turn it is, and chance.
    turn: usize,
    random: Random,
    /// Connections opened so far.
    begun: u64,
    finished: u64,
    payload_bytes: [u64; 2],
}

/// A packet of a script.
struct Step {
    end: usize,
    flags: u8,
    payload: Payload,
}

enum Payload {
    None,
    Request,
    Data,
}

impl Connections {
    /// Connections by these settings.
    ///
    /// # Errors
    /// No connections, too many, or invalid classes.
    pub fn new(settings: TcpSettings) -> Result<Self, SettingError> {
        SettingError::check_count("connections at once", CONCURRENT_MAX, settings.concurrent)?;
        if let Some(count) = settings.connections {
            SettingError::check_count("connections", 1 << 32, count)?;
        }
        let shares: Vec<u32> = settings.classes.iter().map(|class| class.share).collect();
        let class_places = shared_out(&shares)?;
        let mut connections = Self {
            random: Random::new(settings.seed),
            settings,
            class_places,
            open: Vec::new(),
            turn: 0,
            begun: 0,
            finished: 0,
            payload_bytes: [0; 2],
        };
        connections.rewind();
        Ok(connections)
    }

    /// Packets of a connection.
    #[must_use]
    pub fn packets_each(&self) -> u64 {
        let segments = u64::from(self.settings.segments);
        4 + segments + segments / 2 + 3
    }

    fn begin(&mut self) -> Option<Slot> {
        if self.settings.connections.is_some_and(|most| self.begun >= most) {
            return None;
        }
        let number = self.begun as u32;
        self.begun += 1;
        Some(Slot { number, step: 0, sent: [0; 2] })
    }

    /// The packet of this step.
    fn step(&self, step: u32) -> Step {
        let data_steps = self.settings.segments + self.settings.segments / 2;
        let (end, flags, payload) = match step {
            0 => (0, SYN, Payload::None),
            1 => (1, SYN | ACK, Payload::None),
            2 => (0, ACK, Payload::None),
            3 => (0, ACK | PSH, Payload::Request),
            step if step - 4 < data_steps => match (step - 4) % 3 {
                2 => (0, ACK, Payload::None),
                _ => (1, ACK, Payload::Data),
            },
            step => match step - 4 - data_steps {
                0 => (1, ACK | FIN, Payload::None),
                1 => (0, ACK | FIN, Payload::None),
                _ => (1, ACK, Payload::None),
            },
        };
        Step { end, flags, payload }
    }

    /// The FINs sent before this step.
    fn fins(&self, step: u32) -> [u32; 2] {
        let first = 4 + self.settings.segments + self.settings.segments / 2;
        [u32::from(step > first + 1), u32::from(step > first)]
    }

    fn trailer_bytes(&self) -> usize {
        if self.settings.numbered { TRAILER_BYTES } else { 0 }
    }

    fn write(&mut self, index: usize, frame: &mut [u8]) -> Option<Made> {
        let slot = *self.open.get(index)?;
        let step = self.step(slot.step);
        let link = self.settings.link;
        let noise = mix(u64::from(slot.number) ^ self.settings.seed << 32);
        let headers = link.bytes() + TCP_BYTES + if step.flags & SYN != 0 { SYN_OPTIONS_BYTES } else { 0 };
        let payload = match step.payload {
            Payload::None => 0,
            Payload::Request => (REQUEST_BYTES + (noise >> 20) as u32 % REQUEST_BYTES) as usize,
            Payload::Data => {
                let size = self.settings.sizes.pick(mix(noise ^ u64::from(slot.step))) as usize;
                size.saturating_sub(headers + self.trailer_bytes()).max(1)
            }
        };
        let inner_bytes = headers - link.bytes() + payload;
        let ip = self.ip(&slot, step.end);
        let (at, pseudo_sum) = headers::write(link, &ip, inner_bytes, frame)?;
        let payload_at = at + inner_bytes - payload;
        self.write_tcp(&slot, &step, noise, frame.get_mut(at..payload_at)?)?;
        let offset = u64::from(slot.number) + u64::from(slot.sent.get(step.end).copied()?);
        pattern::fill(frame.get_mut(payload_at..payload_at + payload)?, offset);
        let header_sum = sum(frame.get(at..payload_at)?, pseudo_sum);
        put(frame, at + 16, &fold(header_sum + pattern::sum_of(offset, payload)).to_be_bytes())?;
        let bytes = padded(frame, payload_at + payload, self.trailer_bytes());
        let slot = self.open.get_mut(index)?;
        slot.step += 1;
        *slot.sent.get_mut(step.end)? += payload as u32;
        *self.payload_bytes.get_mut(step.end)? += payload as u64;
        Some(Made { bytes, end: step.end, due_ns: None })
    }

    fn class(&self, number: u32) -> Class {
        let place = self.class_places.get(number as usize % PLACES).copied().unwrap_or(0);
        self.settings.classes.get(usize::from(place)).copied().unwrap_or(Class { port: 80, dscp: 0, share: 1 })
    }

    fn ip(&self, slot: &Slot, end: usize) -> Ip {
        let client = 0x0a00_0000 | slot.number & (FLOWS_MAX as u32 - 1);
        let server = 0xc0a8_0000 | slot.number & 0xff;
        let addresses = if end == 0 { [client, server] } else { [server, client] };
        Ip { addresses, proto: 6, tos: self.class(slot.number).dscp << 2, id: slot.step, piece: None, end }
    }

    /// Writes a TCP header and its options, with a checksum of 0.
    fn write_tcp(&self, slot: &Slot, step: &Step, noise: u64, header: &mut [u8]) -> Option<()> {
        let upper = slot.number >> 24;
        let client_port = 1024 + ((slot.number.wrapping_mul(40_503).wrapping_add(upper)) & 0x7fff) as u16;
        let ports = [client_port, self.class(slot.number).port];
        let first = [noise as u32, (noise >> 32) as u32];
        let fins = self.fins(slot.step);
        // The next byte of each side; a sent SYN and FIN count as a byte each.
        let at = |end: usize| -> Option<u32> {
            let begun = u32::from(slot.step > end as u32);
            let sent = first.get(end)?.wrapping_add(begun).wrapping_add(*slot.sent.get(end)?);
            Some(sent.wrapping_add(*fins.get(end)?))
        };
        let (own, other) = (step.end, 1 - step.end);
        put(header, 0, &ports.get(own)?.to_be_bytes())?;
        put(header, 2, &ports.get(other)?.to_be_bytes())?;
        put(header, 4, &at(own)?.to_be_bytes())?;
        let ack = if step.flags & ACK != 0 { at(other)? } else { 0 };
        put(header, 8, &ack.to_be_bytes())?;
        put(header, 12, &[(header.len() as u8 / 4) << 4, step.flags])?;
        // A SYN's window is not scaled.
        put(header, 14, &if step.flags & SYN != 0 { 0xfaf0 } else { WINDOW }.to_be_bytes())?;
        put(header, 16, &[0; 4])?;
        if step.flags & SYN != 0 {
            // MSS; window scale; selective acknowledgements allowed.
            put(header, 20, &[2, 4, 0x23, 0, 1, 3, 3, WINDOW_SHIFT, 1, 1, 4, 2])?;
        }
        Some(())
    }
}

/// Pads a frame to what Ethernet wants, with room for its number, and returns its length.
pub(super) fn padded(frame: &mut [u8], bytes: usize, trailer_bytes: usize) -> usize {
    const FRAME_BYTES_MIN: usize = 60;
    let total = (bytes + trailer_bytes).max(FRAME_BYTES_MIN);
    frame.get_mut(bytes..total).unwrap_or_default().fill(0);
    total
}

impl Traffic for Connections {
    fn next(&mut self, _number: u64, frame: &mut [u8]) -> Option<Made> {
        if self.open.is_empty() {
            return None;
        }
        let index = match self.settings.order {
            Order::InTurn => self.turn % self.open.len(),
            Order::Random => self.random.below(self.open.len() as u64) as usize,
        };
        let made = self.write(index, frame)?;
        self.turn = index + 1;
        let done = self.open.get(index).is_some_and(|slot| u64::from(slot.step) == self.packets_each());
        if done {
            self.finished += 1;
            match (self.begin(), self.open.get_mut(index)) {
                (Some(next), Some(slot)) => *slot = next,
                _ => drop(self.open.swap_remove(index)),
            }
            // The connection that took the place has its turn now, so that as many stay open as before.
            self.turn = index;
        }
        Some(made)
    }

    fn rewind(&mut self) {
        (self.turn, self.begun, self.finished, self.payload_bytes) = (0, 0, 0, [0; 2]);
        self.random = Random::new(self.settings.seed);
        self.open.clear();
        let most =
            self.settings.connections.map_or(self.settings.concurrent, |most| most.min(self.settings.concurrent));
        for _ in 0..most {
            let slot = self.begin();
            self.open.extend(slot);
        }
    }

    fn bytes_max(&self) -> usize {
        let least = self.settings.link.bytes() + TCP_BYTES + self.trailer_bytes();
        let request = least + 2 * REQUEST_BYTES as usize;
        self.settings.sizes.bytes_max().max(request)
    }

    fn numbered(&self) -> bool {
        self.settings.numbered
    }

    fn tally(&self) -> Vec<(&'static str, u64)> {
        let silent = self.open.iter().filter(|slot| slot.step == 0).count() as u64;
        let opened = self.begun - silent;
        vec![
            ("connections_opened", opened),
            ("connections_closed", self.finished),
            ("connections_open", opened - self.finished),
            ("client_payload_bytes", self.payload_bytes[0]),
            ("server_payload_bytes", self.payload_bytes[1]),
        ]
    }
}
