//! A stream that is being read: recognised, passed to its protocol, and what came out.

use crate::{
    dhcp,
    input::{Input, Ports, Progress},
    joined::Found,
    leads,
    recognise::{self, Answer, Unanswered, Verdict},
    report::{App, Report},
    stage::Stage,
    transaction::Transaction,
    value::Service,
};

/// Datagrams of a flow that are looked at before it is given up.
const DATAGRAMS_MAX: u8 = 16;

/// Protocols of one stream that follow each other: a proxy, STARTTLS, and what is inside.
const LAYERS_MAX: u8 = 8;

#[derive(Debug, Default)]
pub(crate) struct ParserState {
    app: Option<Box<App>>,
    stage: Stage,
    /// Whether the protocol's client is the stream's server.
    swapped: bool,
    /// Whether the stream may have begun before what was seen of it, while its protocol is not known.
    is_joined: bool,
    layers: u8,
}

impl ParserState {
    /// The stream was joined after its beginning.
    pub(crate) fn joined(&mut self) {
        self.is_joined = true;
    }

    pub(crate) fn data(&mut self, input: Input<'_>, ports: Ports, report: &mut Report<'_>) {
        match &mut self.stage {
            Stage::Unknown(..) if input.is_datagram => {
                self.datagram(recognise::datagram(input.bytes, ports), input, ports, report);
            }
            Stage::Unknown(kept, _) => {
                let verdict = if kept[input.side].is_empty() {
                    let mut both = [kept[0].as_slice(), kept[1].as_slice()];
                    both[input.side] = input.bytes;
                    recognise::stream(both, ports)
                } else {
                    kept[input.side].extend_from_slice(input.bytes);
                    recognise::stream([&kept[0], &kept[1]], ports)
                };
                self.stream(verdict, input, ports, report);
            }
            Stage::Unanswered(unanswered) => match unanswered.data(input.side, input.bytes) {
                Answer::Http(taken) => self.answered(taken, input, ports, report),
                Answer::Open => {}
                Answer::Unknown => self.stage = Stage::Done,
            },
            Stage::Joined(joined) => {
                if let Some(found) = joined.data(input.side, input.bytes, ports) {
                    self.found(found, input, ports, report);
                }
            }
            Stage::Done => {}
            _ => self.pass(Input { side: input.side ^ usize::from(self.swapped), ..input }, ports, report),
        }
    }

    /// Skips bytes without an effect on the state. `false`: nothing was done.
    #[inline]
    pub(crate) fn take_body(&mut self, side: usize, bytes: usize, ns: u64) -> bool {
        match &mut self.stage {
            Stage::Http(exchange) => exchange.take_body(side ^ usize::from(self.swapped), bytes, ns),
            Stage::Joined(joined) => joined.passes_over(side),
            _ => false,
        }
    }

    /// Bytes of a side that the body still holds, or that have no effect.
    #[inline]
    pub(crate) fn body_room(&self, side: usize) -> u64 {
        match &self.stage {
            Stage::Http(exchange) => exchange.body_room(side ^ usize::from(self.swapped)),
            Stage::Joined(joined) if joined.passes_over(side) => u64::MAX,
            _ => 0,
        }
    }

    /// A datagram before one was known.
    pub(crate) fn datagram(
        &mut self,
        service: Option<Service>,
        input: Input<'_>,
        ports: Ports,
        report: &mut Report<'_>,
    ) {
        let Stage::Unknown(_, strange) = &mut self.stage else { return };
        match service {
            Some(service) => {
                // Who sends the first one is the client, where it matters.
                self.begin(service, input.side == 1);
                self.pass(Input { side: 0, ..input }, ports, report);
            }
            None => {
                *strange += 1;
                if *strange >= DATAGRAMS_MAX {
                    self.stage = Stage::Done;
                }
            }
        }
    }

    /// Applies the verdict on the first bytes, of which `input` are the last ones: they are passed to a known protocol.
    pub(crate) fn stream(&mut self, verdict: Verdict, input: Input<'_>, ports: Ports, report: &mut Report<'_>) {
        let Stage::Unknown(kept, _) = &mut self.stage else { return };
        let kept = match verdict {
            Verdict::Open => {
                if kept[input.side].is_empty() {
                    // The verdict is open only where both are short.
                    kept[input.side].extend_from_slice(input.bytes);
                }
                return;
            }
            Verdict::Unknown | Verdict::Unanswered(_) | Verdict::Answered if self.is_joined => {
                let kept = std::mem::take(kept);
                self.stage = Stage::Joined(Box::default());
                let own = if kept[input.side].is_empty() { input.bytes } else { &kept[input.side] };
                for (side, bytes) in [(1 - input.side, &kept[1 - input.side][..]), (input.side, own)] {
                    if !bytes.is_empty() {
                        self.data(Input { side, bytes, ..input }, ports, report);
                    }
                }
                return;
            }
            Verdict::Unknown | Verdict::Unanswered(_) => {
                self.stage = match verdict {
                    Verdict::Unanswered(unanswered) => Stage::Unanswered(unanswered),
                    _ => Stage::Done,
                };
                return;
            }
            Verdict::Is { .. } | Verdict::Leads { .. } | Verdict::Answered => std::mem::take(kept),
        };
        match verdict {
            Verdict::Leads { lead, swapped } => {
                self.swapped = swapped;
                self.stage = Stage::Leads(leads::Exchange::new(lead));
            }
            Verdict::Is { service, swapped } => self.begin(service, swapped),
            Verdict::Answered => self.begin(Service::Http, false),
            Verdict::Open | Verdict::Unanswered(_) | Verdict::Unknown => {}
        }
        // The client's bytes are not HTTP.
        let is_answered = verdict == Verdict::Answered;
        let pieces: [&[u8]; 2] = std::array::from_fn(|side| match kept[side].is_empty() && side == input.side {
            true => input.bytes,
            false => kept[side].as_slice(),
        });
        let is_joined = std::mem::take(&mut self.is_joined);
        for side in [0, 1] {
            // Its first bytes may be the rest of a message.
            if is_joined && matches!(self.stage, Stage::Http(_)) && pieces[side].is_empty() {
                self.gap(side, 1, 0, report);
            }
        }
        // The other side's came before what decided.
        for side in [1 - input.side, input.side] {
            if !pieces[side].is_empty() && (side == 1 || !is_answered) {
                self.data(Input { side, bytes: pieces[side], ..input }, ports, report);
            }
        }
    }

    /// A message begins in a stream that was joined within one. The other side's next bytes may be the rest of a message.
    fn found(&mut self, found: Found, input: Input<'_>, ports: Ports, report: &mut Report<'_>) {
        self.is_joined = false;
        self.begin(found.service, found.swapped);
        if matches!(self.stage, Stage::Http(_)) {
            self.gap(1 - input.side, 1, 0, report);
        }
        for bytes in [&found.bytes, input.bytes.get(found.taken..).unwrap_or_default()] {
            if !bytes.is_empty() {
                self.data(Input { bytes, ..input }, ports, report);
            }
        }
    }

    /// The server's status line answers what was not recognised; its first bytes end behind `taken` bytes of `input`.
    pub(crate) fn answered(&mut self, taken: usize, input: Input<'_>, ports: Ports, report: &mut Report<'_>) {
        self.begin(Service::Http, false);
        self.pass(Input { bytes: Unanswered::STATUS_LINE, ..input }, ports, report);
        let rest = input.bytes.get(taken..).unwrap_or_default();
        if !rest.is_empty() {
            self.data(Input { bytes: rest, ..input }, ports, report);
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done)
    }

    pub(crate) fn take_app(&mut self) -> Option<Box<App>> {
        self.app.take()
    }

    fn begin(&mut self, service: Service, swapped: bool) {
        self.swapped = swapped;
        self.stage = Stage::of(service);
        self.app.get_or_insert_with(|| Box::new(App { service, transactions: 0, first: None }));
    }

    fn pass(&mut self, input: Input<'_>, ports: Ports, report: &mut Report<'_>) {
        let app = &mut self.app;
        // Of later ones only the number is kept.
        let is_unnamed = matches!(report, Report::First) && app.as_ref().is_some_and(|app| app.first.is_some());
        let out = &mut |transaction| Self::report(app, report, transaction);
        let progress = match &mut self.stage {
            Stage::Dns(exchange) => exchange.data(input, out),
            Stage::Http(exchange) => exchange.data(input, is_unnamed, out),
            #[cfg(feature = "quic")]
            Stage::Quic(exchange) => exchange.data(input, out),
            Stage::Dhcp => {
                dhcp::transaction(input.bytes, input.ns).filter(|_| dhcp::is_message(input.bytes)).map(out);
                Progress::More
            }
            Stage::Leads(exchange) => exchange.data(input),
            Stage::Lines(exchange) => exchange.data(input, out),
            Stage::Ntp(exchange) => {
                exchange.data(input, out);
                Progress::More
            }
            Stage::Socks(exchange) => exchange.data(input, out),
            Stage::Ssh(exchange) => exchange.data(input, out),
            Stage::Tls(handshake) => handshake.data(input, out),
            Stage::Unknown(..) | Stage::Unanswered(_) | Stage::Joined(_) | Stage::Done => Progress::Done,
        };
        match progress {
            Progress::More => {}
            Progress::Done => self.stage = Stage::Done,
            Progress::Mistaken => {
                if self.app.as_ref().is_some_and(|app| app.transactions == 0) {
                    self.app = None;
                }
                self.stage = Stage::Done;
            }
            Progress::Switch(consumed) => self.switch(consumed, input, ports, report),
        }
    }

    /// Another protocol begins behind so many bytes of `input`, and what its client sent before.
    fn switch(&mut self, consumed: usize, input: Input<'_>, ports: Ports, report: &mut Report<'_>) {
        let early = self.stage.take_early();
        self.finish(report);
        self.layers += 1;
        if self.layers >= LAYERS_MAX {
            return;
        }
        self.stage = Stage::default();
        let swapped = usize::from(std::mem::take(&mut self.swapped));
        if let Some(early) = early {
            if !early.bytes.is_empty() {
                self.data(Input { side: swapped, bytes: &early.bytes, ns: early.ns, ..input }, ports, report);
            }
            if early.missing > 0 {
                self.gap(swapped, early.missing, 0, report);
            }
        }
        let rest = input.bytes.get(consumed..).unwrap_or_default();
        if !rest.is_empty() {
            self.data(Input { side: input.side ^ swapped, bytes: rest, ..input }, ports, report);
        }
    }

    /// A side of the stream ended by itself.
    pub(crate) fn ended(&mut self, side: usize) {
        if let Stage::Http(exchange) = &mut self.stage {
            exchange.ended(side ^ usize::from(self.swapped));
        }
    }

    /// Bytes that will not come, `seen` of which passed without being read.
    pub(crate) fn gap(&mut self, side: usize, bytes: u64, seen: u64, report: &mut Report<'_>) {
        let app = &mut self.app;
        let out = &mut |transaction| Self::report(app, report, transaction);
        let side = side ^ usize::from(self.swapped);
        let progress = match &mut self.stage {
            // Of this side nothing was seen yet: it is as if it had been joined midway.
            Stage::Unknown(kept, _) if kept[side].is_empty() => {
                self.is_joined = true;
                Progress::More
            }
            Stage::Joined(joined) => {
                joined.gap(side);
                Progress::More
            }
            // A protocol whose beginning is missing cannot be recognised.
            Stage::Unknown(..) | Stage::Done => Progress::Done,
            Stage::Unanswered(unanswered) if unanswered.survives_gap(side) => Progress::More,
            Stage::Unanswered(_) => Progress::Done,
            Stage::Dns(exchange) => exchange.gap(side),
            Stage::Http(exchange) => exchange.gap(side, bytes, seen, out),
            // Datagrams stand alone.
            #[cfg(feature = "quic")]
            Stage::Quic(_) => Progress::More,
            Stage::Dhcp | Stage::Ntp(_) => Progress::More,
            Stage::Leads(_) => Progress::Done,
            Stage::Lines(exchange) => exchange.gap(side, bytes),
            Stage::Socks(exchange) => exchange.gap(side, bytes, out),
            Stage::Ssh(exchange) => exchange.gap(side, out),
            Stage::Tls(handshake) => handshake.gap(side, out),
        };
        if progress != Progress::More {
            self.finish(report);
        }
    }

    /// Reports what is pending; nothing more is looked at.
    pub(crate) fn finish(&mut self, report: &mut Report<'_>) {
        let app = &mut self.app;
        let out = &mut |transaction| Self::report(app, report, transaction);
        match &mut self.stage {
            Stage::Unknown(..) | Stage::Unanswered(_) | Stage::Joined(_) | Stage::Done => {}
            Stage::Dhcp | Stage::Leads(_) => {}
            Stage::Dns(exchange) => exchange.finish(out),
            Stage::Http(exchange) => exchange.finish(out),
            #[cfg(feature = "quic")]
            Stage::Quic(exchange) => exchange.finish(out),
            Stage::Lines(exchange) => exchange.finish(out),
            Stage::Ntp(exchange) => exchange.finish(out),
            Stage::Socks(exchange) => exchange.finish(out),
            Stage::Ssh(exchange) => exchange.finish(out),
            Stage::Tls(handshake) => handshake.finish(out),
        }
        let is_doubtful = matches!(&self.stage, Stage::Http(exchange) if exchange.is_doubtful());
        if is_doubtful && self.app.as_ref().is_some_and(|app| app.transactions == 0) {
            self.app = None;
        }
        self.stage = Stage::Done;
    }

    fn report(app: &mut Option<Box<App>>, report: &mut Report<'_>, transaction: Transaction) {
        let Some(app) = app else { return };
        app.transactions = app.transactions.saturating_add(1);
        match report {
            Report::Each(pass) => pass(transaction),
            Report::First => {
                app.first.get_or_insert(transaction);
            }
            Report::Shown(show) => {
                show(&transaction);
                app.first.get_or_insert(transaction);
            }
        }
    }

    pub(crate) fn memory_bytes(&self) -> u32 {
        let stage = self.stage.memory_bytes();
        let app = self.app.as_deref().map_or(0, App::memory_bytes);
        u32::try_from(size_of::<Self>() + stage).unwrap_or(u32::MAX).saturating_add(app)
    }
}
