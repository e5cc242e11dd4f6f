use std::time::Duration;

use tidewire::Rejection;

use super::{document::documented, schema::schema, *};
use crate::{
    CutOff, EventRecord, FlowRecord,
    select::{self, Seen, Select},
    table::{self, Table},
    testing::{EveryCell, Sample, Wider, datagram, exchange, file, found, key, transactions},
};

fn text(push: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    push(&mut out);
    String::from_utf8(out).unwrap()
}

/// A description with a field more, as if it had been written there.
fn with_one_more<K: RecordKind>(fields: &[Field<K>]) -> &'static [Field<K>] {
    let added = Field::number("hops", Kind::Long, |_| 20, "routers on the way").unit(Unit::Count);
    fields.iter().copied().chain([added]).collect::<Vec<_>>().leak()
}

/// The fields of a description that are columns, and their table.
fn table<K: RecordKind>(fields: &[Field<K>]) -> (Vec<Field<K>>, &'static Table) {
    let fields: Vec<Field<K>> = ordered(fields, Form::TABLE).into_iter().copied().collect();
    let columns: Vec<Column> = fields.iter().map(|field| field.column).collect();
    (fields, Box::leak(Box::new(Table { name: "records", columns: columns.leak() })))
}

/// Adds a field to a description, and looks for it in every form of a record: JSON, comma-separated values, values of a terminal's
/// table, columns of databases, `--where` with its hints, documents, schemas, and Arrow.
fn check_added<'r, K: RecordKind>(fields: &[Field<K>], record: &'r K::Record<'r>, [json, csv]: [Form; 2]) {
    let fields = with_one_more(fields);
    let line = text(|out| Json::of(fields, json).push(out, record));
    let path = ordered(fields, json).last().unwrap().path(json);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap()["hops"], 20, "{path:?} {line}");
    let schema = schema(fields, json, "record", "", &[]);
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap_or_else(|error| panic!("{error}: {schema}"));
    assert_eq!(schema["properties"]["hops"]["description"], "routers on the way");
    assert!(schema["required"].as_array().unwrap().contains(&"hops".into()));
    assert!(documented(fields, json, false).contains("| `hops` | number | routers on the way |\n"));

    let csv = Csv::of(fields, csv);
    let (header, line) = (csv.header(false), text(|out| csv.push(out, record, None)));
    let place = header.split(',').position(|name| name == "hops").unwrap();
    assert_eq!(line.trim_end().split(',').nth(place), Some("20"), "{header}\n{line}");
    let (name, column) = csv.columns().nth(place).unwrap();
    assert_eq!((name, column.unit, csv.number(place, record)), ("hops", Unit::Count, Some(20)));
    assert_eq!(csv.text(place, record), "20");

    let (fields, table) = table(fields);
    assert!(select::fields(table).contains(&("hops".into(), "number")));
    let holds = |test: &str| {
        let visit = |each: &mut dyn FnMut(Cell<'_>)| cells(&fields, record, &mut |cell| each(cell));
        Select::new(test, table).unwrap().matches_cells(table.columns, Seen::default(), visit)
    };
    assert!(holds("hops = 20") && !holds("hops > 20"));
    let hint = Select::new("hopps > 3", table).unwrap_err().message;
    assert!(hint.contains("did you mean hops"), "{hint}");
    #[cfg(feature = "arrow")]
    {
        use arrow_array::cast::AsArray as _;
        let mut batch = crate::columns::Batch::new(table, &[]);
        cells(&fields, record, &mut |cell| batch.cell(cell));
        batch.end_row();
        let batch = batch.take().unwrap();
        let hops = batch.column_by_name("hops").unwrap();
        assert_eq!(hops.as_primitive::<arrow_array::types::Int64Type>().value(0), 20);
    }
}

/// A field is added in one place, and is in every form of the records, whatever their kind is.
#[test]
fn an_added_field_is_in_every_form() {
    let sample = Sample::new("text");
    let (both, streams) = ([Form::JSON, Form::CSV], [Form::STREAM_JSON, Form::STREAM_CSV]);
    for forms in [both, streams, [Form::JSON, Form::FLOWS], [Form::STREAM_JSON, Form::STREAMS]] {
        check_added(&FLOW, &sample.flow(key(6)), forms);
    }
    for transaction in transactions("text") {
        check_added(TransactionKind::FIELDS, &exchange(&transaction), both);
    }
    for rejected in [None, Some(Rejection::Timeout)] {
        check_added(DatagramKind::FIELDS, &datagram(rejected), both);
    }
    check_added(MatchKind::FIELDS, &found("text"), both);
    check_added(FileKind::FIELDS, &file(&sample.gaps), both);
    for sensor in [None, Some("a b")] {
        check_added(EventKind::FIELDS, &EventRecord { sensor, ..EventRecord::default() }, both);
    }
}

/// Appends the paths of all members.
fn paths(value: &serde_json::Value, path: &str, found: &mut Vec<String>) {
    match value.as_object() {
        None => found.push(path.to_owned()),
        Some(members) => members.iter().for_each(|(name, value)| {
            paths(value, &format!("{path}{}{name}", if path.is_empty() { "" } else { "." }), found);
        }),
    }
}

/// Members of EVE's record `flow` that are no field of ours: of the format, or made of several fields.
const EVE_ALONE: &str = "timestamp flow_id event_type in_iface pcap_filename ip_v response_icmp_type response_icmp_code \
    flow.age flow.state flow.reason flow.alerted tcp.tcp_flags tcp.state tcp.syn tcp.fin tcp.psh tcp.ack tcp.tc_gap";

/// Columns of Zeek's log `conn` that are no field of ours.
const ZEEK_ALONE: &str = "uid duration tunnel_parents local_orig local_resp history ip_proto";

/// Every name in another format is one of that format, and every other name there is listed.
#[test]
fn names_in_other_formats_exist() {
    let sample = Sample::new("text");
    let mut records = [key(1), key(6)].map(|key| sample.flow(key));
    (records[0].key.vlans, records[0].key.icmp) = (tidewire::Vlans::new([5]), [8, 0]);
    records[0].key.tunnel = tidewire::Tunnel { kind: tidewire::TunnelKind::Gre, id: 5 };
    records[0].client_by = tidewire::ClientBy::Ports;
    (records[0].time_back, records[0].time_outliers) = (Some(Duration::from_nanos(1)), 1);
    let mut written = Vec::new();
    for flow in &records {
        let line = text(|out| crate::eve::push_flow(out, flow));
        paths(&serde_json::from_str(&line).unwrap(), "", &mut written);
    }
    let eve = |field: &Field<FlowKind>| field.aliases.eve.map(|(place, name)| format!("{}{name}", place.object()));
    let named: Vec<String> = FLOW.iter().filter_map(eve).collect();
    let missing: Vec<_> = named.iter().filter(|name| !written.contains(name)).collect();
    assert!(missing.is_empty(), "not written: {missing:?}");
    let is_known = |path: &String| named.contains(path) || EVE_ALONE.split_whitespace().any(|alone| alone == path);
    let unknown: Vec<_> = written.iter().filter(|path| !is_known(path)).collect();
    assert!(unknown.is_empty(), "of no field: {unknown:?}");

    let columns: Vec<&str> = crate::zeek::Log::Conn.columns().iter().map(|(name, _)| *name).collect();
    let named: Vec<&str> = FLOW.iter().filter_map(|field| field.aliases.zeek).collect();
    let mut known: Vec<&str> = named.into_iter().chain(ZEEK_ALONE.split_whitespace()).collect();
    known.sort_unstable();
    known.dedup();
    let mut columns = columns;
    columns.sort_unstable();
    assert_eq!(known, columns);
}

/// A field with a name in EVE is in its records, written as any other of its object.
#[test]
fn an_added_field_is_a_member_of_eve() {
    let sample = Sample::new("text");
    let line = text(|out| crate::eve::push_flow_of::<Wider>(out, &sample.flow(key(6))));
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(value["tidewire"]["hops"], 20, "{line}");
    assert_eq!(line.replacen(",\"hops\":20", "", 1), text(|out| crate::eve::push_flow(out, &sample.flow(key(6)))));
}

/// No cell is left out for its kind; one without a value is no member.
#[test]
fn every_kind_of_cell_is_a_member_of_eve() {
    let sample = Sample::new("text");
    let line = text(|out| crate::eve::push_flow_of::<EveryCell>(out, &sample.flow(key(6))));
    let members = ",\"number\":7,\"signed\":-7,\"truth\":true,\"text\":\"a \\\"b\\\"\",\"owned\":\"ccc\",\"address\":\"192.0.2.1\",\
                   \"list\":[1,2],\"object\":{\"one\":1,\"two\":\"2\"},\"raw\":[3]";
    assert!(line.contains(members), "{line}");
    assert_eq!(line.replacen(members, "", 1), text(|out| crate::eve::push_flow(out, &sample.flow(key(6)))));
}

/// Bytes that were not written are figures of each direction, where they are known.
#[test]
fn what_was_cut_off_is_written_to_eve_where_it_is_known() {
    let sample = Sample::new("text");
    let mut flow = sample.flow(key(6));
    flow.cut_off = Some([CutOff { packets: 1, bytes: 20 }, CutOff { packets: 3, bytes: 40 }]);
    let with = text(|out| crate::eve::push_flow(out, &flow));
    let members = [",\"cut_off_packets\":1,\"cut_off_bytes\":20}", ",\"cut_off_packets\":3,\"cut_off_bytes\":40}"];
    assert!(members.iter().all(|members| with.contains(members)), "{with}");
    flow.cut_off = None;
    let without = text(|out| crate::eve::push_flow(out, &flow));
    assert_eq!(members.iter().fold(with, |line, members| line.replacen(members, "}", 1)), without);
}

/// A value as text is what comma-separated values have between the quotes, with its own quotes once.
#[test]
fn values_as_text_have_no_quotes_of_their_form() {
    let quoted = Field::<FlowKind>::new("quoted", Kind::Text, |_| Cell::Text("a \"b\""), "text");
    let absent = Field::<FlowKind>::new("absent", Kind::Text, |_| Cell::Null, "text").quotes(Quotes::Always);
    let legible =
        Field::<FlowKind>::new("legible", Kind::Text, |_| Cell::Text("\"\n\""), "text").quotes(Quotes::Legible);
    let (csv, sample) = (Csv::of(&[quoted, absent, legible], Form::CSV), Sample::new("text"));
    let flow = sample.flow(key(6));
    assert_eq!(text(|out| csv.push(out, &flow, None)), "\"a \"\"b\"\"\",\"\",\"\"\"\\n\"\"\"\n");
    assert_eq!([0, 1, 2].map(|index| csv.text(index, &flow)), ["a \"b\"", "", "\"\\n\""]);
}

/// The columns have had this order since files with them exist: new ones are behind them.
#[test]
fn columns_keep_their_order() {
    let names: Vec<&str> = table::FLOWS.columns.iter().map(|column| column.name).collect();
    let [first, .., last] = names.as_slice() else { panic!() };
    assert_eq!((*first, *last, names.len()), ("id", "time_outliers", 52));
    assert_eq!(names.iter().position(|name| *name == "cut_off_packets_c2s"), Some(45));
    assert_eq!(names, ordered(&FLOW, Form::TABLE).iter().map(|field| field.column.name).collect::<Vec<_>>());
}

/// The first member of an object is never left out: it has no comma before it.
#[test]
fn json_is_valid_whatever_is_absent() {
    let sample = Sample::new("a\"b\u{7}");
    for proto in [1, 6, 17, 47, 200] {
        let mut flow = sample.flow(key(proto));
        for is_bare in [false, true] {
            if is_bare {
                flow = FlowRecord { app: None, gaps: &[], anomalies: &[], cut_off: None, ..flow };
            }
            for json in [flow_json(), stream_json()] {
                let line = text(|out| json.push(out, &flow));
                let value: serde_json::Value =
                    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                assert_eq!((&value["id"], &value["tunnel"]), (&17.into(), &serde_json::Value::Null));
            }
            for csv in [flow_csv(), stream_csv()] {
                let line = text(|out| csv.push(out, &flow, None));
                assert_eq!(line.matches(',').count(), csv.header(false).matches(',').count(), "{line}");
            }
        }
    }
}

/// No two fields of a form have one name.
#[test]
fn names_are_unique_within_a_form() {
    fn check<K: RecordKind>(fields: &[Field<K>]) {
        for form in [Form::TABLE, Form::JSON, Form::CSV, Form::STREAM_JSON, Form::STREAM_CSV] {
            let mut names: Vec<_> = ordered(fields, form).into_iter().map(|field| field.path(form)).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{form:?}");
        }
        assert!(fields.iter().all(|field| !field.meaning.is_empty()));
    }
    check(&FLOW);
    check(TransactionKind::FIELDS);
    check(DatagramKind::FIELDS);
    check(MatchKind::FIELDS);
    check(FileKind::FIELDS);
    check(EventKind::FIELDS);
}

/// An absent first member leaves no comma, and JSON of another writer is escaped.
#[test]
fn events_are_json_with_and_without_a_sensor() {
    let event = EventRecord { event: Some("{\"kind\":\"a\u{202e}\"}"), varied: Some("[]"), ..EventRecord::default() };
    let line = |sensor| text(|out| event_json().push(out, &EventRecord { sensor, ..event }));
    let rest = r#""fold":0,"analyzer":"","kind":"","severity":"","count":0,"first_ns":0,"last_ns":0,"event":{"kind":"a\u202e"},"varied":[]}"#;
    assert_eq!(line(None), format!("{{{rest}\n"));
    assert_eq!(line(Some("s")), format!("{{\"sensor\":\"s\",{rest}\n"));
}

/// Texts of comma-separated values are in quotes where they need them.
#[test]
fn texts_of_events_are_quoted_if_need_be() {
    let event = EventRecord { sensor: Some("a,b"), analyzer: "scan.x", kind: "a \"b\"", ..EventRecord::default() };
    let (header, line) = (event_csv().header(true), text(|out| event_csv().push(out, &event, Some(&|_| "T".into()))));
    assert_eq!(
        header.split(',').take(6).collect::<Vec<_>>(),
        ["start_time", "end_time", "sensor", "severity", "analyzer", "kind"]
    );
    assert_eq!(line, "T,T,\"a,b\",,scan.x,\"a \"\"b\"\"\",0,,,,,,,0,,\n");
}
