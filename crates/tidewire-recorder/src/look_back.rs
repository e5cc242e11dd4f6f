//! Look-back: packets wait in memory, and are recorded when a trigger fires.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use tidewire::FilterError;
use tidewire_filter::Filter;
use tidewire_wire::{Frame, LinkType, Timestamp};

use crate::{classes::compiled, flows::Key, place::time_of, settings::LookBackSettings, status::Waiting};

/// Streams that are recorded at a time at most; beyond, the oldest trigger is forgotten.
const STREAMS_MAX: usize = 65_536;
/// Times that are recorded of the link, at most; beyond, what is between two is recorded as well.
const WINDOWS_MAX: usize = 1024;
/// Packets may be so much out of order.
const DISORDER_NS: u64 = 1_000_000_000;
const PIECE_BYTES: usize = 1 << 20;

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Kept {
    number: u64,
    timestamp_ns: u64,
    captured_bytes: u32,
    wire_bytes: u32,
    /// Counts packets, from any number on: those that wait are fewer than half of all numbers.
    order: u32,
    link: u16,
    interface: u16,
}

#[derive(Debug, Default)]
struct Piece {
    packets: VecDeque<Kept>,
    bytes: Vec<u8>,
    /// Where the first packet's bytes begin.
    at: usize,
    /// Offset of its packets' times, so that they age although the clock was set back.
    offset_ns: u64,
}

/// Times that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    from_ns: u64,
    to_ns: u64,
}

impl Window {
    fn has(&self, time_ns: u64) -> bool {
        (self.from_ns..=self.to_ns).contains(&time_ns)
    }
}

/// Decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Record,
    /// No trigger requested it.
    Leave,
    /// Requested, but memory ran out before the disk took it.
    Shed,
}

/// Destination that decided packets wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backlog {
    /// There are none.
    None,
    /// The disk.
    ForBuffers,
    /// Their turn.
    ForTime,
}

/// Packets that wait.
#[derive(Debug)]
pub(crate) struct LookBack {
    settings: LookBackSettings,
    filters: Vec<Filter>,
    /// By priority.
    lanes: Vec<VecDeque<Piece>>,
    spare: Option<Piece>,
    /// Number of the next packet.
    next: u32,
    held_bytes: usize,
    /// Recorded times of the link, the earliest first, and of conversations.
    link: VecDeque<Window>,
    streams: HashMap<Key, Window>,
    order: VecDeque<Key>,
    fired: u64,
    /// Whether this worker counts triggers from outside, which all workers see.
    counts_outside: bool,
    triggers: u64,
    /// By its time and the offset.
    newest_ns: u64,
    /// Of the packets that come now.
    offset_ns: u64,
}

impl LookBack {
    /// `highest`: the greatest priority of packets. `counts_outside`: this worker counts triggers from outside.
    pub fn new(settings: &LookBackSettings, highest: u8, counts_outside: bool) -> Result<Self, FilterError> {
        let filters = settings.filters.iter().map(|expression| compiled(expression)).collect::<Result<_, _>>()?;
        Ok(Self {
            fired: settings.trigger.count(),
            settings: settings.clone(),
            filters,
            lanes: (0..=highest).map(|_| VecDeque::new()).collect(),
            spare: None,
            next: 0,
            held_bytes: 0,
            link: VecDeque::new(),
            streams: HashMap::new(),
            order: VecDeque::new(),
            counts_outside,
            triggers: 0,
            newest_ns: 0,
            offset_ns: 0,
        })
    }

    /// Whether packets have priorities.
    pub fn has_priorities(&self) -> bool {
        self.lanes.len() > 1
    }

    /// Adds a packet. `key`: its conversation. Returns whether it fired a trigger.
    pub fn push(&mut self, frame: &Frame, bytes: &[u8], priority: u8, key: impl FnOnce() -> Option<Key>) -> bool {
        let order = self.next;
        self.next = self.next.wrapping_add(1);
        let lane = usize::from(priority).min(self.lanes.len() - 1);
        let time_ns = self.aged(time_of(frame));
        let offset_ns = self.offset_ns;
        let Some(pieces) = self.lanes.get_mut(lane) else { return false };
        let fits = |piece: &Piece| piece.bytes.len() + bytes.len() <= PIECE_BYTES && piece.offset_ns == offset_ns;
        if !pieces.back().is_some_and(fits) {
            let mut piece = self
                .spare
                .take()
                .unwrap_or_else(|| Piece { bytes: Vec::with_capacity(PIECE_BYTES), ..Piece::default() });
            piece.offset_ns = offset_ns;
            pieces.push_back(piece);
        }
        if let Some(piece) = pieces.back_mut() {
            piece.bytes.extend_from_slice(bytes);
            piece.packets.push_back(Kept {
                number: frame.number,
                timestamp_ns: frame.timestamp.as_nanos(),
                captured_bytes: bytes.len() as u32,
                wire_bytes: frame.wire_bytes,
                order,
                link: frame.link.0,
                interface: frame.interface,
            });
        }
        self.held_bytes += bytes.len() + size_of::<Kept>();
        self.newest_ns = self.newest_ns.max(time_ns);
        if !self.matches(frame, bytes) {
            return false;
        }
        self.triggers += 1;
        match self.settings.is_of_streams.then(key).flatten() {
            Some(key) => self.fire_stream(key, time_ns),
            None => self.fire(time_ns),
        }
        true
    }

    /// The time of a packet that comes now. One that is older than everything that waits says that the clock was set back, or is a
    /// single one: it counts as new, as do those after it, until there is one again that follows the newest.
    fn aged(&mut self, timestamp_ns: u64) -> u64 {
        let oldest = self.newest_ns.saturating_sub(nanoseconds(self.settings.before));
        if timestamp_ns >= oldest {
            self.offset_ns = 0;
        } else if timestamp_ns.saturating_add(self.offset_ns) < oldest {
            self.offset_ns = self.newest_ns.saturating_sub(timestamp_ns);
        }
        timestamp_ns.saturating_add(self.offset_ns)
    }

    fn matches(&mut self, frame: &Frame, bytes: &[u8]) -> bool {
        self.filters.iter_mut().any(|filter| filter.matches(frame.link, bytes, frame.wire_bytes).unwrap_or(false))
            || self.settings.patterns.iter().any(|pattern| contains(bytes, pattern))
    }

    /// Looks whether a trigger from outside fired.
    pub fn look(&mut self, clock_ns: u64) {
        let fired = self.settings.trigger.count();
        if fired != self.fired {
            if self.counts_outside {
                self.triggers += fired.wrapping_sub(self.fired);
            }
            self.fired = fired;
            self.fire(clock_ns.max(self.newest_ns));
        }
    }

    fn window(&self, at_ns: u64) -> Window {
        Window {
            from_ns: at_ns.saturating_sub(nanoseconds(self.settings.before)),
            to_ns: at_ns.saturating_add(nanoseconds(self.settings.after)),
        }
    }

    fn fire(&mut self, at_ns: u64) {
        let window = self.window(at_ns);
        // Waiting packets that an earlier trigger requested stay requested.
        let is_full = self.link.len() >= WINDOWS_MAX;
        match self.link.back_mut() {
            Some(known) if is_full || known.to_ns >= window.from_ns => {
                // A packet that fires may be older than the one before it.
                known.from_ns = known.from_ns.min(window.from_ns);
                known.to_ns = known.to_ns.max(window.to_ns);
            }
            _ => self.link.push_back(window),
        }
    }

    fn fire_stream(&mut self, key: Key, at_ns: u64) {
        let window = self.window(at_ns);
        if let Some(known) = self.streams.get_mut(&key) {
            known.from_ns = known.from_ns.min(window.from_ns);
            known.to_ns = known.to_ns.max(window.to_ns);
            return;
        }
        if self.order.len() >= STREAMS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.streams.remove(&oldest);
        }
        self.streams.insert(key, window);
        self.order.push_back(key);
    }

    /// Waiting packets, and the number of triggers.
    pub fn waiting(&self) -> Waiting {
        let of = |piece: &Piece| Some(piece.packets.front()?.timestamp_ns.saturating_add(piece.offset_ns));
        let oldest_ns = self.first().and_then(|lane| of(self.lanes.get(lane)?.front()?));
        Waiting {
            bytes: self.held_bytes as u64,
            span_ns: oldest_ns.map_or(0, |oldest| self.newest_ns.saturating_sub(oldest)),
            triggers: self.triggers,
        }
    }

    /// Whether memory has no room for what waits.
    pub fn is_full(&self) -> bool {
        self.held_bytes > self.settings.memory_bytes
    }

    /// The priority of the packet that waits longest.
    pub fn first(&self) -> Option<usize> {
        let order = |lane: &VecDeque<Piece>| Some(lane.front()?.packets.front()?.order);
        let heads = self.lanes.iter().enumerate().filter_map(|(place, lane)| Some((place, order(lane)?)));
        // Those that wait longer are further behind the next one.
        heads.max_by_key(|(_, order)| self.next.wrapping_sub(*order)).map(|(place, _)| place)
    }

    /// The lowest priority of which packets wait.
    pub fn lowest(&self) -> usize {
        self.lanes.iter().position(|lane| !lane.is_empty()).unwrap_or(0)
    }

    /// Decides on the first packet of a priority; `None`: it waits on. `is_last`: nothing waits any longer.
    pub fn turn(
        &self,
        lane: usize,
        clock_ns: u64,
        is_last: bool,
        key: impl FnOnce(&Frame, &[u8]) -> Option<Key>,
    ) -> Option<Turn> {
        let (frame, bytes) = self.front(lane)?;
        let time = self.front_ns(lane)?;
        if self.is_in_link(time) {
            return Some(Turn::Record);
        }
        let is_old = clock_ns.max(self.newest_ns).saturating_sub(time) > nanoseconds(self.settings.before);
        if !is_old && !is_last {
            return None;
        }
        Some(if self.is_in_stream(&frame, bytes, time, key) { Turn::Record } else { Turn::Leave })
    }

    /// Whether a trigger requested the first packet of a priority.
    pub fn is_wanted(&self, lane: usize, key: impl FnOnce(&Frame, &[u8]) -> Option<Key>) -> bool {
        let first = self.front(lane).zip(self.front_ns(lane));
        first.is_some_and(|((frame, bytes), time)| self.is_in_link(time) || self.is_in_stream(&frame, bytes, time, key))
    }

    fn is_in_link(&self, time_ns: u64) -> bool {
        self.link.iter().skip_while(|window| window.to_ns < time_ns).any(|window| window.has(time_ns))
    }

    fn is_in_stream(
        &self,
        frame: &Frame,
        bytes: &[u8],
        time_ns: u64,
        key: impl FnOnce(&Frame, &[u8]) -> Option<Key>,
    ) -> bool {
        let is_in = |key: Key| self.streams.get(&key).is_some_and(|window| window.has(time_ns));
        !self.streams.is_empty() && key(frame, bytes).is_some_and(is_in)
    }

    /// The first packet of a priority.
    pub fn front(&self, lane: usize) -> Option<(Frame, &[u8])> {
        let piece = self.lanes.get(lane)?.front()?;
        let kept = piece.packets.front()?;
        let bytes = piece.bytes.get(piece.at..piece.at + kept.captured_bytes as usize)?;
        let frame = Frame::new(LinkType(kept.link), Timestamp::from_nanos(kept.timestamp_ns))
            .with_number(kept.number)
            .with_place(0, kept.captured_bytes)
            .with_wire_bytes(kept.wire_bytes)
            .with_interface(kept.interface)
            .with_clock(Timestamp::from_nanos(kept.timestamp_ns.min(self.newest_ns)));
        Some((frame, bytes))
    }

    /// Its time, by which it ages.
    fn front_ns(&self, lane: usize) -> Option<u64> {
        let piece = self.lanes.get(lane)?.front()?;
        Some(piece.packets.front()?.timestamp_ns.saturating_add(piece.offset_ns).min(self.newest_ns))
    }

    /// Removes it. `is_first`: it is the one that waits longest of all.
    pub fn pop(&mut self, lane: usize, is_first: bool) {
        if let Some(time_ns) = self.front_ns(lane).filter(|_| is_first) {
            // Times before all that waits.
            while self.link.front().is_some_and(|window| window.to_ns < time_ns.saturating_sub(DISORDER_NS)) {
                self.link.pop_front();
            }
        }
        let Some(pieces) = self.lanes.get_mut(lane) else { return };
        let Some(piece) = pieces.front_mut() else { return };
        if let Some(kept) = piece.packets.pop_front() {
            piece.at += kept.captured_bytes as usize;
            self.held_bytes -= kept.captured_bytes as usize + size_of::<Kept>();
        }
        if piece.packets.is_empty()
            && let Some(mut piece) = pieces.pop_front()
        {
            piece.bytes.clear();
            piece.bytes.shrink_to(PIECE_BYTES);
            piece.at = 0;
            self.spare = Some(piece);
        }
    }
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Whether bytes hold a pattern.
fn contains(bytes: &[u8], pattern: &[u8]) -> bool {
    !pattern.is_empty() && memchr::memmem::find(bytes, pattern).is_some()
}
