//! One stream, from its first bytes to its end.

use tidewire_core::{Direction, Timestamp};

use crate::{
    budget::{Budget, SlotIndex},
    input::{Input, Ports},
    parser_state::ParserState,
    recognise::{self, Answer, First, Unanswered, Verdict},
    report::{App, Report},
};

/// Bytes of a stream, in order.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Who sent them.
    pub direction: Direction,
    /// The bytes, of any number.
    pub bytes: &'a [u8],
    /// Whether they are one datagram.
    pub is_datagram: bool,
    /// Time of the packet that brought them.
    pub timestamp: Timestamp,
}

/// The state of one stream, which belongs to one [`Budget`]. The default is one of which nothing was seen.
#[derive(Debug, Default)]
pub struct Conversation(State);

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    New,
    /// The stream began before what is seen of it; no bytes were seen.
    Joined,
    /// The client's bytes are of no known protocol: nothing is kept until the server answers.
    Unanswered(Unanswered),
    Parsing(SlotIndex, Ahead),
    /// Nothing more is looked at; what was found stays.
    Over(Option<SlotIndex>),
}

/// The server's body, counted here: most packets of a transfer are nothing else, and what reads them lies elsewhere in memory.
#[derive(Clone, Copy, Debug, Default)]
struct Ahead {
    /// Bytes behind which the body still goes on.
    room: u32,
    /// Bytes that their reader has not seen yet.
    taken: u32,
    /// When the last of them came.
    ns: u64,
}

impl Ahead {
    fn of(parser: &ParserState) -> Self {
        Self { room: u32::try_from(parser.body_room(SERVER)).unwrap_or(u32::MAX), taken: 0, ns: 0 }
    }
}

/// The side of a stream that bodies mostly come from.
const SERVER: usize = Direction::ServerToClient as usize;

impl Conversation {
    /// Whether no bytes were seen.
    #[must_use]
    pub fn is_new(&self) -> bool {
        matches!(self.0, State::New)
    }

    /// The stream was joined after its beginning: its first bytes may be the rest of a message. Before the first [`data`](Self::data).
    pub fn joined(&mut self) {
        if self.is_new() {
            self.0 = State::Joined;
        }
    }

    /// Takes bytes. What they complete goes to `report`.
    #[inline]
    pub fn data(&mut self, piece: &Piece<'_>, ports: Ports, budget: &mut Budget, report: &mut Report<'_>) {
        if !self.is_over() && !piece.bytes.is_empty() {
            self.take(piece, ports, budget, report);
        }
    }

    /// Takes bytes if they are within a body: then only their number matters, neither ports nor what waits. `false`: nothing was done,
    /// and they go to [`data`](Self::data).
    #[inline]
    pub fn take_body(&mut self, direction: Direction, bytes: usize, timestamp: Timestamp, budget: &mut Budget) -> bool {
        let ns = timestamp.as_nanos();
        let State::Parsing(place, ahead) = &mut self.0 else { return false };
        let side = direction as usize;
        if side == SERVER
            && let Ok(bytes) = u32::try_from(bytes)
            && bytes <= ahead.room
        {
            ahead.room -= bytes;
            ahead.taken += bytes;
            ahead.ns = ns;
            return true;
        }
        let Some(parser) = budget.parser(*place) else { return false };
        if ahead.taken > 0 {
            parser.take_body(SERVER, ahead.taken as usize, ahead.ns);
        }
        let is_taken = parser.take_body(side, bytes, ns);
        *ahead = Ahead::of(parser);
        is_taken
    }

    /// Passes the bytes counted here to the reader.
    fn catch_up(&mut self, budget: &mut Budget) {
        if let State::Parsing(place, ahead) = &mut self.0
            && ahead.taken > 0
            && let Some(parser) = budget.parser(*place)
        {
            parser.take_body(SERVER, ahead.taken as usize, ahead.ns);
            *ahead = Ahead::default();
        }
    }

    fn take(&mut self, piece: &Piece<'_>, ports: Ports, budget: &mut Budget, report: &mut Report<'_>) {
        let side = piece.direction as usize;
        self.catch_up(budget);
        let input = Input { side, bytes: piece.bytes, is_datagram: piece.is_datagram, ns: piece.timestamp.as_nanos() };
        let place = match self.0 {
            State::New | State::Joined => {
                let is_joined = matches!(self.0, State::Joined) && !input.is_datagram;
                let first = match recognise::first(&input, ports) {
                    Some(first) => first,
                    None if is_joined => First::Stream(Verdict::Unknown),
                    None => {
                        self.0 = State::Over(None);
                        return;
                    }
                };
                if let First::Stream(Verdict::Unanswered(unanswered)) = first
                    && !is_joined
                {
                    self.0 = State::Unanswered(unanswered);
                    return;
                }
                let place = budget.open();
                if let Some(parser) = budget.parser(place) {
                    if is_joined {
                        parser.joined();
                    }
                    match first {
                        First::Datagram(service) => parser.datagram(service, input, ports, report),
                        First::Stream(verdict) => parser.stream(verdict, input, ports, report),
                    }
                }
                self.0 = State::Parsing(place, Ahead::default());
                place
            }
            State::Unanswered(mut unanswered) => {
                let taken = match unanswered.data(side, piece.bytes) {
                    Answer::Http(taken) => taken,
                    Answer::Open => {
                        self.0 = State::Unanswered(unanswered);
                        return;
                    }
                    Answer::Unknown => {
                        self.0 = State::Over(None);
                        return;
                    }
                };
                let place = budget.open();
                if let Some(parser) = budget.parser(place) {
                    parser.answered(taken, input, ports, report);
                }
                self.0 = State::Parsing(place, Ahead::default());
                place
            }
            State::Parsing(place, _) => {
                if let Some(parser) = budget.parser(place) {
                    parser.data(input, ports, report);
                }
                place
            }
            State::Over(_) => return,
        };
        self.settle(place, budget);
    }

    /// So many bytes of a direction will not come: they are missing.
    pub fn gap(&mut self, direction: Direction, bytes: u64, budget: &mut Budget, report: &mut Report<'_>) {
        self.skipped(direction, bytes, 0, budget, report);
    }

    /// So many bytes of a direction will not come, of which `seen` passed and were only counted (beyond a cutoff). The others are missing.
    pub fn skipped(
        &mut self,
        direction: Direction,
        bytes: u64,
        seen: u64,
        budget: &mut Budget,
        report: &mut Report<'_>,
    ) {
        // Of a stream of which nothing was seen, it is as if it had been joined midway.
        self.joined();
        if let State::Unanswered(unanswered) = self.0
            && !unanswered.survives_gap(direction as usize)
        {
            self.0 = State::Over(None);
        }
        self.catch_up(budget);
        if let State::Parsing(place, _) = self.0 {
            if let Some(parser) = budget.parser(place) {
                parser.gap(direction as usize, bytes, seen, report);
            }
            self.settle(place, budget);
        }
    }

    /// A direction ended by itself (its FIN was reached), which ends a body that nothing else ends. Before [`close`](Self::close).
    pub fn ended(&mut self, direction: Direction, budget: &mut Budget) {
        if let State::Parsing(place, _) = self.0
            && let Some(parser) = budget.parser(place)
        {
            parser.ended(direction as usize);
        }
    }

    /// The stream ended: reports what is not complete, and returns what the stream was.
    pub fn close(&mut self, budget: &mut Budget, report: &mut Report<'_>) -> Option<Box<App>> {
        self.catch_up(budget);
        match std::mem::take(&mut self.0) {
            State::New | State::Joined | State::Unanswered(_) | State::Over(None) => None,
            State::Parsing(place, _) | State::Over(Some(place)) => budget.close(place, report),
        }
    }

    /// Whether no more bytes are needed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.0, State::Over(_))
    }

    fn settle(&mut self, place: SlotIndex, budget: &mut Budget) {
        self.0 = match budget.settle(place) {
            (true, _) => {
                State::Parsing(place, budget.parser(place).map_or(Ahead::default(), |parser| Ahead::of(parser)))
            }
            (false, has_place) => State::Over(has_place.then_some(place)),
        };
    }
}
