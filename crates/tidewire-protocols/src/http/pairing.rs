//! Which request a response answers: the first one that waits, as long as that is certain.

/// State of requests that are unanswered, beside those that wait.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pairing {
    /// Requests that were reported already, whose responses come before those of the ones that wait.
    reported: u32,
    /// Bytes are missing that may have been requests or responses.
    doubt: Option<Doubt>,
    /// Responses of no request since the last request.
    alone: u32,
    /// Whether a response came while further requests waited already: the client does not wait for each.
    is_pipelined: bool,
}

#[derive(Clone, Copy, Debug)]
struct Doubt {
    /// So many of those that wait, the first ones, were sent before what is missing: these are answered in order.
    certain: u32,
    /// Most requests behind them that were seen and have no response.
    open: u32,
    /// Whether requests may be missing: how many is unknown.
    is_request_missing: bool,
}

impl Pairing {
    /// A request begins. `is_idle`: no other one waits, and no response has begun.
    pub(super) fn request(&mut self, is_idle: bool) {
        if self.doubt.is_some_and(|doubt| is_idle && self.settles(doubt)) {
            self.doubt = None;
        }
        match &mut self.doubt {
            Some(doubt) => doubt.open = doubt.open.saturating_add(1),
            None => self.alone = 0,
        }
    }

    /// Whether a request that is sent now follows the responses of all earlier ones: each of them has one, or the client waits for
    /// each, and one came.
    fn settles(&self, doubt: Doubt) -> bool {
        let is_answered = doubt.open == 0 && !doubt.is_request_missing;
        self.reported == 0 && (is_answered || self.alone > 0 && !self.is_pipelined)
    }

    /// A response begins that answers the first of so many requests.
    pub(super) fn answers_first(&mut self, waiting: usize) {
        self.is_pipelined |= waiting > 1;
    }

    /// Whether the next response answers a request that does not wait any more.
    pub(super) fn is_reported(&self) -> bool {
        self.reported > 0
    }

    /// Whether it is unknown which request the next response answers.
    pub(super) fn is_uncertain(&self) -> bool {
        self.reported == 0 && self.doubt.is_some_and(|doubt| doubt.certain == 0)
    }

    /// A response ended. `is_alone`: it answered none of those that wait.
    pub(super) fn answered(&mut self, is_alone: bool) {
        if is_alone {
            self.alone = self.alone.saturating_add(1);
        }
        match &mut self.doubt {
            _ if is_alone && self.reported > 0 => self.reported -= 1,
            Some(doubt) if is_alone => doubt.open = doubt.open.saturating_sub(1),
            Some(doubt) => doubt.certain = doubt.certain.saturating_sub(1),
            None => {}
        }
    }

    /// Bytes of the client are missing that may have been requests.
    pub(super) fn requests_missing(&mut self, waiting: usize) {
        match &mut self.doubt {
            Some(doubt) => {
                doubt.is_request_missing = true;
                self.alone = 0;
            }
            None => self.doubt = Some(Doubt { certain: count(waiting), open: 0, is_request_missing: true }),
        }
    }

    /// Bytes of the server are missing that may have been responses. Whether it is not certain any more what the next one answers.
    pub(super) fn responses_missing(&mut self, waiting: usize) -> bool {
        let earlier = self.doubt.unwrap_or(Doubt { certain: count(waiting), open: 0, is_request_missing: false });
        if self.doubt.is_none() && self.reported == 0 && waiting <= 1 {
            return false;
        }
        let open = earlier.open.saturating_add(std::mem::take(&mut self.reported)).saturating_add(earlier.certain);
        self.doubt = Some(Doubt { certain: 0, open, ..earlier });
        true
    }

    /// So many of those that wait were reported, and their responses come alone.
    pub(super) fn reported(&mut self, requests: usize) {
        match &mut self.doubt {
            Some(doubt) => {
                doubt.open = doubt.open.saturating_add(doubt.certain);
                doubt.certain = 0;
            }
            None => self.reported = self.reported.saturating_add(count(requests)),
        }
    }
}

fn count(requests: usize) -> u32 {
    u32::try_from(requests).unwrap_or(u32::MAX)
}
