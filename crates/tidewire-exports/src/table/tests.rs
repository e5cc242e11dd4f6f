use crate::{
    EventRecord,
    table::{Cell, EVENTS, FLOWS, Kind, MATCHES, Row, TRANSACTIONS, Table, push_json, push_time},
    testing::{Sample, exchange, found, key, transactions},
};

/// Whether a cell has the type of its column.
fn fits(kind: Kind, is_optional: bool, cell: &Cell<'_>) -> bool {
    match (kind, cell) {
        (_, Cell::Null) => is_optional,
        (Kind::Time, Cell::Number(_)) | (Kind::Long, Cell::Number(_) | Cell::Signed(_)) => true,
        (Kind::Int, Cell::Number(number)) => i32::try_from(*number).is_ok(),
        (Kind::Truth, Cell::Truth(_)) | (Kind::Text, Cell::Text(_) | Cell::Address(_)) => true,
        (Kind::List(of), Cell::List(cells)) => cells.iter().all(|cell| fits(*of, true, cell)),
        (Kind::Object(columns), Cell::Object(cells)) => {
            let fits_column = |(column, cell): (&crate::table::Column, _)| fits(column.kind, column.is_optional, cell);
            columns.len() == cells.len() && columns.iter().zip(cells).all(fits_column)
        }
        (Kind::Object(columns), Cell::Members(members)) => {
            members.iter().all(|(name, _)| columns.iter().any(|column| column.name == *name))
        }
        _ => false,
    }
}

fn check(row: &Row<'_>) {
    let (columns, mut index) = (row.table().columns, 0);
    row.cells(&mut |cell| {
        let column = &columns[index];
        assert!(fits(column.kind, column.is_optional, &cell), "{}.{}: {cell:?}", row.table().name, column.name);
        index += 1;
    });
    assert_eq!(index, columns.len());
}

#[test]
fn every_cell_has_the_type_of_its_column() {
    let sample = Sample::new("text");
    for proto in [1, 6, 17, 47, 200] {
        check(&Row::Flow(&sample.flow(key(proto))));
    }
    check(&Row::Match(&found("text")));
    check(&Row::Event(&EventRecord::default()));
    for transaction in transactions("text") {
        check(&Row::Transaction(&exchange(&transaction)));
    }
}

#[test]
fn names_are_unique() {
    for Table { columns, name } in [FLOWS, TRANSACTIONS, MATCHES, EVENTS] {
        for (index, column) in columns.iter().enumerate() {
            assert!(!columns[..index].iter().any(|other| other.name == column.name), "{name}.{}", column.name);
        }
    }
}

#[test]
fn lists_and_objects_are_json() {
    let sample = Sample::new("text");
    let flow = sample.flow(key(6));
    let (mut index, mut out) = (0, Vec::new());
    Row::Flow(&flow).cells(&mut |cell| {
        if FLOWS.columns[index].name == "gaps" {
            push_json(&mut out, FLOWS.columns[index].kind, &cell);
        }
        index += 1;
    });
    let expected = r#"[{"direction":"s2c","offset":5,"bytes":7,"cause":"not_captured"}]"#;
    assert_eq!(String::from_utf8(out).unwrap(), expected);
    let mut time = Vec::new();
    push_time(&mut time, flow.start_ns);
    assert_eq!(time, b"2026-11-22 06:30:00.123456");
}
