use super::*;
use crate::{
    FlowRecord,
    select::{Seen, Select, fields},
    table::{self, Table},
    testing::{Sample, key},
};

/// The description of flows with a field more.
fn with_one_more() -> Vec<Field<Flow>> {
    let added = Field::new("hops", Kind::Long, |flow: &FlowRecord<'_>| Cell::Number(flow.id + 3), "routers on the way");
    FLOW.into_iter().chain([added.unit(Unit::Count)]).collect()
}

/// The table of a description.
fn table(fields: &'static [Field<Flow>]) -> &'static Table {
    let columns: Vec<Column> = ordered(fields, Form::TABLE).into_iter().map(|field| field.column).collect();
    Box::leak(Box::new(Table { name: "flows", columns: columns.leak() }))
}

fn text(push: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    push(&mut out);
    String::from_utf8(out).unwrap()
}

/// A field is added in one place, and is in every form of the records.
#[test]
fn an_added_field_is_in_every_form() {
    let fields_with: &'static [Field<Flow>] = with_one_more().leak();
    let sample = Sample::new("text");
    let flow = sample.flow(key(6));

    let json = text(|out| Json::of(fields_with, Form::JSON).push(out, &flow));
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap()["hops"], 20, "{json}");
    let csv = Csv::of(fields_with, Form::CSV);
    let (header, line) = (csv.header(false), text(|out| csv.push(out, &flow, None)));
    let place = header.split(',').position(|name| name == "hops").unwrap();
    assert_eq!(line.trim_end().split(',').nth(place), Some("20"), "{header}\n{line}");

    let table = table(fields_with);
    assert!(table.columns.iter().any(|column| column.name == "hops"));
    assert!(fields(table).contains(&("hops".into(), "number")));
    let holds = |test: &str| {
        let select = Select::new(test, table).unwrap();
        let visit = |each: &mut dyn FnMut(Cell<'_>)| {
            let in_order: Vec<_> = ordered(fields_with, Form::TABLE).into_iter().copied().collect();
            cells(&in_order, &flow, &mut |cell| each(cell));
        };
        select.matches_cells(table.columns, Seen::default(), visit)
    };
    assert!(holds("hops = 20 and packets = 30") && !holds("hops > 20"));
    let hint = Select::new("hopps > 3", table).unwrap_err().message;
    assert!(hint.contains("did you mean hops"), "{hint}");
    assert!(documented(fields_with, Form::JSON, false).contains("| `hops` | number | routers on the way |\n"));
}

#[cfg(feature = "arrow")]
#[test]
fn an_added_field_is_a_column_of_arrow() {
    use arrow_array::cast::AsArray as _;

    let fields: &'static [Field<Flow>] = with_one_more().leak();
    let in_order: Vec<_> = ordered(fields, Form::TABLE).into_iter().copied().collect();
    let mut batch = crate::columns::Batch::new(table(fields), &[]);
    let sample = Sample::new("text");
    cells(&in_order, &sample.flow(key(6)), &mut |cell| batch.cell(cell));
    batch.end_row();
    let taken = batch.take().unwrap();
    let hops = taken.column_by_name("hops").unwrap();
    assert_eq!(hops.as_primitive::<arrow_array::types::Int64Type>().value(0), 20);
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

/// The forms of a name are told apart by their fields alone.
#[test]
fn names_are_unique_within_a_form() {
    for form in [Form::TABLE, Form::JSON, Form::CSV, Form::STREAM_JSON, Form::STREAM_CSV] {
        let mut names: Vec<_> = ordered(&FLOW, form).into_iter().map(|field| field.path(form)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{form:?}");
    }
    assert!(FLOW.iter().all(|field| !field.meaning.is_empty()));
}
