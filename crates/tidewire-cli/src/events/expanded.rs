//! `--expand`: the originals, in order, of all stores together.

use std::{cmp::Reverse, collections::BinaryHeap, collections::VecDeque};

use tidewire::legible::legible;
use tidewire_events::{DecodeError, Event, Record};
use tidewire_exports::json::push_escaped;

use super::{
    options::Options,
    selection::Selection,
    stores::{Opened, Store, Stores},
};
use crate::{clock::Clock, error::CliError, interrupt, output::Out, row::Form, terminal, units::counted};

/// Originals in memory at once, of all records that overlap.
const EVENTS_MAX: usize = 1 << 18;
/// Before the further lines of an event.
const INDENT: &[u8] = b"    ";
/// Of one record at a time.
const CHUNK: (usize, usize) = (512, 4096);

/// A record that is being unfolded: a chunk of its events, and how many were taken from it before.
struct Open {
    id: u64,
    record: Record,
    taken: usize,
    events: VecDeque<(u64, Event)>,
}

impl Open {
    /// Unfolds the next chunk; `false`: there is none. What follows damage is left out.
    fn fill(&mut self, most: usize, store: &Store) -> bool {
        if let Err(error) = self.unfold(most) {
            store.note_damage(self.id, &error);
        }
        self.taken += self.events.len();
        !self.events.is_empty()
    }

    fn unfold(&mut self, most: usize) -> Result<(), DecodeError> {
        let mut unfold = self.record.unfold()?;
        let mut place = 0;
        while self.events.len() < most {
            let Some((number, message)) = unfold.next()? else { break };
            if place >= self.taken {
                self.events.push_back((number, message.event()?));
            }
            place += 1;
        }
        Ok(())
    }
}

/// The originals of a store by their number.
struct Originals<'a> {
    store: &'a Store,
    /// Records that were not begun, by the number of their first event; the first at the end.
    records: Vec<(u64, u64)>,
    open: Vec<Option<Open>>,
    /// The number of the next event of each open record.
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    next: Option<Event>,
    sealed: u64,
}

impl<'a> Originals<'a> {
    fn new(store: &'a Store, selection: &Selection) -> Result<Self, CliError> {
        let (mut records, mut sealed) = (Vec::new(), 0);
        store.each(&selection.query(0), |row| {
            match store.open_row(&row) {
                Opened::Plain(record) if selection.matches(Some(&record)) => records.push((record.first(), row.id)),
                Opened::Plain(_) | Opened::Damaged => {}
                Opened::Sealed => sealed += row.events,
            }
            Ok(true)
        })?;
        records.sort_unstable_by(|one, other| other.cmp(one));
        Ok(Self { store, records, open: Vec::new(), heap: BinaryHeap::new(), next: None, sealed })
    }

    /// Makes the next event that is wanted ready.
    fn step(&mut self, selection: &Selection) -> Result<(), CliError> {
        loop {
            self.begin_records()?;
            let Some(Reverse((_, place))) = self.heap.pop() else {
                self.next = None;
                return Ok(());
            };
            let most = (EVENTS_MAX / (self.heap.len() + 1)).clamp(CHUNK.0, CHUNK.1);
            let Some(open) = self.open.get_mut(place).and_then(Option::as_mut) else { continue };
            let event = open.events.pop_front().map(|(_, event)| event);
            if !open.events.is_empty() || open.fill(most, self.store) {
                if let Some((number, _)) = open.events.front() {
                    self.heap.push(Reverse((*number, place)));
                }
            } else if let Some(done) = self.open.get_mut(place) {
                *done = None;
            }
            if let Some(event) = event.filter(|event| selection.has(event)) {
                self.next = Some(event);
                return Ok(());
            }
        }
    }

    /// Begins the records whose first event may be the next one.
    fn begin_records(&mut self) -> Result<(), CliError> {
        loop {
            let Some((first, id)) = self.records.last().copied() else { return Ok(()) };
            if self.heap.peek().is_some_and(|Reverse((next, _))| *next < first) {
                return Ok(());
            }
            self.records.pop();
            // One that was removed meanwhile is not there any more.
            let Some(row) = self.store.row(id)? else { continue };
            let Opened::Plain(record) = self.store.open_row(&row) else { continue };
            let most = (EVENTS_MAX / (self.heap.len() + 1)).clamp(CHUNK.0, CHUNK.1);
            let mut open = Open { id, record, taken: 0, events: VecDeque::new() };
            if open.fill(most, self.store) {
                let place = self.open.iter().position(Option::is_none).unwrap_or(self.open.len());
                if let Some((number, _)) = open.events.front() {
                    self.heap.push(Reverse((*number, place)));
                }
                if place == self.open.len() {
                    self.open.push(None);
                }
                if let Some(free) = self.open.get_mut(place) {
                    *free = Some(open);
                }
            }
        }
    }
}

/// Prints the originals.
pub fn run(options: &Options, selection: &Selection, stores: &Stores, form: Form) -> Result<u8, CliError> {
    let clock = Clock::new(options.time.time);
    let mut all = Vec::new();
    for store in &stores.all {
        let mut originals = Originals::new(store, selection)?;
        originals.step(selection)?;
        all.push(originals);
    }
    let (mut out, mut printed) = (Out::stdout(), 0_u64);
    while options.limit.is_none_or(|limit| printed < limit) && !interrupt::is_interrupted() {
        let times = all.iter().enumerate().filter_map(|(place, one)| Some((one.next.as_ref()?.time_ns, place)));
        let Some((_, place)) = times.min() else { break };
        let Some(of) = all.get_mut(place) else { break };
        if let Some(event) = of.next.take() {
            print(&event, &of.store.sensor, form, &clock, out.buffer());
            printed += 1;
        }
        let stepped = of.step(selection);
        // The event before the interruption is printed.
        if interrupt::is_interrupted() {
            break;
        }
        stepped?;
        out.settle()?;
    }
    if form == Form::Table {
        let sealed: u64 = all.iter().map(|one| one.sealed).sum();
        out.line(&if printed == 0 {
            format!("no events{}", stores.words())
        } else {
            counted(printed, "event", "events")
        })?;
        if sealed > 0 {
            let what = counted(sealed, "event is", "events are");
            out.line(&format!("{what} encrypted: --identity FILE shows them, with the identity of a recipient"))?;
        }
    }
    out.flush()?;
    interrupt::check()?;
    Ok(stores.code())
}

/// An original on a line: as JSON, or for a person.
fn print(event: &Event, sensor: &str, form: Form, clock: &Clock, out: &mut Vec<u8>) {
    if form == Form::Json {
        let json = event.to_json();
        match (sensor, json.strip_prefix('{')) {
            ("", _) | (_, None) => push_escaped(out, &json),
            (sensor, Some(rest)) => {
                out.extend_from_slice(b"{\"sensor\":");
                crate::output::push_string(out, sensor);
                out.push(b',');
                push_escaped(out, rest);
            }
        }
        return out.push(b'\n');
    }
    let mut words = vec![clock.cell(event.time_ns)];
    words.extend((!sensor.is_empty()).then(|| sensor.to_owned()));
    words.extend([event.severity.name().to_owned(), event.kind.clone()]);
    if let Some(key) = &event.key {
        let end = |addr: std::net::IpAddr, port| {
            crate::record::endpoint(tidewire::Endpoint { address: addr, port }, key.protocol)
        };
        words.push(crate::record::proto_name(key.protocol).into_owned());
        let (client, server) = (end(key.client_addr, key.client_port), end(key.server_addr, key.server_port));
        words.push(format!("{client} > {server}"));
    }
    words.extend(event.stream.map(|stream| format!("stream {stream}")));
    words.extend(event.place.map(|place| format!("{} at {}", place.direction.name(), place.offset)));
    words.extend(event.fields.iter().map(|field| super::folded::named(field, clock)));
    words.extend(event.excerpt.as_ref().map(|excerpt| super::folded::quoted(excerpt)));
    let line = legible(&words.join(" ")).into_owned();
    let room = terminal::width().map(|width| width.saturating_sub(INDENT.len()));
    let lines = terminal::wrapped(&line, room);
    for (place, line) in lines.iter().enumerate() {
        out.extend_from_slice(if place == 0 { b"" } else { INDENT });
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
}
