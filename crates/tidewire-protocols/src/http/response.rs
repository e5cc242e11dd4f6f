//! Responses: which request each answers, and how its body ends.

use super::{
    exchange::{Exchange, Out, transaction},
    fields::Http,
    head::{self, Framing},
    requests::Pending,
    side::At,
};
use crate::input::Progress;

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
            head::field(line, false, &mut pending.http, &mut side.framing);
            return Progress::More;
        }
        self.begin_response_body(ns, out)
    }

    fn status_line(&mut self, line: &[u8], ns: u64, out: Out<'_>) -> Progress {
        if line.is_empty() {
            return Progress::More;
        }
        let mut seen = Http::default();
        if !head::status_line(line, &mut seen) {
            return if self.was_valid { Progress::Done } else { Progress::Mistaken };
        }
        (self.was_valid, self.is_doubtful) = (true, false);
        self.choose(ns, out);
        let Some(pending) = self.requests.front_mut() else { return Progress::Done };
        pending.end_ns = ns;
        // Fields of a response that this one follows, 103 for one.
        (pending.http.content_type, pending.http.server, pending.http.location) = (None, None, None);
        pending.http.status = seen.status;
        pending.http.reason = seen.reason;
        match &pending.http.version {
            None => pending.http.version = seen.version,
            asked => pending.http.response_version = seen.version.filter(|version| asked.as_ref() != Some(version)),
        }
        let framing = Framing::begun(self.is_unnamed);
        let side = &mut self.sides[1];
        (side.at, side.framing, side.body_bytes) = (At::Head(0), framing, 0);
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
        self.requests.push_front(Pending { http: Box::default(), start_ns: ns, end_ns: ns });
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
            side.at = At::Start;
            self.is_answering = false;
            return Progress::More;
        }
        if is_connect && self.sides[0].at == At::Tunnel {
            self.sides[0].at = At::Start;
        }
        let side = &mut self.sides[1];
        let has_body = !is_head && status != 204 && status != 304;
        pending.http.response_bytes = match has_body {
            true => side.framing.content_length.filter(|_| !side.framing.is_chunked),
            // Content-Length states what another request would have got.
            false => Some(0),
        };
        side.at = match side.framing {
            _ if !has_body => At::Start,
            Framing { is_chunked: true, .. } => At::ChunkSize,
            Framing { content_length: Some(0), .. } => At::Start,
            Framing { content_length: Some(left), .. } => At::Body(left),
            _ => At::ToEnd,
        };
        if side.at == At::Start { self.end_response(ns, out) } else { Progress::More }
    }

    pub(super) fn end_response(&mut self, ns: u64, out: Out<'_>) -> Progress {
        let counted = std::mem::take(&mut self.sides[1].body_bytes);
        let is_chunked = self.sides[1].framing.is_chunked;
        if self.is_asking && self.requests.len() == 1 {
            // An answer before the request's end.
            self.is_asking = false;
        }
        if let Some(mut pending) = self.pop_answered() {
            pending.end_ns = ns;
            if counted > 0 || is_chunked {
                pending.http.response_bytes = Some(counted);
            }
            out(transaction(pending));
        }
        Progress::More
    }
}
