//! Memory of all conversations of a worker: what they hold lies here, so that the oldest ones make room for others.

use crate::{
    parser_state::ParserState,
    report::{App, Report},
    value::Service,
};

/// Bytes for each worker unless said otherwise: 50,000 conversations in the middle of a handshake.
const DEFAULT_BYTES: u64 = 64 << 20;

/// Bytes that every recognised conversation takes.
const SLOT_BYTES: u32 = size_of::<Slot>() as u32;

/// No slot.
const NONE: u32 = u32::MAX;

/// Memory of the conversations of one worker, and its bound. Beyond it, those that began first lose their fields:
/// the ones that are not finished, then finished ones. So a host that begins many and finishes none takes no fields from streams that
/// begin later.
#[derive(Debug)]
pub struct Budget {
    used_bytes: u64,
    max_bytes: u64,
    refused: u64,
    slots: Vec<Slot>,
    /// The first free slot; the others follow it.
    free: u32,
    /// Those being parsed, and finished ones, by age.
    lists: [List; 2],
}

/// The place of a conversation's slot.
pub(crate) type SlotIndex = u32;

#[derive(Debug)]
struct Slot {
    content: Content,
    charged: u32,
    before: SlotIndex,
    after: SlotIndex,
}

#[derive(Debug)]
enum Content {
    Free,
    Parsing(Box<ParserState>),
    Over(Box<App>),
    /// The fields made room for others.
    Evicted(Option<Service>, u32),
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: SlotIndex,
    last: SlotIndex,
}

const PARSING: usize = 0;
const OVER: usize = 1;

impl Default for Budget {
    fn default() -> Self {
        Self::new(DEFAULT_BYTES)
    }
}

impl Budget {
    /// A budget of `max_bytes`.
    #[must_use]
    pub fn new(max_bytes: u64) -> Self {
        let lists = [List { first: NONE, last: NONE }; 2];
        Self { used_bytes: 0, max_bytes, refused: 0, slots: Vec::new(), free: NONE, lists }
    }

    /// Bytes held now.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// How many streams lost their fields because the bound was reached.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// A new conversation's place.
    pub(crate) fn open(&mut self) -> SlotIndex {
        let content = Content::Parsing(Box::default());
        let mut slot = Slot { content, charged: SLOT_BYTES, before: NONE, after: NONE };
        self.used_bytes += u64::from(SLOT_BYTES);
        let place = self.free;
        match self.slots.get_mut(place as usize) {
            Some(free) => {
                std::mem::swap(free, &mut slot);
                self.free = slot.after;
                self.link(PARSING, place);
                place
            }
            None => {
                let place = self.slots.len() as SlotIndex;
                self.slots.push(slot);
                self.link(PARSING, place);
                place
            }
        }
    }

    /// The parser of a conversation; `None`: it made room for others.
    pub(crate) fn parser(&mut self, place: SlotIndex) -> Option<&mut ParserState> {
        match &mut self.slots.get_mut(place as usize)?.content {
            Content::Parsing(parser) => Some(parser),
            _ => None,
        }
    }

    /// Charges what a conversation holds now, and lets go of what is not needed. Whether there is more to read, and whether the place
    /// is still its own.
    pub(crate) fn settle(&mut self, place: SlotIndex) -> (bool, bool) {
        let slot = &mut self.slots[place as usize];
        let Content::Parsing(parser) = &mut slot.content else { return (false, true) };
        if !parser.is_done() {
            let held = SLOT_BYTES.saturating_add(parser.memory_bytes());
            if held != slot.charged {
                self.charge(place, held);
            }
            return (matches!(self.slots[place as usize].content, Content::Parsing(_)), true);
        }
        let app = parser.take_app();
        self.unlink(PARSING, place);
        let Some(app) = app else {
            self.free(place);
            return (false, false);
        };
        let held = SLOT_BYTES.saturating_add(app.memory_bytes());
        self.slots[place as usize].content = Content::Over(app);
        self.link(OVER, place);
        self.charge(place, held);
        (false, true)
    }

    /// The stream ended: reports what is not complete, and returns what the stream was.
    pub(crate) fn close(&mut self, place: SlotIndex, report: &mut Report<'_>) -> Option<Box<App>> {
        let app = match std::mem::replace(&mut self.slots[place as usize].content, Content::Free) {
            Content::Free => None,
            Content::Evicted(service, transactions) => {
                service.map(|service| Box::new(App { service, transactions, first: None }))
            }
            Content::Over(app) => {
                self.unlink(OVER, place);
                Some(app)
            }
            Content::Parsing(mut parser) => {
                parser.finish(report);
                self.unlink(PARSING, place);
                parser.take_app()
            }
        };
        self.free(place);
        app
    }

    /// Replaces a charge, and makes room for it: of the oldest others, or of the one itself if it alone is too large.
    fn charge(&mut self, place: SlotIndex, held: u32) {
        let slot = &mut self.slots[place as usize];
        self.used_bytes = self.used_bytes - u64::from(slot.charged) + u64::from(held);
        slot.charged = held;
        while self.used_bytes > self.max_bytes && self.evict(place) {}
    }

    /// Lets one go, `wanted` last. `false`: there is none.
    fn evict(&mut self, wanted: SlotIndex) -> bool {
        let oldest = [PARSING, OVER].into_iter().find_map(|list| {
            let first = self.lists[list].first;
            let place = if first == wanted { self.slots[first as usize].after } else { first };
            (place != NONE).then_some((list, place))
        });
        let (list, place) = match (oldest, &self.slots[wanted as usize].content) {
            (Some(oldest), _) => oldest,
            (None, Content::Parsing(_)) => (PARSING, wanted),
            (None, Content::Over(_)) => (OVER, wanted),
            (None, _) => return false,
        };
        self.unlink(list, place);
        let slot = &mut self.slots[place as usize];
        let app = match std::mem::replace(&mut slot.content, Content::Free) {
            Content::Parsing(mut parser) => parser.take_app(),
            Content::Over(app) => Some(app),
            _ => None,
        };
        let (service, transactions) = app.map_or((None, 0), |app| (Some(app.service), app.transactions));
        slot.content = Content::Evicted(service, transactions);
        self.used_bytes = self.used_bytes - u64::from(slot.charged) + u64::from(SLOT_BYTES);
        slot.charged = SLOT_BYTES;
        self.refused += 1;
        true
    }

    fn free(&mut self, place: SlotIndex) {
        let free = std::mem::replace(&mut self.free, place);
        let slot = &mut self.slots[place as usize];
        self.used_bytes -= u64::from(slot.charged);
        *slot = Slot { content: Content::Free, charged: 0, before: NONE, after: free };
    }

    fn link(&mut self, list: usize, place: SlotIndex) {
        let last = std::mem::replace(&mut self.lists[list].last, place);
        let slot = &mut self.slots[place as usize];
        (slot.before, slot.after) = (last, NONE);
        match self.slots.get_mut(last as usize) {
            Some(last) => last.after = place,
            None => self.lists[list].first = place,
        }
    }

    fn unlink(&mut self, list: usize, place: SlotIndex) {
        let (before, after) = (self.slots[place as usize].before, self.slots[place as usize].after);
        match self.slots.get_mut(before as usize) {
            Some(before) => before.after = after,
            None => self.lists[list].first = after,
        }
        match self.slots.get_mut(after as usize) {
            Some(after) => after.before = before,
            None => self.lists[list].last = before,
        }
    }
}
