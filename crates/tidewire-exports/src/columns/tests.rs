use std::io::Cursor;
use tidewire_types::Timestamp;

use arrow_array::{Array as _, Int64Array, ListArray, RecordBatch, StringArray, StructArray, cast::AsArray as _};
use arrow_ipc::reader::{FileReader, StreamReader};

use crate::{
    columns::{Batch, Ipc, IpcForm, batch::BATCH_BYTES, builder::BATCH_ROWS},
    table::{FLOWS, Row, TRANSACTIONS, Table},
    testing::{Sample, exchange, key, key6, transactions},
};

fn push(batch: &mut Batch, row: &Row<'_>) {
    row.cells(&mut |cell| batch.cell(cell));
    batch.end_row();
}

/// Rows of a table in batches, as a form of Arrow and read back.
fn read(form: IpcForm, table: &Table, fill: impl Fn(&mut dyn FnMut(&Row<'_>))) -> Vec<RecordBatch> {
    let mut batch = Batch::new(table, &[("tidewire.version", "x".into())]);
    let mut encoder = Ipc::new(form, &batch).unwrap();
    fill(&mut |row| {
        push(&mut batch, row);
        if batch.is_full() {
            encoder.push(&mut batch).unwrap();
        }
    });
    encoder.push(&mut batch).unwrap();
    encoder.finish().unwrap();
    let bytes = Cursor::new(std::mem::take(encoder.bytes()));
    match form {
        IpcForm::Stream => StreamReader::try_new(bytes, None).unwrap().map(Result::unwrap).collect(),
        IpcForm::File => FileReader::try_new(bytes, None).unwrap().map(Result::unwrap).collect(),
    }
}

#[test]
fn flows_are_read_back() {
    let (sample, rows) = (Sample::new("text"), BATCH_ROWS + 3);
    for form in [IpcForm::Stream, IpcForm::File] {
        let batches = read(form, &FLOWS, |push| {
            for index in 0..rows {
                let mut flow = sample.flow(if index % 2 == 0 { key(6) } else { key6(58) });
                flow.id = index as u64;
                if index % 3 == 0 {
                    (flow.gaps, flow.app) = (&[], None);
                }
                push(&Row::Flow(&flow));
            }
        });
        assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [BATCH_ROWS, 3]);
        let column = |name: &str| batches[0].column_by_name(name).unwrap();
        let ids: &Int64Array = column("id").as_primitive();
        assert!((0..BATCH_ROWS).all(|row| ids.value(row) == row as i64));
        let (addresses, services): (&StringArray, &StringArray) =
            (column("client_addr").as_string(), column("service").as_string());
        assert_eq!((addresses.value(2), addresses.value(3)), ("192.0.2.1", "2001:db8::1"));
        assert!(services.is_null(0) && services.value(1) == "tls");
        let gaps: &ListArray = column("gaps").as_list();
        assert!(gaps.is_null(0) && gaps.value(1).len() == 1);
        let gap = gaps.value(1);
        let gap: &StructArray = gap.as_struct();
        let cause: &StringArray = gap.column_by_name("cause").unwrap().as_string();
        assert_eq!(cause.value(0), "not_captured");
        let kinds: &arrow_array::Int32Array = column("icmp_type").as_primitive();
        assert!(kinds.is_null(0) && kinds.is_valid(1));
    }
}

/// Rows are gathered before they are cells of columns: however many there are, and however long their texts.
#[test]
fn gathered_rows_are_read_back_in_order() {
    let long = "n".repeat(3000);
    let sample = Sample::new(&long);
    for rows in [1, 63, 64, 65, 200] {
        let batches = read(IpcForm::Stream, &FLOWS, |push| {
            for index in 0..rows {
                let mut flow = sample.flow(if index % 5 == 0 { key6(6) } else { key(6) });
                (flow.id, flow.client_known) = (index, index % 3 == 0);
                if index % 2 == 0 {
                    (flow.app, flow.anomalies) = (None, &[]);
                }
                push(&Row::Flow(&flow));
            }
        });
        let column = |name: &str| batches[0].column_by_name(name).unwrap();
        let (names, addresses): (&StringArray, &StringArray) =
            (column("name").as_string(), column("client_addr").as_string());
        let (ids, known): (&Int64Array, &arrow_array::BooleanArray) =
            (column("id").as_primitive(), column("client_known").as_boolean());
        let anomalies: &ListArray = column("anomalies").as_list();
        assert_eq!(batches[0].num_rows(), rows as usize);
        for row in 0..rows as usize {
            assert_eq!((ids.value(row), known.value(row)), (row as i64, row % 3 == 0));
            assert_eq!(addresses.value(row).contains(':'), row % 5 == 0);
            assert_eq!((names.is_null(row), anomalies.is_null(row)), (row % 2 == 0, row % 2 == 0));
            assert!(row % 2 == 0 || names.value(row) == long);
        }
    }
}

#[test]
fn fields_of_protocols_are_objects() {
    let all = transactions("text");
    let batches = read(IpcForm::File, &TRANSACTIONS, |push| {
        all.iter().for_each(|transaction| push(&Row::Transaction(&exchange(transaction))));
    });
    let service = |name: &str| batches[0].column_by_name(name).unwrap().as_struct().clone();
    for (row, transaction) in all.iter().enumerate() {
        assert!(service(transaction.service.name()).is_valid(row) && service("smtp").is_null(row));
    }
    let certificate = service("tls").column_by_name("certificate").unwrap().as_struct().clone();
    let names: &ListArray = certificate.column_by_name("san").unwrap().as_list();
    assert_eq!(names.value(0).len(), 2);
    // A time before 1970 is negative.
    let begins: &Int64Array = certificate.column_by_name("not_before").unwrap().as_primitive();
    assert_eq!(begins.value(0), -1);
    let answers = service("dns").column_by_name("answers").unwrap().clone();
    let answers: &ListArray = answers.as_list();
    assert!(answers.is_null(0) && answers.value(1).len() == 7);
    // Each field has a column.
    assert_eq!(batches[0].column_by_name("other_fields").unwrap().null_count(), all.len());
}

#[test]
fn a_number_that_a_column_cannot_hold_is_absent() {
    let sample = Sample::new("text");
    for rows in [1, 70] {
        let batches = read(IpcForm::Stream, &FLOWS, |push| {
            for row in 0..rows {
                let start_ns = if row % 2 == 0 { i64::MAX as u64 + 1 } else { i64::MAX as u64 };
                push(&Row::Flow(&crate::FlowRecord { start: Timestamp::from_nanos(start_ns), ..sample.flow(key(6)) }));
            }
        });
        let numbers: &Int64Array = batches[0].column_by_name("start_ns").unwrap().as_primitive();
        assert!((0..rows).all(|row| numbers.is_null(row) == (row % 2 == 0)));
        assert!(rows == 1 || numbers.value(1) == i64::MAX);
        // The same as microseconds fits.
        assert_eq!(batches[0].column_by_name("start").unwrap().null_count(), 0);
    }
}

/// Text that does not repeat and hardly compresses.
fn noise(seed: u64, bytes: usize) -> String {
    let words = (0..bytes as u64 / 16).map(|index| crate::model::stream_number(seed, index, 0));
    words.map(|word| format!("{word:016x}")).collect()
}

/// Rows alone do not bound the memory of a batch: its bytes do, and are about those of a file.
#[test]
fn a_batch_is_bounded_in_bytes() {
    for (bytes, most_rows) in [(16, BATCH_ROWS), (8192, BATCH_ROWS / 4)] {
        let mut batch = Batch::new(&TRANSACTIONS, &[]);
        let mut encoder = Ipc::new(IpcForm::Stream, &batch).unwrap();
        let head = encoder.bytes().len();
        let text = noise(1, bytes);
        let all = transactions(&text);
        for row in 0..BATCH_ROWS {
            if batch.is_full() {
                break;
            }
            push(&mut batch, &Row::Transaction(&exchange(&all[row % all.len()])));
        }
        assert!(batch.is_full() && batch.rows() <= most_rows, "{}", batch.rows());
        let counted = batch.bytes();
        assert!(counted <= BATCH_BYTES as u64 + (1 << 20));
        encoder.push(&mut batch).unwrap();
        assert_eq!(batch.bytes(), 0);
        let written = (encoder.bytes().len() - head) as u64;
        assert!(counted * 2 > written && counted < written * 2, "{counted} and {written}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn a_group_of_parquet_is_bounded_in_bytes() {
    use crate::columns::{Parquet, ROW_GROUP_BYTES};
    let mut batch = Batch::new(&TRANSACTIONS, &[]);
    let mut encoder = Parquet::new(&TRANSACTIONS, &batch).unwrap();
    let (mut most, mut written) = (0, 0);
    for row in 0..8000 {
        let text = noise(row, 4096);
        push(&mut batch, &Row::Transaction(&exchange(&transactions(&text)[0])));
        if batch.is_full() {
            encoder.push(&mut batch).unwrap();
            most = most.max(encoder.waiting_bytes());
            written += std::mem::take(encoder.bytes()).len();
        }
    }
    assert!(most > ROW_GROUP_BYTES / 2 && most < ROW_GROUP_BYTES + 2 * BATCH_BYTES, "{most}");
    assert!(written > ROW_GROUP_BYTES, "{written}");
}

/// Rows are whole with their group, and all of them with the end of the file, whose groups the writer does not list any more.
#[cfg(feature = "parquet")]
#[test]
fn whole_rows_of_parquet_only_grow() {
    let sample = Sample::new("x");
    let mut batch = Batch::new(&FLOWS, &[]);
    let mut encoder = crate::columns::Parquet::new(&FLOWS, &batch).unwrap();
    let mut found = Vec::new();
    for group in 0..3 {
        for _ in 0..5 + group {
            Row::Flow(&sample.flow(key(6))).cells(&mut |cell| batch.cell(cell));
            batch.end_row();
        }
        encoder.push(&mut batch).unwrap();
        encoder.end_group().unwrap();
        found.push(encoder.whole_rows());
    }
    encoder.finish().unwrap();
    found.push(encoder.whole_rows());
    assert_eq!(found, [0, 5, 11, 18]);
}

#[cfg(feature = "parquet")]
#[test]
fn a_parquet_file_is_read_back() {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let sample = Sample::new("text");
    let mut batch = Batch::new(&FLOWS, &[("tidewire.file", "a.pcap".into())]);
    let mut encoder = crate::columns::Parquet::new(&FLOWS, &batch).unwrap();
    for index in 0..2 * BATCH_ROWS + 5 {
        let mut flow = sample.flow(key(6));
        flow.id = index as u64;
        push(&mut batch, &Row::Flow(&flow));
        if batch.is_full() {
            encoder.push(&mut batch).unwrap();
        }
    }
    encoder.push(&mut batch).unwrap();
    encoder.finish().unwrap();
    let bytes = bytes::Bytes::from(std::mem::take(encoder.bytes()));
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes.clone()).unwrap();
    assert_eq!(reader.schema().metadata()["tidewire.file"], "a.pcap");
    let mut next = 0;
    for rows in reader.build().unwrap() {
        let rows = rows.unwrap();
        let ids: &Int64Array = rows.column_by_name("id").unwrap().as_primitive();
        for id in ids.values() {
            assert_eq!(*id, next);
            next += 1;
        }
    }
    assert_eq!(next as usize, 2 * BATCH_ROWS + 5);
    // Without its end it is refused.
    assert!(ParquetRecordBatchReaderBuilder::try_new(bytes.slice(..bytes.len() - 1)).is_err());
}
