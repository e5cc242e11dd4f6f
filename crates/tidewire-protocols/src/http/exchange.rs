//! A conversation in HTTP: which response belongs to which request, and what follows a head.

use tidewire_types::Timestamp;

use super::{
    head,
    pairing::Pairing,
    requests::{Pending, Requests},
    side::{At, Side, Step},
};
use crate::{
    early::Early,
    fields::Http,
    input::{Input, Progress},
    transaction::{Fields, Transaction},
    value::Service,
    work,
};

/// Most pipelined requests that wait for their response, and most memory of them in bytes.
const PENDING_MAX: usize = 64;
const PENDING_BYTES_MAX: usize = 96 << 10;

#[derive(Debug, Default)]
pub(crate) struct Exchange {
    pub(super) sides: [Side; 2],
    /// Requests in order; the first has a response that is being read, if any.
    pub(super) requests: Requests,
    /// Whether the last of them is not complete.
    pub(super) is_asking: bool,
    /// Whether the first of them has a response that is not complete.
    pub(super) is_answering: bool,
    /// Whether the first of them has its response, and waits for its own end: it is the only one.
    pub(super) is_held: bool,
    /// Whether the first of them is a response alone.
    pub(super) is_alone: bool,
    pub(super) pairing: Pairing,
    pub(super) was_valid: bool,
    /// Whether the first request was none, so that a response decides.
    pub(super) is_doubtful: bool,
    /// When the last bytes of the server came.
    answer_ns: u64,
    /// Texts of the pending ones, bytes.
    pending_bytes: usize,
    /// Bytes that the client sent behind a `CONNECT` that is not answered.
    pub(super) early: Option<Box<Early>>,
    /// Whether what messages say is not wanted, only how many there are.
    pub(super) is_unnamed: bool,
}

pub(super) type Out<'a> = &'a mut dyn FnMut(Transaction);

impl Exchange {
    /// `is_unnamed`: the fields of messages that begin here will not be read.
    pub(crate) fn data(&mut self, input: Input<'_>, is_unnamed: bool, out: Out<'_>) -> Progress {
        self.is_unnamed = is_unnamed;
        let progress = self.read(input, out);
        if progress != Progress::More || self.sides[0].at == At::Tunnel {
            return progress;
        }
        // There is no tunnel: a proxy reads requests there.
        let Some(early) = self.early.take() else { return progress };
        match self.data(Input { side: 0, bytes: &early.bytes, ns: early.ns, ..input }, is_unnamed, out) {
            Progress::More if early.missing > 0 => self.gap(0, early.missing, 0, out),
            progress => progress,
        }
    }

    /// Bytes that were sent early through the tunnel that the server consented to.
    pub(crate) fn take_early(&mut self) -> Option<Box<Early>> {
        self.early.take()
    }

    fn read(&mut self, input: Input<'_>, out: Out<'_>) -> Progress {
        let mut bytes = input.bytes;
        if input.side == 1 {
            self.answer_ns = input.ns;
            self.sides[1].is_interim = false;
        }
        let mut has_changed = false;
        loop {
            let step = self.sides[input.side].step(&mut bytes, input.side == 0);
            has_changed |= step != Step::More;
            if let Step::Line(line) | Step::Found(line) = &step
                && input.side == 1
                && self.is_held
                && !line.is_empty()
            {
                self.release_held(out);
            }
            let went_on = match step {
                Step::More => break,
                Step::Line(line) | Step::Found(line) if input.side == 0 => self.request_line(&line, input.ns, out),
                Step::Passed => {
                    self.fields_passed(input.side, input.ns);
                    Progress::More
                }
                Step::Line(line) => self.response_line(&line, input.ns, out),
                Step::Found(line) => {
                    if self.pairing.responses_missing(self.waiting()) {
                        self.release_unanswered(out);
                    }
                    self.response_line(&line, input.ns, out)
                }
                Step::Early(bytes) => {
                    self.early.get_or_insert_default().keep(bytes, input.ns);
                    Progress::More
                }
                Step::End if input.side == 0 => self.end_request(input.ns, out),
                Step::End => self.end_response(input.ns, out),
                Step::Bad => Progress::Done,
            };
            match went_on {
                Progress::More => {}
                Progress::Switch(_) => return Progress::Switch(input.bytes.len() - bytes.len()),
                Progress::Done => {
                    self.settle_body(input.side, Some(false));
                    self.sides[input.side].lose();
                    break;
                }
                Progress::Mistaken => return Progress::Mistaken,
            }
        }
        if has_changed {
            self.pending_bytes = self.requests.memory_bytes();
        }
        self.end_if_lost(out)
    }

    /// See `Side::take_body`. Nothing that is held changes, and nothing is reported.
    #[inline]
    pub(crate) fn take_body(&mut self, side: usize, bytes: usize, ns: u64) -> bool {
        let is_taken = self.sides[side].take_body(bytes);
        if is_taken && side == 1 {
            self.answer_ns = ns;
        }
        is_taken
    }

    /// See `Side::body_room`.
    pub(crate) fn body_room(&self, side: usize) -> u64 {
        self.sides[side].body_room()
    }

    /// Bytes that will not come, `seen` of which passed without being read.
    pub(crate) fn gap(&mut self, side: usize, bytes: u64, seen: u64, out: Out<'_>) -> Progress {
        match self.sides[side].skip(bytes, seen) {
            None => {
                self.settle_body(side, self.sides[side].is_whole_behind(bytes, seen));
                self.search(side, bytes, out);
            }
            Some(false) => {}
            Some(true) if side == 0 => {
                self.end_request(0, out);
            }
            Some(true) => {
                self.end_response(self.answer_ns, out);
            }
        }
        self.end_if_lost(out)
    }

    /// Goes on behind missing bytes that were more than a body.
    fn search(&mut self, side: usize, bytes: u64, out: Out<'_>) {
        match self.sides[side].at {
            At::Tunnel => return self.early.get_or_insert_default().gap(bytes),
            At::Lost => return,
            _ => {}
        }
        self.sides[side].search();
        if side == 0 {
            self.is_asking = false;
            self.release_held(out);
            self.pairing.requests_missing(self.waiting());
        } else if self.is_answering
            && let Some(mut pending) = self.pop_answered()
        {
            pending.end_ns = self.answer_ns;
            self.is_asking &= !self.requests.is_empty();
            self.pending_bytes = self.requests.memory_bytes();
            out(transaction(pending));
        }
    }

    /// How many requests wait.
    fn waiting(&self) -> usize {
        self.requests.len() - usize::from(self.is_alone)
    }

    /// Takes the first request, whose response ended.
    pub(super) fn pop_answered(&mut self) -> Option<Pending> {
        self.is_answering = false;
        self.pairing.answered(std::mem::take(&mut self.is_alone));
        self.requests.pop_front()
    }

    /// A side ended by itself: nothing follows.
    pub(crate) fn ended(&mut self, side: usize) {
        self.sides[side].is_closed = true;
    }

    pub(crate) fn finish(&mut self, out: Out<'_>) {
        if self.is_answering
            && let Some(pending) = self.requests.front_mut()
        {
            pending.end_ns = self.answer_ns;
        }
        for side in [0, 1] {
            let is_whole = self.sides[side].at == At::ToEnd && self.sides[side].is_closed;
            self.settle_body(side, Some(is_whole));
        }
        while let Some(pending) = self.requests.pop_front() {
            out(transaction(pending));
        }
    }

    /// Keeps what was seen of a side's body with its message. `complete`: as [`Side::take_ended_body`] has it.
    pub(super) fn settle_body(&mut self, side: usize, complete: Option<bool>) {
        let Some(body) = self.sides[side].take_ended_body(complete) else { return };
        let pending = match side {
            0 if self.is_asking => self.requests.back_mut(),
            1 if self.is_answering => self.requests.front_mut(),
            _ => None,
        };
        if let Some(pending) = pending {
            pending.http.set_body(side, body);
        }
    }

    /// Reports the request that was answered before its end.
    fn release_held(&mut self, out: Out<'_>) {
        if !std::mem::take(&mut self.is_held) {
            return;
        }
        if std::mem::take(&mut self.is_asking)
            && let Some(body) = self.sides[0].take_ended_body(None)
            && let Some(pending) = self.requests.front_mut()
        {
            pending.http.set_body(0, body);
        }
        if let Some(pending) = self.pop_answered() {
            out(transaction(pending));
        }
        self.pending_bytes = self.requests.memory_bytes();
    }

    /// Whether nothing showed yet that this is HTTP.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let early = self.early.as_ref().map_or(0, |early| early.memory_bytes());
        self.sides.iter().map(Side::memory_bytes).sum::<usize>() + early + self.pending_bytes
    }

    fn end_if_lost(&mut self, out: Out<'_>) -> Progress {
        if self.sides.iter().all(|side| side.at == At::Lost) {
            self.finish(out);
            return if self.is_doubtful { Progress::Mistaken } else { Progress::Done };
        }
        if self.sides[1].at == At::Lost {
            self.release_unanswered(out);
        }
        Progress::More
    }

    /// Reports requests whose responses are lost: all but one that is not complete.
    pub(super) fn release_unanswered(&mut self, out: Out<'_>) {
        self.settle_body(1, Some(false));
        while self.requests.len() > usize::from(self.is_asking)
            && let Some(pending) = self.requests.pop_front()
        {
            out(transaction(pending));
        }
        (self.is_answering, self.is_alone) = (false, false);
        self.pending_bytes = self.requests.memory_bytes();
    }

    /// Reports requests whose responses are far behind, where there are very many, but the one that is being answered. Their responses
    /// come alone, if they come: most often they are answered elsewhere, where this capture does not see it.
    fn release_waiting(&mut self, out: Out<'_>) {
        let (is_answering, is_alone) = (self.is_answering, self.is_alone);
        let first = if is_answering || is_alone { self.requests.pop_front() } else { None };
        self.pairing.reported(self.requests.len());
        self.release_unanswered(out);
        if let Some(first) = first {
            self.requests.push_front(first);
            (self.is_answering, self.is_alone) = (is_answering, is_alone);
        }
    }

    fn request_line(&mut self, line: &[u8], ns: u64, out: Out<'_>) -> Progress {
        if self.sides[0].at == At::Start {
            if line.is_empty() {
                // RFC 9112 section 2.2.
                return Progress::More;
            }
            work::add(line.len());
            let mut http = Box::<Http>::default();
            if !head::request_line(line, &mut http, self.is_unnamed) {
                // Servers answer such requests, too.
                self.is_doubtful |= !self.was_valid;
                return Progress::Done;
            }
            if self.requests.len() >= PENDING_MAX || self.requests.memory_bytes() > PENDING_BYTES_MAX {
                self.release_waiting(out);
            }
            self.was_valid = true;
            self.pairing.request(self.requests.is_empty());
            if http.version.as_deref() == Some(head::SIMPLE) {
                // Nothing follows it.
                self.requests.push_back(Pending::new(http, ns));
                return Progress::Done;
            }
            self.sides[0].begin_head(self.is_unnamed);
            self.requests.push_back(Pending::new(http, ns));
            self.is_asking = true;
            return Progress::More;
        }
        let side = &mut self.sides[0];
        side.count_line();
        let Some(pending) = self.requests.back_mut().filter(|_| self.is_asking) else {
            // Its response came before its end: only its length matters.
            return self.orphaned_line(line, ns, out);
        };
        pending.end_ns = ns;
        if !line.is_empty() {
            head::field(line, true, &mut pending.http, &mut side.framing, &mut pending.folded);
            return Progress::More;
        }
        head::unfold(&mut pending.folded, &mut pending.http);
        let is_connect = pending.http.method.as_deref() == Some("CONNECT");
        self.begin_request_body(is_connect, ns, out)
    }

    /// Irrelevant fields of a head were skipped.
    fn fields_passed(&mut self, side: usize, ns: u64) {
        let pending = match side {
            0 => self.requests.back_mut().filter(|_| self.is_asking),
            _ => self.requests.front_mut(),
        };
        if let Some(pending) = pending {
            pending.end_ns = ns;
        }
    }

    fn orphaned_line(&mut self, line: &[u8], ns: u64, out: Out<'_>) -> Progress {
        let side = &mut self.sides[0];
        if !line.is_empty() {
            head::field(line, true, &mut Http::default(), &mut side.framing, &mut None);
            return Progress::More;
        }
        self.begin_request_body(false, ns, out)
    }

    /// A request whose last transfer coding is not chunked has no end that hosts agree on (RFC 9112 section 6.3): they close the
    /// connection, so that nothing behind it is another request.
    fn begin_request_body(&mut self, is_connect: bool, ns: u64, out: Out<'_>) -> Progress {
        let side = &mut self.sides[0];
        if is_connect {
            side.at = At::Tunnel;
            return Progress::More;
        }
        side.begin_body(At::Start);
        if side.at == At::Start { self.end_request(ns, out) } else { Progress::More }
    }

    /// `ns`: time of its last bytes; 0: that is not known.
    fn end_request(&mut self, ns: u64, out: Out<'_>) -> Progress {
        self.settle_body(0, Some(true));
        self.is_asking = false;
        if self.is_held {
            if let Some(pending) = self.requests.front_mut() {
                pending.end_ns = pending.end_ns.max(ns);
            }
            self.release_held(out);
        }
        Progress::More
    }
}

pub(super) fn transaction(pending: Pending) -> Transaction {
    let Pending { mut http, start_ns, end_ns, mut folded, .. } = pending;
    head::unfold(&mut folded, &mut http);
    Transaction {
        start: Timestamp::from_nanos(start_ns),
        end: Timestamp::from_nanos(end_ns),
        service: Service::Http,
        fields: Fields::Http(http),
    }
}
