//! One stream, from its first bytes to its end.

use tidewire_core::Direction;

use crate::{
    budget::{Budget, Place},
    input::{Input, Ports},
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
    /// Time of the packet that brought them, nanoseconds since the epoch.
    pub timestamp_ns: u64,
}

/// The state of one stream, which belongs to one [`Budget`]. The default is one of which nothing was seen.
#[derive(Debug, Default)]
pub struct Conversation(State);

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    New,
    /// The client's bytes are of no known protocol: nothing is kept until the server answers.
    Unanswered(Unanswered),
    Going(Place),
    /// Nothing more is looked at; what was found stays.
    Over(Option<Place>),
}

impl Conversation {
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
    pub fn take_body(&mut self, direction: Direction, bytes: usize, budget: &mut Budget) -> bool {
        match self.0 {
            State::Going(place) => budget.going(place).is_some_and(|going| going.take_body(direction as usize, bytes)),
            _ => false,
        }
    }

    fn take(&mut self, piece: &Piece<'_>, ports: Ports, budget: &mut Budget, report: &mut Report<'_>) {
        let side = piece.direction as usize;
        let input = Input { side, bytes: piece.bytes, is_datagram: piece.is_datagram, ns: piece.timestamp_ns };
        let place = match self.0 {
            State::New => {
                let Some(first) = recognise::first(&input, ports) else {
                    self.0 = State::Over(None);
                    return;
                };
                if let First::Stream(Verdict::Unanswered(unanswered)) = first {
                    self.0 = State::Unanswered(unanswered);
                    return;
                }
                let place = budget.open();
                if let Some(going) = budget.going(place) {
                    match first {
                        First::Datagram(service) => going.datagram(service, input, ports, report),
                        First::Stream(verdict) => going.stream(verdict, input, ports, report),
                    }
                }
                self.0 = State::Going(place);
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
                if let Some(going) = budget.going(place) {
                    going.answered(taken, input, ports, report);
                }
                self.0 = State::Going(place);
                place
            }
            State::Going(place) => {
                if let Some(going) = budget.going(place) {
                    going.data(input, ports, report);
                }
                place
            }
            State::Over(_) => return,
        };
        self.settle(place, budget);
    }

    /// So many bytes of a direction will not come.
    pub fn gap(&mut self, direction: Direction, bytes: u64, budget: &mut Budget, report: &mut Report<'_>) {
        if let State::Unanswered(unanswered) = self.0
            && !unanswered.survives_gap(direction as usize)
        {
            self.0 = State::Over(None);
        }
        if let State::Going(place) = self.0 {
            if let Some(going) = budget.going(place) {
                going.gap(direction as usize, bytes, report);
            }
            self.settle(place, budget);
        }
    }

    /// The stream ended: reports what is not complete, and returns what the stream was.
    pub fn close(&mut self, budget: &mut Budget, report: &mut Report<'_>) -> Option<Box<App>> {
        match std::mem::take(&mut self.0) {
            State::New | State::Unanswered(_) | State::Over(None) => None,
            State::Going(place) | State::Over(Some(place)) => budget.close(place, report),
        }
    }

    /// Whether no more bytes are needed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.0, State::Over(_))
    }

    fn settle(&mut self, place: Place, budget: &mut Budget) {
        self.0 = match budget.settle(place) {
            (true, _) => State::Going(place),
            (false, has_place) => State::Over(has_place.then_some(place)),
        };
    }
}
