//! Responses: which request each answers, and how its body ends.

use super::{
    exchange::{Exchange, Out, transaction},
    head,
    requests::Pending,
    side::At,
};
use crate::{input::Progress, work};

impl Exchange {
    /// Takes a line of a head: a status line, a field, or the empty one behind them.
    pub(super) fn response_line(&mut self, line: &[u8], ns: u64, out: Out<'_>) -> Progress {
        if self.sides[1].at == At::Start {
            return self.status_line(line, ns, out);
        }
        let side = &mut self.sides[1];
        side.count_line();
        let Some(pending) = self.requests.front_mut() else { return Progress::Done };
        pending.end_ns = ns;
        if !line.is_empty() {
            head::field(line, false, &mut pending.http, &mut side.framing, &mut pending.folded);
            return Progress::More;
        }
        head::unfold(&mut pending.folded, &mut pending.http);
        self.begin_response_body(ns, out)
    }

    fn status_line(&mut self, line: &[u8], ns: u64, out: Out<'_>) -> Progress {
        if line.is_empty() {
            return Progress::More;
        }
        work::add(line.len());
        let Some(seen) = head::status_line(line) else {
            return if self.was_valid { Progress::Done } else { Progress::Mistaken };
        };
        (self.was_valid, self.is_doubtful) = (true, false);
        self.choose(ns, out);
        let Some(pending) = self.requests.front_mut() else { return Progress::Done };
        pending.end_ns = ns;
        // Fields of a response that this one follows, 103 for one.
        (pending.http.content_type, pending.http.server, pending.http.location) = (None, None, None);
        pending.http.status = seen.code;
        pending.http.reason = seen.reason;
        match &pending.http.version {
            None => pending.http.version = Some(seen.version),
            Some(request) => {
                let is_other = *request != seen.version;
                pending.http.response_version = is_other.then_some(seen.version);
            }
        }
        self.sides[1].begin_head(self.is_unnamed);
        self.is_answering = true;
        Progress::More
    }

    /// Makes the request that a response answers the first one; where there is none, one of which nothing is known.
    fn choose(&mut self, ns: u64, out: Out<'_>) {
        if self.is_alone {
            // It goes on behind a response of code 1xx.
            return;
        }
        if self.pairing.is_uncertain() {
            self.release_unanswered(out);
        } else if !self.pairing.is_reported() && !self.requests.is_empty() {
            return self.pairing.answers_first(self.requests.len());
        }
        self.requests.push_front(Pending::new(Box::default(), ns));
        self.is_alone = true;
    }

    /// RFC 9112 section 6.3.
    fn begin_response_body(&mut self, ns: u64, out: Out<'_>) -> Progress {
        let side = &mut self.sides[1];
        let Some(pending) = self.requests.front_mut() else { return Progress::Done };
        let status = pending.http.status.unwrap_or_default();
        let (is_connect, is_head) = match pending.http.method.as_deref() {
            Some("CONNECT") => (true, false),
            Some("HEAD") => (false, true),
            _ => (false, false),
        };
        if status == 101 {
            // Of another request, behind this one.
            self.early = None;
        }
        if status == 101 || is_connect && (200..300).contains(&status) {
            self.end_response(ns, out);
            return Progress::Switch(0);
        }
        if status / 100 == 1 {
            // Another response follows.
            (side.at, side.is_interim) = (At::Start, true);
            self.is_answering = false;
            return Progress::More;
        }
        if is_connect && self.sides[0].at == At::Tunnel {
            self.sides[0].at = At::Start;
        }
        let side = &mut self.sides[1];
        let has_body = !is_head && status != 204 && status != 304;
        if has_body {
            side.begin_body(At::ToEnd);
        } else {
            // Content-Length states what another request would have got.
            pending.http.response_bytes = Some(0);
            side.at = At::Start;
        }
        if side.at == At::Start { self.end_response(ns, out) } else { Progress::More }
    }

    pub(super) fn end_response(&mut self, ns: u64, out: Out<'_>) -> Progress {
        self.settle_body(1, Some(true));
        if self.is_asking && self.requests.len() == 1 {
            // An answer before the request's end, whose body may still come.
            if self.sides[0].is_within_message()
                && let Some(pending) = self.requests.front_mut()
            {
                pending.end_ns = ns;
                (self.is_answering, self.is_held) = (false, true);
                return Progress::More;
            }
            self.is_asking = false;
        }
        if let Some(mut pending) = self.pop_answered() {
            pending.end_ns = ns;
            out(transaction(pending));
        }
        Progress::More
    }
}
