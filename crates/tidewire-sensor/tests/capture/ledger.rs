//! One ledger: packets are counted once, and each branch accounts for what it got.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tidewire_analyzers::{Emit, Settings};
use tidewire_events::{Event, Severity};
use tidewire_recorder::RecordingOptions;
use tidewire_sensor::{
    config::{OutputConfig, RecordConfig, RecordsConfig, Unit},
    report::{CaptureStatus, reasons},
};

use crate::rig::{Rig, hostile, queue};

/// Refuses each second event.
#[derive(Default)]
struct Half(AtomicU64);

impl Emit for Half {
    fn try_emit(&self, _: &Event) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed).is_multiple_of(2)
    }
}

fn output(name: &str, to: String) -> OutputConfig {
    OutputConfig {
        name: name.into(),
        to,
        types: Vec::new(),
        rotate: None,
        buffer_bytes: None,
        priority: None,
        keep: None,
        enterprise: None,
        udp_rate: None,
    }
}

/// A capture with all branches, one output of which cannot be written.
fn run(workers: usize, filter: Option<&str>, folder: &Path) -> CaptureStatus {
    let (mut streams, mut packets) = (queue("streams"), queue("packets"));
    packets.unit = Unit::Packets;
    (streams.wait_for, packets.wait_for) = (1, 1);
    let mut rig = Rig::new(&hostile(), vec![streams, packets]).workers(workers);
    let mut settings = Settings::default();
    settings.anomaly.severity = Severity::Info;
    rig.config.inline = Some(settings);
    rig.config.capture.filter = filter.map(str::to_owned);
    let at = |name: &str| folder.join(name).display().to_string();
    rig.config.records = Some(RecordsConfig {
        cutoff_bytes: None,
        active_timeout: Duration::from_secs(60),
        buffer_bytes: None,
        outputs: vec![
            output("eve", format!("eve:{}", at("eve.json"))),
            output("zeek", format!("zeek:{}", at("zeek"))),
            output("ipfix", format!("ipfix:{}", at("flows.ipfix"))),
            output("json", format!("json:{}", at("flows.json"))),
            output("full", "json:/dev/full".into()),
        ],
    });
    let options = RecordingOptions {
        directories: vec![folder.join("archive")],
        matched: filter.map(str::to_owned),
        filter: filter.map(|_| "not port 80".into()),
        cutoff_bytes: [100; 2],
        ..RecordingOptions::default()
    };
    rig.config.record = Some(RecordConfig { options, trigger_events: Vec::new() });
    let mut running = rig.start_emitting(Arc::new(Half::default()));
    running.ready();
    let readers = ["streams", "packets"].map(|queue| rig.analyzer(queue, None));
    readers.into_iter().for_each(|reader| drop(reader.join().unwrap()));
    running.finish_with(3).0
}

#[test]
fn the_branches_add_up_to_the_trunk() {
    for (workers, filter) in [(1, None), (3, Some("not udp"))] {
        let folder = tempfile::tempdir().unwrap();
        let status = run(workers, filter, folder.path());
        let ledger = &status.ledger;
        assert!(ledger.closes(), "{ledger:#?}");
        assert_eq!(ledger.received, status.packets);
        let branch = |name: &str| ledger.branches.iter().find(|branch| branch.name == name).unwrap();
        let names: Vec<&str> = ledger.branches.iter().map(|branch| branch.name.as_str()).collect();
        let outputs = ["output.eve", "output.zeek", "output.ipfix", "output.json", "output.full"];
        let inline = ["inline.anomaly", "inline.match", "inline.scan"];
        assert_eq!(names, [&["queue.streams", "queue.packets"], &outputs[..], &["record"], &inline].concat());
        // A recording gets each packet that the capture's filter lets through.
        let record = branch("record");
        let filtered = ledger.drops.get(reasons::FILTERED).copied().unwrap_or(0);
        assert_eq!(filtered > 0, filter.is_some());
        assert_eq!((record.offered, record.waiting), (ledger.received - filtered, 0), "{ledger:#?}");
        assert!(record.lost[reasons::CUT_OFF] > 0 && record.delivered > 0, "{record:?}");
        assert_eq!(record.lost.contains_key(reasons::FILTERED), filter.is_some(), "{record:?}");
        assert!(branch("queue.packets").delivered <= ledger.received && branch("queue.packets").lost.is_empty());
        // Every stream that ended is in each output, as a line or as a loss.
        let flows = status.records.as_ref().unwrap().flows;
        assert_eq!((branch("output.json").offered, branch("output.json").delivered), (flows, flows));
        assert_eq!(branch("output.full").lost.get(reasons::FAILED), Some(&flows), "{ledger:#?}");
        assert!(branch("output.ipfix").delivered >= flows && branch("output.ipfix").lost.is_empty());
        for name in ["output.eve", "output.zeek", "output.ipfix", "output.json"] {
            assert_eq!(branch(name).waiting, 0, "{ledger:#?}");
        }
        let lines = std::fs::read_to_string(folder.path().join("eve.json")).unwrap().lines().count() as u64;
        assert_eq!(branch("output.eve").delivered, lines);
        let anomaly = branch("inline.anomaly");
        assert!(anomaly.lost[reasons::REFUSED] > 0 && anomaly.delivered > 0, "{anomaly:?}");
    }
}
