//! One stream: recognised, passed to its protocol, and what came out.

use tidewire_core::Direction;

use crate::{
    budget::Budget,
    dhcp,
    input::{Input, Ports, Progress},
    leads,
    recognise::{self, Verdict},
    stage::Stage,
    transaction::Transaction,
    value::Service,
};

/// Datagrams of a flow that are looked at before it is given up.
const DATAGRAMS_MAX: u8 = 16;

/// Protocols of one stream that follow each other: a proxy, STARTTLS, and what is inside.
const LAYERS_MAX: u8 = 4;

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

/// What a stream turned out to be.
#[derive(Clone, Debug)]
pub struct App {
    /// The protocol that it began with.
    pub service: Service,
    /// How many transactions were reported.
    pub transactions: u32,
    /// The first of them, if the conversation keeps it ([`Report::First`]).
    pub first: Option<Transaction>,
}

/// What becomes of transactions.
pub enum Report<'a> {
    /// Each is passed on when it is complete.
    Each(&'a mut dyn FnMut(Transaction)),
    /// The first stays in [`Conversation::app`], others are counted.
    First,
}

/// The state of one stream. The default is one of which nothing was seen.
#[derive(Debug, Default)]
pub struct Conversation(State);

#[derive(Debug, Default)]
enum State {
    #[default]
    New,
    Going(Box<Going>),
    /// Nothing more is looked at; what was found stays.
    Over(Option<Box<App>>, u32),
}

#[derive(Debug)]
struct Going {
    app: Option<App>,
    stage: Stage,
    /// Whether the protocol's client is the stream's server.
    swapped: bool,
    layers: u8,
    charged: u32,
}

impl Conversation {
    /// Takes bytes. What they complete goes to `report`.
    #[inline]
    pub fn data(&mut self, piece: &Piece<'_>, ports: Ports, budget: &mut Budget, report: &mut Report<'_>) {
        if !matches!(self.0, State::Over(..)) && !piece.bytes.is_empty() {
            self.take(piece, ports, budget, report);
        }
    }

    fn take(&mut self, piece: &Piece<'_>, ports: Ports, budget: &mut Budget, report: &mut Report<'_>) {
        if let State::New = self.0 {
            if is_strange(piece, ports) {
                self.0 = State::Over(None, 0);
                return;
            }
            self.0 = State::Going(Box::new(Going {
                app: None,
                stage: Stage::Unknown(Default::default(), 0),
                swapped: false,
                layers: 0,
                charged: 0,
            }));
        }
        let State::Going(going) = &mut self.0 else { return };
        let side = piece.direction as usize;
        let input = Input { side, bytes: piece.bytes, is_datagram: piece.is_datagram, ns: piece.timestamp_ns };
        going.data(input, ports, report);
        self.settle(budget);
    }

    /// So many bytes of a direction will not come.
    pub fn gap(&mut self, direction: Direction, bytes: u64, budget: &mut Budget, report: &mut Report<'_>) {
        if let State::Going(going) = &mut self.0 {
            going.gap(direction as usize, bytes, report);
            self.settle(budget);
        }
    }

    /// The stream ended: reports what is not complete, and returns what the stream was.
    pub fn close(&mut self, budget: &mut Budget, report: &mut Report<'_>) -> Option<App> {
        match std::mem::take(&mut self.0) {
            State::New => None,
            State::Over(app, charged) => {
                budget.change(charged, 0);
                app.map(|app| *app)
            }
            State::Going(mut going) => {
                going.finish(report);
                budget.change(going.charged, 0);
                going.app
            }
        }
    }

    /// What the stream is, as far as it is known.
    #[must_use]
    pub fn app(&self) -> Option<&App> {
        match &self.0 {
            State::New => None,
            State::Going(going) => going.app.as_ref(),
            State::Over(app, _) => app.as_deref(),
        }
    }

    /// Whether no more bytes are needed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.0, State::Over(..))
    }

    /// Charges what is held now, and lets go of what is not needed.
    fn settle(&mut self, budget: &mut Budget) {
        let State::Going(going) = &mut self.0 else { return };
        let charged = going.charged;
        if let Stage::Done = going.stage {
            let app = going.app.take().map(Box::new);
            let held = app.as_deref().map_or(0, App::memory_bytes);
            let kept = budget.change(charged, held);
            self.0 = State::Over(app, if kept { held } else { charged });
            return;
        }
        let held = going.memory_bytes();
        if budget.change(charged, held) {
            going.charged = held;
        } else {
            budget.refuse();
            budget.change(charged, 0);
            self.0 = State::Over(None, 0);
        }
    }
}

/// Whether the first bytes of a stream are none of a known protocol, and what follows is not worth a look.
fn is_strange(piece: &Piece<'_>, ports: Ports) -> bool {
    if piece.is_datagram {
        return !recognise::may_follow(piece.bytes, ports) && recognise::datagram(piece.bytes, ports).is_none();
    }
    recognise::stream([piece.bytes, &[]], ports) == Verdict::Unknown
}

impl App {
    fn memory_bytes(&self) -> u32 {
        let first = self.first.as_ref().map_or(0, Transaction::memory_bytes);
        u32::try_from(size_of::<Self>() + first).unwrap_or(u32::MAX)
    }
}

impl Going {
    fn data(&mut self, input: Input<'_>, ports: Ports, report: &mut Report<'_>) {
        match &mut self.stage {
            Stage::Unknown(..) => self.unknown(input, ports, report),
            Stage::Done => {}
            _ => self.pass(Input { side: input.side ^ usize::from(self.swapped), ..input }, ports, report),
        }
    }

    /// Looks at the first bytes; those of a known protocol are passed to it.
    fn unknown(&mut self, input: Input<'_>, ports: Ports, report: &mut Report<'_>) {
        let Stage::Unknown(kept, strange) = &mut self.stage else { return };
        if input.is_datagram {
            match recognise::datagram(input.bytes, ports) {
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
            return;
        }
        let mut both = [kept[0].as_slice(), kept[1].as_slice()];
        if both[input.side].is_empty() {
            both[input.side] = input.bytes;
        } else {
            kept[input.side].extend_from_slice(input.bytes);
            both = [kept[0].as_slice(), kept[1].as_slice()];
        }
        let verdict = recognise::stream(both, ports);
        match verdict {
            Verdict::Is { swapped, .. } | Verdict::Leads { swapped, .. } => {
                let kept = std::mem::take(kept);
                match verdict {
                    Verdict::Leads { lead, .. } => {
                        self.swapped = swapped;
                        self.stage = Stage::Leads(leads::Exchange::new(lead));
                    }
                    Verdict::Is { service, .. } => self.begin(service, swapped),
                    _ => {}
                }
                let pieces: [&[u8]; 2] =
                    std::array::from_fn(|side| match kept[side].is_empty() && side == input.side {
                        true => input.bytes,
                        false => kept[side].as_slice(),
                    });
                // The other side's came before what decided.
                for side in [1 - input.side, input.side] {
                    if !pieces[side].is_empty() {
                        self.data(Input { side, bytes: pieces[side], ..input }, ports, report);
                    }
                }
            }
            Verdict::Open => {
                if kept[input.side].is_empty() {
                    // The verdict is open only where both are short.
                    kept[input.side].extend_from_slice(input.bytes);
                }
            }
            Verdict::Unknown => self.stage = Stage::Done,
        }
    }

    fn begin(&mut self, service: Service, swapped: bool) {
        self.swapped = swapped;
        self.stage = Stage::of(service);
        self.app.get_or_insert(App { service, transactions: 0, first: None });
    }

    fn pass(&mut self, input: Input<'_>, ports: Ports, report: &mut Report<'_>) {
        let app = &mut self.app;
        let out = &mut |transaction| Self::report(app, report, transaction);
        let progress = match &mut self.stage {
            Stage::Dns(exchange) => exchange.data(input, out),
            Stage::Http(exchange) => exchange.data(input, out),
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
            Stage::Unknown(..) | Stage::Done => Progress::Done,
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
            Progress::Switch(consumed) => {
                self.finish(report);
                self.layers += 1;
                if self.layers >= LAYERS_MAX {
                    return;
                }
                self.stage = Stage::Unknown(Default::default(), 0);
                let rest = input.bytes.get(consumed..).unwrap_or_default();
                if !rest.is_empty() {
                    let side = input.side ^ usize::from(std::mem::take(&mut self.swapped));
                    self.data(Input { side, bytes: rest, ..input }, ports, report);
                }
            }
        }
    }

    fn gap(&mut self, side: usize, bytes: u64, report: &mut Report<'_>) {
        let app = &mut self.app;
        let out = &mut |transaction| Self::report(app, report, transaction);
        let side = side ^ usize::from(self.swapped);
        let progress = match &mut self.stage {
            // Whose beginning is missing cannot be told.
            Stage::Unknown(..) | Stage::Done => Progress::Done,
            Stage::Dns(exchange) => exchange.gap(side),
            Stage::Http(exchange) => exchange.gap(side, bytes, out),
            // Datagrams stand alone.
            #[cfg(feature = "quic")]
            Stage::Quic(_) => Progress::More,
            Stage::Dhcp | Stage::Ntp(_) => Progress::More,
            Stage::Leads(_) => Progress::Done,
            Stage::Lines(exchange) => exchange.gap(side),
            Stage::Socks(exchange) => exchange.gap(out),
            Stage::Ssh(exchange) => exchange.gap(side, out),
            Stage::Tls(handshake) => handshake.gap(side, out),
        };
        if progress != Progress::More {
            self.finish(report);
        }
    }

    /// Reports what is pending; nothing more is looked at.
    fn finish(&mut self, report: &mut Report<'_>) {
        let app = &mut self.app;
        let out = &mut |transaction| Self::report(app, report, transaction);
        match &mut self.stage {
            Stage::Unknown(..) | Stage::Done | Stage::Dhcp | Stage::Leads(_) => {}
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

    fn report(app: &mut Option<App>, report: &mut Report<'_>, transaction: Transaction) {
        let Some(app) = app else { return };
        app.transactions = app.transactions.saturating_add(1);
        match report {
            Report::Each(pass) => pass(transaction),
            Report::First => {
                app.first.get_or_insert(transaction);
            }
        }
    }

    fn memory_bytes(&self) -> u32 {
        let stage = self.stage.memory_bytes();
        let app = self.app.as_ref().map_or(0, App::memory_bytes);
        u32::try_from(size_of::<Self>() + stage).unwrap_or(u32::MAX).saturating_add(app)
    }
}
