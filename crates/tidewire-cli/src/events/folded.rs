//! Folds as rows: who did what to whom, how often, and what varied.

use std::{collections::BTreeMap, net::IpAddr};
use tidewire_types::Timestamp;

use serde_json::Value as Json;
use tidewire::legible::legible;
use tidewire_event_store::Row as StoredRow;
use tidewire_events::{Event, Field, FlowKey, Record, Severity, Value, Varied};
use tidewire_exports::{EventRecord, records};
use tidewire_outputs::{self as outputs, Exports};

use super::{
    options::Options,
    scans,
    selection::Selection,
    stores::{Opened, Store, Stores},
};
use crate::{
    clock::Clock,
    error::CliError,
    export::Shown,
    layout::Layout,
    output::hex,
    record::proto_name,
    row::{Aside, Cells, Column, Form, Row, described},
    units::{Count, Lasting},
};

/// Values of a member that a note lists.
const TOP: usize = 3;
/// Values of a member that JSON lists.
const JSON_TOP: usize = 10;
/// Characters of a text in a note, at most; and at least, where its name is long.
const TEXT_CHARS: usize = 64;
const TEXT_CHARS_MIN: usize = 8;
/// Characters of a name and its text, without quotes.
const NAMED_CHARS: usize = 72;
/// Bytes of an excerpt in a note.
const EXCERPT_BYTES: usize = 48;

/// How folds are printed.
pub fn layout(options: &Options, stores: &Stores, form: Form) -> Result<Layout, CliError> {
    let mut layout = Layout::of::<Folded>(&options.columns, &options.time, form)?;
    if stores.are_several() && form == Form::Table {
        layout.keep::<Folded>("sensor");
    }
    Ok(layout)
}

/// A fold, by what is known without unfolding it.
pub struct Fold {
    /// Which of the stores.
    store: usize,
    fold: u64,
    /// Its records.
    records: Vec<u64>,
    pub events: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    pub is_sealed: bool,
}

/// The identity of a row. Numbers of folds begin again with another store of a sensor, so that they do not suffice.
type Identity = (Subject, String, String, Severity, bool);

/// The common subject of a row's events.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    /// Their fold.
    Fold(u64),
    /// Their scan, which may take longer than a fold does: its source, its protocol, its target where that is one host, and its beginning.
    Scan(IpAddr, u8, Option<IpAddr>, u16, u64),
}

/// The scan that a record is about.
fn scan_of(record: &Record) -> Option<Subject> {
    let event = record.message().ok()?.event().ok()?;
    let (key, first_ns) = (event.key?, scans::first_ns(&event)?);
    let target = (event.kind == "scan.vertical" || event.kind == "scan.syn-flood").then_some(key.server_addr);
    let source = if event.kind == "scan.syn-flood" { key.server_addr } else { key.client_addr };
    Some(Subject::Scan(source, key.protocol, target, key.server_port, first_ns))
}

/// The folds that are wanted, by the time of their first event.
pub fn gather(selection: &Selection, stores: &Stores) -> Result<Vec<Fold>, CliError> {
    let mut folds = Vec::new();
    for (place, store) in stores.all.iter().enumerate() {
        let mut of_store: BTreeMap<Identity, Fold> = BTreeMap::new();
        store.each(&selection.query(0), |row| {
            let record = match store.open_row(&row) {
                Opened::Plain(record) => Some(record),
                Opened::Sealed => None,
                Opened::Damaged => return Ok(true),
            };
            if selection.matches(record.as_ref()) {
                let is_sealed = record.is_none();
                let scan = record.as_ref().filter(|_| scans::is_scan(&row.analyzer, &row.kind)).and_then(scan_of);
                let subject = scan.unwrap_or(Subject::Fold(row.fold));
                let identity = (subject, row.analyzer.clone(), row.kind.clone(), row.severity, is_sealed);
                let fold = of_store.entry(identity).or_insert_with(|| Fold {
                    store: place,
                    fold: row.fold,
                    records: Vec::new(),
                    events: 0,
                    first_ns: u64::MAX,
                    last_ns: 0,
                    is_sealed,
                });
                fold.records.push(row.id);
                fold.events = fold.events.saturating_add(row.events);
                (fold.first_ns, fold.last_ns) = (fold.first_ns.min(row.first_ns), fold.last_ns.max(row.last_ns));
            }
            Ok(true)
        })?;
        folds.extend(of_store.into_values());
    }
    folds.sort_by_key(|fold| (fold.first_ns, fold.store, fold.fold));
    Ok(folds)
}

/// A fold with what its records say.
pub struct Folded {
    sensor: String,
    fold: u64,
    analyzer: String,
    kind: String,
    severity: Severity,
    count: u64,
    first_ns: u64,
    last_ns: u64,
    /// The first event, and what varied; `None`: it is encrypted.
    read: Option<(Event, Varied)>,
    /// Of a scan its last event, which has the totals.
    totals: Option<Event>,
}

impl Folded {
    /// Reads a fold; `None`: it was removed meanwhile.
    pub fn read(fold: &Fold, stores: &Stores) -> Result<Option<Self>, CliError> {
        let Some(store) = stores.all.get(fold.store) else { return Ok(None) };
        let mut rows = Vec::new();
        for id in &fold.records {
            rows.extend(store.row(*id)?);
        }
        Ok(Self::of(store, &rows))
    }

    /// The rows of one fold, in their order; `None`: there is none that can be read.
    pub fn of(store: &Store, rows: &[StoredRow]) -> Option<Self> {
        let mut read: Option<(Event, Varied)> = None;
        let (mut good, mut totals): (Vec<&StoredRow>, Option<Event>) = (Vec::new(), None);
        for row in rows {
            let record = match store.open_row(row) {
                Opened::Plain(record) => record,
                Opened::Sealed => {
                    good.push(row);
                    continue;
                }
                Opened::Damaged => continue,
            };
            let event = record.message().and_then(|message| message.event());
            let added = event.and_then(|event| {
                if scans::is_scan(&row.analyzer, &row.kind) {
                    totals = scans::later(totals.take(), scans::last_event(&record)?);
                }
                let (_, varied) = read.get_or_insert_with(|| (event, Varied::default()));
                varied.add(&record)
            });
            match added {
                Ok(()) => good.push(row),
                Err(error) => store.note_damage(row.id, &error),
            }
        }
        let (first, rows) = (*good.first()?, good);
        Some(Self {
            sensor: store.sensor.clone(),
            fold: first.fold,
            analyzer: legible(&first.analyzer).into_owned(),
            kind: legible(&first.kind).into_owned(),
            severity: first.severity,
            count: rows.iter().map(|row| row.events).fold(0, u64::saturating_add),
            first_ns: rows.iter().map(|row| row.first_ns).min().unwrap_or_default(),
            last_ns: rows.iter().map(|row| row.last_ns).max().unwrap_or_default(),
            read,
            totals,
        })
    }

    fn key(&self) -> Option<&FlowKey> {
        self.read.as_ref().and_then(|(event, _)| event.key.as_ref())
    }

    /// How many values a member takes; 1: it is the same in all events.
    fn distinct(&self, rows: &[tidewire_events::Row], name: &str) -> u64 {
        rows.iter().find(|row| row.name == name).map_or(1, |row| row.distinct)
    }

    fn varied(&self, top: usize) -> Vec<tidewire_events::Row> {
        self.read.as_ref().map(|(_, varied)| varied.rows(top)).unwrap_or_default()
    }

    /// An end of the key: `192.0.2.1:80`; `192.0.2.1:*` where ports varied, `256 hosts:80` where addresses did.
    fn end(&self, rows: &[tidewire_events::Row], is_client: bool) -> String {
        let Some(key) = self.key() else { return String::new() };
        if let Some(target) = self.totals.as_ref().filter(|_| !is_client).and_then(scans::target) {
            return target;
        }
        let (address, port, names) = match is_client {
            true => (key.client_addr, key.client_port, ["client_addr", "client_port"]),
            false => (key.server_addr, key.server_port, ["server_addr", "server_port"]),
        };
        let [hosts, ports] = names.map(|name| self.distinct(rows, name));
        let port = match (ports, port) {
            (1, 0) => String::new(),
            (1, port) => format!(":{port}"),
            _ => ":*".into(),
        };
        match (hosts, address) {
            (1, IpAddr::V6(address)) if !port.is_empty() => format!("[{address}]{port}"),
            (1, address) => format!("{address}{port}"),
            (hosts, _) => format!("{} hosts{port}", Count(hosts)),
        }
    }

    /// The stream, if it is one.
    fn stream(&self, rows: &[tidewire_events::Row]) -> Option<u64> {
        let stream = self.read.as_ref()?.0.stream?;
        (self.distinct(rows, "stream") == 1).then_some(stream)
    }

    /// The Community ID of its flow, if all events are of one.
    fn community_id(&self, rows: &[tidewire_events::Row]) -> Option<String> {
        let ends = ["proto", "client_addr", "client_port", "server_addr", "server_port"];
        let is_one = ends.iter().all(|name| self.distinct(rows, name) == 1);
        self.key().filter(|_| is_one).and_then(FlowKey::community_id)
    }

    fn notes(&self, rows: &[tidewire_events::Row], clock: &Clock) -> Vec<String> {
        let Some((event, _)) = &self.read else { return vec!["encrypted".into()] };
        let mut notes = Vec::new();
        if let Some(totals) = &self.totals {
            notes.push(totals.fields.iter().map(|field| named(field, clock)).collect::<Vec<_>>().join(" "));
            notes.extend(scans::recall(totals).into_iter().flatten());
            return notes;
        }
        let varies = |name: &str| rows.iter().any(|row| row.name == name);
        let fields = event.fields.iter().filter(|field| !varies(&field.name));
        let fields: Vec<String> = fields.map(|field| named(field, clock)).collect();
        notes.extend((!fields.is_empty()).then(|| fields.join(" ")));
        let shown = rows.iter().filter(|row| row.name != "time_ns" && row.name != "excerpt");
        notes.extend(shown.map(|row| varied(row, clock)));
        if let Some(excerpt) = event.excerpt.as_ref() {
            notes.push(format!("excerpt {}", quoted(excerpt)));
        }
        if self.stream(rows).is_some()
            && let Some(id) = self.community_id(rows)
        {
            let first_ns = scans::first_ns(event).unwrap_or(self.first_ns).min(self.first_ns);
            let period = scans::period(first_ns, self.last_ns);
            notes.extend(scans::its_packets(&format!("--community-id {id} {period}")));
        }
        notes
    }
}

impl Folded {
    /// Passes on the record, as far as this form has it. An end of the key is there as far as all events have the same.
    fn view<T>(&self, form: records::Form, call: impl FnOnce(&EventRecord<'_>) -> T) -> T {
        let has = |other: records::Form| form.has(other);
        let rows = self.varied(1);
        let of_all = |name: &str| self.distinct(&rows, name) == 1;
        let key = self.key();
        let proto = key.filter(|_| of_all("proto")).map(|key| proto_name(key.protocol));
        let end = |names: [&str; 2], of: fn(&FlowKey) -> (IpAddr, u16)| {
            let end = key.map(of);
            (end.map(|end| end.0).filter(|_| of_all(names[0])), end.map(|end| end.1).filter(|_| of_all(names[1])))
        };
        let read = self.read.as_ref();
        let json = read.filter(|_| has(records::Form::TABLE.and(records::Form::JSON)));
        let json = json.map(|(event, varied)| (event.to_json(), varied_json(varied)));
        let totals = self.totals.as_ref().filter(|_| has(records::Form::JSON)).map(Event::to_json);
        let fields = read.filter(|_| has(records::Form::CSV)).map(|(event, _)| fields(event));
        let community_id = self.community_id(&rows);
        let mut record = EventRecord::default();
        record.sensor = Some(self.sensor.as_str()).filter(|sensor| !sensor.is_empty());
        record.fold = self.fold;
        record.analyzer = &self.analyzer;
        record.kind = &self.kind;
        record.severity = self.severity.name();
        record.count = self.count;
        record.first = Timestamp::from_nanos(self.first_ns);
        record.last = Timestamp::from_nanos(self.last_ns);
        record.is_encrypted = self.read.is_none();
        record.proto = proto.as_deref();
        record.client = end(["client_addr", "client_port"], |key| (key.client_addr, key.client_port));
        record.server = end(["server_addr", "server_port"], |key| (key.server_addr, key.server_port));
        record.community_id = community_id.as_deref();
        record.stream = self.stream(&rows);
        record.event = json.as_ref().map(|(event, _)| event.as_str());
        record.varied = json.as_ref().map(|(_, varied)| varied.as_str());
        record.fields = fields.as_deref();
        record.totals = totals.as_deref();
        call(&record)
    }

    /// Writes it.
    pub fn export(&self, exports: &Exports, scratch: &mut Vec<u8>) {
        self.view(records::Form::TABLE, |record| exports.write(&outputs::Record::Event(record), self.last_ns, scratch));
        exports.write(&outputs::Record::Text(&Shown(self)), self.last_ns, scratch);
    }
}

/// Members that varied, as JSON.
fn varied_json(varied: &Varied) -> String {
    let table = serde_json::from_str::<Json>(&varied.to_json(JSON_TOP)).unwrap_or_default();
    table.get("varied").map(Json::to_string).unwrap_or_else(|| "[]".into())
}

/// The variation of a member: how many values, from where to where, or the most frequent ones.
fn varied(row: &tidewire_events::Row, clock: &Clock) -> String {
    let at_least = if row.is_at_least { "at least " } else { "" };
    let head = format!("{}: {at_least}{} values", row.name, Count(row.distinct));
    let few = row.distinct as usize <= TOP;
    match &row.range {
        Some((least, greatest)) if !few => format!("{head}, {} to {}", value(least, clock), value(greatest, clock)),
        _ => {
            let top: Vec<String> =
                row.top.iter().map(|(of, count)| format!("{} ({}x)", value(of, clock), Count(*count))).collect();
            let more = if few { "" } else { ", …" };
            format!("{head}: {}{more}", top.join(", "))
        }
    }
}

/// A field for a person: no longer than a note's line of 80 columns.
pub fn named(field: &Field, clock: &Clock) -> String {
    let room = NAMED_CHARS.saturating_sub(field.name.len()).clamp(TEXT_CHARS_MIN, TEXT_CHARS);
    format!("{}={}", field.name, value_within(&field.value, room, clock))
}

/// A value for a person.
fn value(value: &Value, clock: &Clock) -> String {
    value_within(value, TEXT_CHARS, clock)
}

/// A value of which at most so many characters are shown.
fn value_within(value: &Value, room: usize, clock: &Clock) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::I64(value) => value.to_string(),
        Value::U64(value) => value.to_string(),
        Value::F64(value) => value.to_string(),
        Value::Addr(address) => address.to_string(),
        Value::Time(time) => clock.sentence(*time),
        Value::Bytes(bytes) => match bytes.get(..room / 2).filter(|shown| shown.len() < bytes.len()) {
            Some(shown) => hex(shown) + "…",
            None => hex(bytes),
        },
        Value::Text(text) => {
            let mut shown: String = legible(text).chars().take(room + 1).collect();
            if let Some((end, _)) = shown.char_indices().nth(room) {
                shown.truncate(end);
                shown.push('…');
            }
            if shown.contains(' ') || shown.is_empty() { format!("\"{shown}\"") } else { shown }
        }
    }
}

/// Bytes as text, with escapes for bytes that are not text.
pub fn quoted(bytes: &[u8]) -> String {
    let (mut text, mut shown) = (String::new(), 0);
    for byte in bytes.iter().take(EXCERPT_BYTES) {
        let one = byte.escape_ascii().to_string();
        // Escapes are up to four characters, which are not wrapped.
        if text.len() + one.len() > TEXT_CHARS {
            break;
        }
        text.push_str(&one);
        shown += 1;
    }
    let more = if shown < bytes.len() { "…" } else { "" };
    format!("\"{text}{more}\"")
}

impl Row for Folded {
    const COLUMNS: &'static [Column] = &[
        Column::time("TIME", "time", 0),
        Column::words("SENSOR", "sensor", 3),
        Column::words("SEVERITY", "severity", 0),
        Column::words("KIND", "kind", 0),
        Column::words("PROTO", "proto", 4),
        Column::client(0),
        Column::server(0),
        Column::figures("COUNT", "count", 0),
        Column::figures("FOR", "for", 2),
        Column::figures("STREAM", "stream", 5),
        Column::words("ANALYZER", "analyzer", 6),
        Column::figures("FOLD", "fold", 7),
    ];

    described!(records::event_json, records::event_csv, records::event_csv);

    fn cells(&self, clock: &Clock) -> Cells {
        let rows = self.varied(TOP);
        let stream = self.stream(&rows).map(|stream| stream.to_string()).unwrap_or_default();
        let duration = self.last_ns.saturating_sub(self.first_ns);
        let cells = vec![
            clock.cell(self.first_ns),
            self.sensor.clone(),
            self.severity.name().into(),
            self.kind.clone(),
            self.key().map(|key| proto_name(key.protocol).into_owned()).unwrap_or_default(),
            self.end(&rows, true),
            self.end(&rows, false),
            Count(self.count).to_string(),
            if duration == 0 { String::new() } else { Lasting(duration).to_string() },
            stream,
            self.analyzer.clone(),
            self.fold.to_string(),
        ];
        let aside = |title, text: &str| Aside { title, text: text.to_owned() };
        let mut asides = Vec::new();
        if !self.kind.starts_with(&self.analyzer) {
            asides.push(aside("ANALYZER", &format!("found by {}", self.analyzer)));
        }
        Cells { cells, asides, notes: self.notes(&rows, clock) }
    }
}

/// The fields of an event, as JSON text.
fn fields(event: &Event) -> String {
    let event = serde_json::from_str::<Json>(&event.to_json()).unwrap_or_default();
    event.get("fields").map(Json::to_string).unwrap_or_default()
}
