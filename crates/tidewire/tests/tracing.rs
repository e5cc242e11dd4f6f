//! Events of `tracing` at control points, as a subscriber gets them.
#![forbid(unsafe_code)]

use std::{
    fmt::{Debug, Write},
    sync::{Arc, Mutex},
};

use tidewire::{Capture, Handler};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

/// Keeps events as lines: level, message, fields.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

struct Fields(String, String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => self.0 = format!("{value:?}"),
            name => write!(self.1, " {name}={value:?}").unwrap(),
        }
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "tidewire"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(String::new(), String::new());
        event.record(&mut fields);
        let Fields(message, fields) = fields;
        self.0.lock().unwrap().push(format!("{} {message}:{fields}", event.metadata().level()));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Quiet;

impl Handler for Quiet {
    type Data = ();
}

const HELLO: &[u8] = include_bytes!("corpus/hello/hello.pcap");

fn lines_of(run: impl FnOnce()) -> Vec<String> {
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), run);
    lines.all()
}

#[test]
fn a_run_and_its_worker_begin_and_end() {
    let lines = lines_of(|| drop(Capture::reader(HELLO).run_with(Quiet).unwrap()));
    let shown: Vec<_> = lines.iter().map(|line| line.split(" elapsed_ns").next().unwrap()).collect();
    let expected = [
        "INFO capture opened: input=\"reader\" workers=1",
        "INFO worker started: worker=0 cpu=-1",
        "INFO worker ended: worker=0 received=8",
        "INFO capture ended: received=8 delivered_bytes=13",
    ];
    assert_eq!(shown, expected);
    assert!(lines[3].ends_with(" interrupted=false"), "{}", lines[3]);
}

#[test]
fn damage_and_bounds_are_warnings() {
    let cut = &HELLO[..HELLO.len() - 7];
    let lines = lines_of(|| drop(Capture::reader(cut).run_with(Quiet).unwrap()));
    assert!(lines.iter().any(|line| line.starts_with("WARN input ended early: error=")), "{lines:#?}");
    // One flow at a time: the second conversation evicts the first one.
    let mut two = HELLO.to_vec();
    let mut at = 24;
    while at < HELLO.len() {
        let length = u32::from_le_bytes(HELLO[at + 8..at + 12].try_into().unwrap()) as usize;
        let mut record = HELLO[at..at + 16 + length].to_vec();
        for port in [16 + 14 + 20, 16 + 14 + 22] {
            if record[port..port + 2] == 40_000_u16.to_be_bytes() {
                record[port..port + 2].copy_from_slice(&40_001_u16.to_be_bytes());
            }
        }
        two.extend_from_slice(&record);
        at += 16 + length;
    }
    let run = || {
        let capture = Capture::reader(std::io::Cursor::new(two)).checksum(tidewire::ChecksumMode::Ignore);
        let capture = capture.configure(|config| {
            config.set_flows_max(Some(1));
        });
        drop(capture.run_with(Quiet).unwrap());
    };
    let lines = lines_of(run);
    let evicted: Vec<_> = lines.iter().filter(|line| line.contains("bound reached")).collect();
    assert_eq!(evicted, ["WARN bound reached: worker=0 bound=\"flows\""], "{lines:#?}");
}

/// Workers have threads of their own, which this subscriber does not reach; the caller's events are of the run.
#[test]
fn the_reader_of_several_workers_reports_the_run() {
    let lines = lines_of(|| drop(Capture::reader(HELLO).workers(2).run(|_worker| Quiet).unwrap()));
    assert!(lines[0].starts_with("INFO capture opened: input=\"reader\" workers=2"), "{lines:#?}");
    assert!(lines.last().unwrap().starts_with("INFO capture ended: received=8"), "{lines:#?}");
}

#[cfg(feature = "live")]
mod live {
    use std::{
        process::Command,
        thread,
        time::{Duration, Instant},
    };

    use tidewire::{Stop, live::LiveSettings};
    use tidewire_live::sys::net::own_namespace;
    use tidewire_testing::InTime as _;

    use super::*;

    fn ip(arguments: &str) {
        let status = Command::new("ip").args(arguments.split(' ')).status_in_time().expect("ip");
        assert!(status.success(), "ip {arguments}");
    }

    #[test]
    fn interfaces_go_and_come() {
        let test = || {
            if tidewire_testing::privileged(own_namespace).is_err() {
                println!("skipped: network namespaces need root");
                return;
            }
            ip("link add tw0 type veth peer name tw1");
            ip("link set tw0 up");
            ip("link set tw1 up");
            let (lines, stop, begun) = (Lines::default(), Stop::new(), Instant::now());
            let (seen, stopped, mut step) = (lines.clone(), stop.clone(), 0);
            let has = move |text: &str| seen.all().iter().any(|line| line.contains(text));
            let run = || {
                // Reports come a few times a second.
                let capture = Capture::live(LiveSettings::new(["tw0"])).stop_when(&stop).on_report(move |_| {
                    match step {
                        0 => ip("link set tw0 down"),
                        1 if has("tw0 is down") => ip("link set tw0 up"),
                        2 if has("tw0 is up") => stopped.stop(),
                        _ if begun.elapsed() > tidewire_testing::PATIENCE => stopped.stop(),
                        _ => return,
                    }
                    step += 1;
                });
                drop(capture.run_with(Quiet).unwrap());
            };
            tracing::subscriber::with_default(lines.clone(), run);
            let lines = lines.all();
            let changes: Vec<_> = lines.iter().filter(|line| line.starts_with("INFO interface changed")).collect();
            assert!(changes.len() >= 2 && changes.iter().all(|line| line.contains("interface=\"tw0\"")), "{lines:#?}");
            assert!(lines[0].starts_with("INFO capture opened: input=\"interfaces\" workers=1"), "{lines:#?}");
            assert!(lines.iter().any(|line| line.starts_with("INFO worker started: worker=0")), "{lines:#?}");
            let _ = Duration::ZERO;
        };
        thread::spawn(test).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
}
