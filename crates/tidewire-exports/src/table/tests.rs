use crate::{
    EventRecord,
    table::{Cell, EVENTS, FLOWS, Kind, MATCHES, Packed, Row, TRANSACTIONS, Table, push_json, push_time},
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

/// Calls a function with rows of all tables.
fn each_row(text: &str, mut call: impl FnMut(&Row<'_>)) {
    let sample = Sample::new(text);
    for proto in [1, 6, 17, 47, 200] {
        call(&Row::Flow(&sample.flow(key(proto))));
    }
    call(&Row::Match(&found(text)));
    call(&Row::Event(&EventRecord::default()));
    for transaction in transactions(text) {
        call(&Row::Transaction(&exchange(&transaction)));
    }
}

#[test]
fn every_cell_has_the_type_of_its_column() {
    each_row("text", check);
}

/// The cells of a row, each as the text of its value; text that was made for a cell is like any other.
fn described(row: &Row<'_>) -> Vec<String> {
    let mut cells = Vec::new();
    row.cells(&mut |cell| cells.push(format!("{cell:?}").replace("Owned(", "Text(")));
    cells
}

#[test]
fn packed_rows_have_the_cells_of_their_records() {
    let (mut packed, mut expected) = (Vec::new(), Vec::new());
    for text in ["text", "", "ü\u{0}\"\n", &"long".repeat(10_000)] {
        each_row(text, |row| {
            row.pack(&mut packed);
            expected.push((row.table().name, row.end().as_nanos(), described(row)));
        });
    }
    let restored = |bytes: &[u8]| -> Vec<_> {
        let rows = Packed::all(bytes).map(Row::Packed);
        rows.map(|row| (row.table().name, row.end().as_nanos(), described(&row))).collect()
    };
    assert_eq!(restored(&packed), expected);
    assert!(expected.iter().any(|(_, _, cells)| cells.iter().any(|cell| cell.starts_with("Members([("))));
    // Bytes that are no packed rows are cells without a value, or no row.
    for at in (0..packed.len().min(20_000)).step_by(97) {
        let mut damaged = packed[..20_000.min(packed.len())].to_vec();
        damaged[at] ^= 0xff;
        restored(&damaged);
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
    push_time(&mut time, flow.start.as_nanos());
    assert_eq!(time, b"2026-11-22 06:30:00.123456");
}
