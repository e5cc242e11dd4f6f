//! Who loses first where processors run short: queues, then outputs, by exact counts.

use std::sync::Arc;

use tidewire::Capture;
use tidewire_outputs::{
    BufferPool, ExportKind, Exporting, Exports, Facts, KeptState, Load, MemoryParts, Room, Settings, Source, Target,
};
use tidewire_sensor::{
    config::QueueConfig,
    producer::{self, Queues, RecordSettings},
};

use crate::rig::{hostile, queue};

/// Records of the queue that were published and shed, and of each output that were written and shed.
#[derive(Debug, PartialEq)]
struct Counts {
    queue: [u64; 2],
    outputs: Vec<[u64; 2]>,
}

/// Runs a capture whose rings are so full, beside a queue and two outputs of other priorities.
fn run(permille: u32) -> Counts {
    let folder = tempfile::tempdir().unwrap();
    let load = Load::new(1);
    load.report(0, permille);
    let config = QueueConfig { priority: 3, memory_bytes: 64 << 20, records: 1 << 16, ..queue("streams") };
    let queues = Queues::new(&[config]).unwrap().giving_way_to(&load);
    let offer = queues.offered()[0].offer.clone();
    let kind = ExportKind::Flows;
    let pool = BufferPool::new(64 << 20);
    let settings = |priority| Settings {
        source: Source { is_live: true, ..Source::default() },
        room: Some(Room { bytes_max: 64 << 20, pool: Arc::clone(&pool), priority, load: load.clone() }),
        ..Settings::default()
    };
    let output = |(name, priority)| {
        let target: Target = format!("json:{}", folder.path().join(name).display()).parse().unwrap();
        Exports::sink(&target, &settings(priority)).unwrap()
    };
    let exports = Arc::new(Exports::of([("lower", 4), ("higher", 5)].map(output).into(), settings(0)));
    let exporting = Exporting::new(kind, Arc::clone(&exports));
    let parts = MemoryParts::of(1 << 30, 1, KeptState::FIELDS);
    let records = RecordSettings { exporting: &exporting, parts, cutoff_bytes: u64::MAX };
    let capture = Capture::files(hostile());
    producer::run(capture, &queues, None, Some(records), 1).unwrap();
    exports.finish(&Facts::default(), true).unwrap();
    let counts = offer.counts();
    assert_eq!(counts.shed_records, counts.overload_records);
    let account = |state: tidewire_outputs::OutputState| {
        let account = state.account;
        assert_eq!((account.accepted, account.lost), (account.written + account.shed, account.shed), "{account:?}");
        [account.written, account.shed]
    };
    let outputs = exports.states().into_iter().map(account).collect();
    assert!(queues.finish());
    Counts { queue: [counts.records, counts.shed_records], outputs }
}

#[test]
fn queues_give_way_before_outputs_by_exact_counts() {
    let calm = run(0);
    let [published, flows] = [calm.queue[0], calm.outputs[0][0]];
    assert_eq!(calm, Counts { queue: [published, 0], outputs: vec![[flows, 0]; 2] });
    assert!(published > 100 && flows > 20, "{calm:?}");
    // At the mark of the queue's streams nothing is shed yet.
    assert_eq!(run(750), calm);
    // Payload is shed, and gaps say so; opens, closes and gaps stay. Outputs have everything.
    let queue = run(751);
    let [left, shed] = queue.queue;
    assert!(shed > 20 && left < published && left + shed >= published, "{queue:?}");
    assert_eq!(queue.outputs, calm.outputs);
    // Then the lower output, whose first record opens its file, and then the other one.
    let lower = run(813);
    assert_eq!(lower, Counts { queue: [left, shed], outputs: vec![[1, flows - 1], [flows, 0]] });
    assert_eq!(run(1000), Counts { queue: [left, shed], outputs: vec![[1, flows - 1]; 2] });
}
