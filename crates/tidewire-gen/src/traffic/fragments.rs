use super::{
    Made, Traffic,
    headers::{self, FRAGMENT_BYTES, Ip, Link, put},
    pattern,
    tcp::padded,
};
use crate::{
    craft::fold,
    number::TRAILER_BYTES,
    random::{Random, mix},
    setting::SettingError,
    size::FRAME_BYTES_MAX,
};

/// Largest UDP datagram that IP carries: payload and header of 8 bytes.
const DATAGRAM_MAX: u32 = 65_507;
/// Greatest number of pending datagrams.
const OPEN_MAX: u32 = 1 << 20;
const UDP_BYTES: u32 = 8;

/// The order of a datagram's fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentOrder {
    /// First fragment first.
    Forward,
    /// Last fragment first.
    Reverse,
    /// Random.
    Random,
}

/// Properties of the fragments. Shares are per thousand datagrams.
#[derive(Clone, Debug)]
pub struct FragmentSettings {
    /// Payload of a datagram, bytes. Default 4,000.
    pub datagram_bytes: u32,
    /// Most bytes of a datagram in one fragment; a multiple of 8. Default 1,440: with headers
    /// and number it fits an MTU of 1,500.
    pub fragment_bytes: u32,
    /// See [`FragmentOrder`].
    pub order: FragmentOrder,
    /// Pending datagrams, whose fragments are interleaved. Default 1.
    pub open: u32,
    /// Datagrams in all; `None`: no limit.
    pub datagrams: Option<u64>,
    /// Datagrams that lack a fragment. Default 0.
    pub holes: u32,
    /// Datagrams with a fragment that overlaps others with the same bytes. Default 0.
    pub overlaps: u32,
    /// The same with other bytes. Default 0.
    pub conflicts: u32,
    /// Datagrams whose last fragment ends beyond 65,535 bytes. Default 0.
    pub out_of_bounds: u32,
    /// Datagrams with a fragment that is sent twice. Default 0.
    pub repeats: u32,
    /// IPv4 or IPv6, tag.
    pub link: Link,
    /// Seed.
    pub seed: u64,
    /// Numbers at the frames' ends.
    pub numbered: bool,
}

impl Default for FragmentSettings {
    fn default() -> Self {
        Self {
            datagram_bytes: 4000,
            fragment_bytes: 1440,
            order: FragmentOrder::Forward,
            open: 1,
            datagrams: None,
            holes: 0,
            overlaps: 0,
            conflicts: 0,
            out_of_bounds: 0,
            repeats: 0,
            link: Link::default(),
            seed: 1,
            numbered: true,
        }
    }
}

/// A flaw of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    Hole,
    Overlap,
    Conflict,
    OutOfBounds,
    Repeat,
}

/// Names of the flaws' counts, in the order of their numbers.
const TALLY: [&str; 6] = [
    "datagrams_whole",
    "datagrams_with_hole",
    "datagrams_with_overlap",
    "datagrams_with_conflict",
    "datagrams_out_of_bounds",
    "datagrams_with_repeat",
];

/// A fragment to be sent.
#[derive(Clone, Copy, Debug)]
struct Piece {
    offset: u32,
    bytes: u32,
    more: bool,
    /// Whether its bytes differ from the datagram's.
    other: bool,
}

/// A pending datagram.
#[derive(Clone, Debug)]
struct Open {
    number: u64,
    /// Its fragments, the next one last.
    left: Vec<Piece>,
}

/// UDP datagrams in fragments, correct and flawed.
#[derive(Clone, Debug)]
pub struct Fragments {
    settings: FragmentSettings,
    open: Vec<Open>,
    turn: usize,
    begun: u64,
    /// Datagrams sent completely, by flaw.
    done: [u64; TALLY.len()],
}

impl Fragments {
    /// Fragments by these settings.
    ///
    /// # Errors
    /// Invalid sizes, or shares of more than a thousand.
    pub fn new(settings: FragmentSettings) -> Result<Self, SettingError> {
        let s = &settings;
        let headers = s.link.bytes() + if s.link.ipv6 { FRAGMENT_BYTES } else { 0 } + TRAILER_BYTES;
        let most = (FRAME_BYTES_MAX - headers) as u32 / 8 * 8;
        if !(8..=most).contains(&s.fragment_bytes) || !s.fragment_bytes.is_multiple_of(8) {
            return Err(SettingError::FragmentBytes { most, bytes: s.fragment_bytes });
        }
        if !(16..=DATAGRAM_MAX).contains(&s.datagram_bytes) {
            return Err(SettingError::DatagramBytes { least: 16, most: DATAGRAM_MAX, bytes: s.datagram_bytes });
        }
        if s.datagram_bytes + UDP_BYTES <= s.fragment_bytes {
            return Err(SettingError::OneFragment { bytes: s.datagram_bytes });
        }
        SettingError::check_count("datagrams at once", OPEN_MAX.into(), s.open.into())?;
        let flaws = [s.holes, s.overlaps, s.conflicts, s.out_of_bounds, s.repeats];
        if flaws.iter().map(|share| u64::from(*share)).sum::<u64>() > 1000 {
            return Err(SettingError::Flaws);
        }
        let mut fragments = Self { settings, open: Vec::new(), turn: 0, begun: 0, done: [0; TALLY.len()] };
        fragments.rewind();
        Ok(fragments)
    }

    fn flaw(&self, number: u64) -> Flaw {
        let mut at = (mix(number ^ self.settings.seed << 40) % 1000) as u32;
        let s = &self.settings;
        let flaws = [
            (s.holes, Flaw::Hole),
            (s.overlaps, Flaw::Overlap),
            (s.conflicts, Flaw::Conflict),
            (s.out_of_bounds, Flaw::OutOfBounds),
            (s.repeats, Flaw::Repeat),
        ];
        for (share, flaw) in flaws {
            if at < share {
                return flaw;
            }
            at -= share;
        }
        Flaw::None
    }

    /// The next datagram's fragments.
    fn begin(&mut self) -> Option<Open> {
        if self.settings.datagrams.is_some_and(|most| self.begun >= most) {
            return None;
        }
        let number = self.begun;
        self.begun += 1;
        let total = self.settings.datagram_bytes + UDP_BYTES;
        let each = self.settings.fragment_bytes;
        let piece =
            |offset: u32| Piece { offset, bytes: each.min(total - offset), more: offset + each < total, other: false };
        let mut left: Vec<Piece> = (0..total).step_by(each as usize).map(piece).collect();
        let mut random = Random::new(number ^ self.settings.seed << 32);
        self.spoil(&mut left, self.flaw(number), &mut random);
        match self.settings.order {
            FragmentOrder::Forward => left.reverse(),
            FragmentOrder::Reverse => {}
            FragmentOrder::Random => {
                for at in (1..left.len()).rev() {
                    left.swap(at, random.below(at as u64 + 1) as usize);
                }
            }
        }
        Some(Open { number, left })
    }

    fn spoil(&self, pieces: &mut Vec<Piece>, flaw: Flaw, random: &mut Random) {
        // An overlapping fragment must not arrive after the datagram is complete.
        let overlaps = matches!(flaw, Flaw::Overlap | Flaw::Conflict);
        let index = random.below(pieces.len() as u64 - u64::from(overlaps)) as usize;
        let Some(chosen) = pieces.get(index).copied() else { return };
        match flaw {
            Flaw::None => {}
            Flaw::Hole => drop(pieces.remove(index)),
            Flaw::Repeat => pieces.insert(index + 1, chosen),
            Flaw::Overlap | Flaw::Conflict => {
                // From within a fragment into the next one, or up to the end.
                let total = self.settings.datagram_bytes + UDP_BYTES;
                let offset = chosen.offset + chosen.bytes / 2 / 8 * 8;
                let bytes = self.settings.fragment_bytes.min(total - offset);
                let more = offset + bytes < total;
                pieces.insert(index + 1, Piece { offset, bytes, more, other: flaw == Flaw::Conflict });
            }
            Flaw::OutOfBounds => {
                // Replaces the last one: the greatest offset of the field, and more bytes than fit behind it.
                let bytes = self.settings.fragment_bytes.max(16);
                pieces.pop();
                pieces.push(Piece { offset: 65_528, bytes, more: false, other: false });
            }
        }
    }

    fn write(&self, number: u64, piece: Piece, frame: &mut [u8]) -> Option<Made> {
        let upper = (number >> 16) as u32;
        let addresses = [0x0a00_0000 | upper & 0x00ff_ffff, 0xc0a8_0000 | upper & 0xff];
        let id = number as u32;
        let ip = Ip { addresses, proto: 17, tos: 0, id, piece: Some((piece.offset, piece.more)), end: 0 };
        let bytes = piece.bytes as usize;
        let (at, _) = headers::write(self.settings.link, &ip, bytes, frame)?;
        let offset = u64::from(piece.offset) + u64::from(piece.other) * 3;
        pattern::fill(frame.get_mut(at..at + bytes)?, offset);
        if piece.offset == 0 {
            put(frame, at, &self.udp_header(ip, number)?)?;
        }
        let trailer = if self.settings.numbered { TRAILER_BYTES } else { 0 };
        Some(Made { bytes: padded(frame, at + bytes, trailer), end: 0, due_ns: None })
    }

    /// The datagram's header, with the checksum of its whole payload.
    fn udp_header(&self, ip: Ip, number: u64) -> Option<[u8; 8]> {
        let total = self.settings.datagram_bytes + UDP_BYTES;
        let mut scratch = [0; 64];
        let (_, pseudo_sum) =
            headers::write(self.settings.link, &Ip { piece: None, ..ip }, total as usize, &mut scratch)?;
        let ports = [1024 + (number & 0x3fff) as u16, 5001];
        let payload_sum = pattern::sum_of(8, self.settings.datagram_bytes as usize);
        let sum = pseudo_sum + payload_sum + u64::from(total) + ports.iter().map(|port| u64::from(*port)).sum::<u64>();
        let checksum = Some(fold(sum)).filter(|checksum| *checksum != 0).unwrap_or(0xffff);
        let mut header = [0; 8];
        let fields = ports.into_iter().chain([total as u16, checksum]);
        for (place, field) in header.chunks_exact_mut(2).zip(fields) {
            place.copy_from_slice(&field.to_be_bytes());
        }
        Some(header)
    }
}

impl Traffic for Fragments {
    fn next(&mut self, _number: u64, frame: &mut [u8]) -> Option<Made> {
        if self.open.is_empty() {
            return None;
        }
        let index = self.turn % self.open.len();
        let open = self.open.get_mut(index)?;
        let (number, piece) = (open.number, open.left.pop()?);
        let is_done = open.left.is_empty();
        let made = self.write(number, piece, frame)?;
        self.turn = index + 1;
        if is_done {
            let flaw = self.flaw(number) as usize;
            if let Some(done) = self.done.get_mut(flaw) {
                *done += 1;
            }
            match (self.begin(), self.open.get_mut(index)) {
                (Some(next), Some(open)) => *open = next,
                _ => {
                    self.open.swap_remove(index);
                    self.turn = index;
                }
            }
        }
        Some(made)
    }

    fn rewind(&mut self) {
        (self.turn, self.begun, self.done) = (0, 0, [0; TALLY.len()]);
        self.open.clear();
        while self.open.len() < self.settings.open as usize
            && let Some(open) = self.begin()
        {
            self.open.push(open);
        }
    }

    fn bytes_max(&self) -> usize {
        let headers = self.settings.link.bytes() + FRAGMENT_BYTES + TRAILER_BYTES;
        (headers + self.settings.fragment_bytes.max(16) as usize).max(64)
    }

    fn numbered(&self) -> bool {
        self.settings.numbered
    }

    fn tally(&self) -> Vec<(&'static str, u64)> {
        TALLY.into_iter().zip(self.done).filter(|(name, count)| *count > 0 || *name == "datagrams_whole").collect()
    }
}
