//! Every format on a disk that stalls: neither workers nor other outputs wait, and each record has its account.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tidewire::{Capture, Chunk, EndReason, Handler, Stream};
use tidewire_testing::{StallingDisk, skip, wait_until};

use crate::{
    ExportHandler, ExportKind, Exporting, Exports, Facts, MemoryParts, Room, Rotate, Settings, Source, Target,
};

const HELLO: &[u8] = include_bytes!("../../tidewire/tests/corpus/hello/hello.pcap");

/// Formats and places, the last one elsewhere.
const OUTPUTS: [(&str, &str); 9] = [
    ("eve", "eve.json"),
    ("json", "flows.json"),
    ("csv", "flows.csv"),
    ("zeek", "zeek"),
    ("ipfix", "flows.ipfix"),
    #[cfg(feature = "sqlite")]
    ("sqlite", "flows.db"),
    #[cfg(feature = "parquet")]
    ("parquet", "parquet"),
    #[cfg(feature = "parquet")]
    ("arrow", "flows.arrow"),
    ("json", "whole.json"),
];

fn open(disk: &Path, elsewhere: &Path) -> Exporting {
    let kind = ExportKind::Flows;
    let settings = Settings {
        source: Source { is_live: true, ..Source::default() },
        tables: kind.tables(),
        csv_header: kind.csv_header(),
        rotate: Rotate { bytes: None, ns: Some(86_400_000_000_000) },
        goes_on_without: true,
        // Files of columns that are soon complete.
        rows_bytes: 32 << 10,
        ..Settings::default()
    };
    let last = OUTPUTS.len() - 1;
    let outputs = OUTPUTS.iter().enumerate().map(|(index, (format, name))| {
        let folder = if index == last { elsewhere } else { disk };
        let target: Target = format!("{format}:{}", folder.join(name).display()).parse().unwrap();
        let room = if index == last { 64 << 20 } else { 64 << 10 };
        (target, Settings { room: Some(Room::alone(room)), ..settings.clone() })
    });
    let outputs: Vec<_> = outputs.collect();
    let sinks = outputs.iter().map(|(target, settings)| Exports::sink(target, settings).unwrap()).collect();
    Exporting::new(kind, Arc::new(Exports::of(sinks, settings).reopening(outputs)))
}

/// Has a stream end so many times.
struct Repeated(ExportHandler<false>, u64);

impl Handler for Repeated {
    type Data = <ExportHandler<false> as Handler>::Data;

    fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>) {
        self.0.data(stream, chunk);
    }

    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason) {
        (0..self.1).for_each(|_| self.0.close(stream, reason));
    }
}

/// Passes the records of so many streams.
fn pass(exporting: &Exporting, streams: u64) {
    let parts = MemoryParts::of(64 << 20, 1, exporting.kept());
    let run = Capture::reader(HELLO).run(|_| Repeated(ExportHandler::new(exporting, &parts), streams));
    assert_eq!(run.unwrap().handler().0.totals.streams, streams);
}

#[test]
fn a_disk_that_stalls_costs_its_outputs_alone_and_by_an_exact_count() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut disk) = StallingDisk::mount(folder.path(), 32 << 20) else {
        return skip("a disk that stalls needs root and a loop device");
    };
    let exporting = open(disk.path(), folder.path());
    let exports = Arc::clone(&exporting.exports);
    let accounts = || exports.states().into_iter().map(|state| state.account).collect::<Vec<_>>();
    pass(&exporting, 10);
    exports.flush();
    let last = OUTPUTS.len() - 1;
    let has_written = |index: usize| accounts()[index].written + accounts()[index].unfinished > 0;
    wait_until("lines are written", || [0, 1, 2, 3, last].into_iter().all(has_written));
    disk.freeze();
    // A worker that waited would wait for ever.
    let is_through = Arc::new(AtomicBool::new(false));
    let worker = std::thread::spawn({
        let (exporting, is_through) = (exporting.clone(), Arc::clone(&is_through));
        move || {
            let mut passed = 0;
            let is_slow = || exporting.exports.states()[..last].iter().all(|state| state.account.slow > 0);
            while !is_slow() && passed < 20_000 {
                pass(&exporting, 100);
                exporting.exports.flush();
                passed += 100;
            }
            is_through.store(true, Ordering::Relaxed);
            passed
        }
    });
    let mut waited = 0;
    while !is_through.load(Ordering::Relaxed) && waited < 60_000 {
        tidewire_testing::let_pass(Duration::from_millis(20));
        waited += 20;
    }
    let stalled = accounts();
    disk.thaw();
    assert!(is_through.load(Ordering::Relaxed), "a worker waited for the disk: {stalled:?}");
    let passed = 10 + worker.join().unwrap();
    let whole = stalled[last];
    assert_eq!((whole.accepted, whole.lost), (passed, 0), "{stalled:?}");
    for (account, (format, name)) in stalled.iter().zip(OUTPUTS).take(last) {
        assert!(account.slow > 0 && account.lost == account.slow, "{format}: {account:?}");
        if name.starts_with("flows.") && *format != *"ipfix" {
            assert!(account.accepted >= passed, "{format}: {account:?}");
        }
    }
    pass(&exporting, 5);
    exports.finish(&Facts::default(), true).unwrap();
    for ((account, before), (format, _)) in accounts().iter().zip(&stalled).zip(OUTPUTS) {
        assert_eq!(account.accepted, account.written + account.lost, "{format}: {account:?}");
        assert!(account.written >= before.written && account.lost == account.slow, "{format}: {account:?}");
    }
    let names = fs::read_dir(disk.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<String> = names.collect();
    assert!(!names.iter().any(|name| name.ends_with(".part")), "{names:?}");
    let lines_of = |beginning: &str| -> u64 {
        let files = names.iter().filter(|name| name.starts_with(beginning) && name.ends_with(".json"));
        files.map(|name| fs::read_to_string(disk.path().join(name)).unwrap().lines().count() as u64).sum()
    };
    assert_eq!(lines_of("flows"), accounts()[1].written);
    assert_eq!(lines_of("eve"), accounts()[0].written);
    #[cfg(feature = "sqlite")]
    {
        let database = names.iter().find(|name| name.ends_with(".db")).unwrap();
        let connection = rusqlite::Connection::open(disk.path().join(database)).unwrap();
        let query = "SELECT (SELECT count(*) FROM flows) + (SELECT count(*) FROM transactions)";
        let rows: i64 = connection.query_row(query, (), |row| row.get(0)).unwrap();
        assert_eq!(rows as u64, accounts()[5].written);
    }
}
