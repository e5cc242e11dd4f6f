//! What a stream queue costs the process that captures: CPU time over a capture file, beside a handler that only counts.
//!
//! `sensor_cost FILE count|none|queue|lossy|two|packets [READERS [WORKERS]]`: `two` are two queues, which are applications of one engine; readers
//! are threads here, which have CPU time of their own. `start` is the CPU time until the first packet (all memory of a queue is there
//! from the start), `packets` that of the threads that capture, from the first packet on. `INLINE=anomaly,match,scan` names analyzers that run beside the queues; `queues` without one is
//! `none`.
#![forbid(unsafe_code)]

use std::{
    env,
    path::PathBuf,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};
use tidewire::{Capture, Chunk, Handler, Stream};
use tidewire_analyzers::{Analyzers, Emit, Settings};
use tidewire_events::Event;
use tidewire_queue::{Attach, Next, Reader, Server};
use tidewire_sensor::{
    config::{Machine, Overrides, QueueConfig, examine},
    producer::{self, Queues},
};

#[derive(Default)]
struct Count(u64);

impl Handler for Count {
    type Data = ();

    fn data(&mut self, _: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        self.0 += chunk.bytes.len() as u64;
    }
}

/// Queues of the default configuration over a file. `QUEUE_BYTES` is their memory (`64M`: the default of interfaces).
fn queues(names: &[&str], unit: &str, file: &str, is_lossy: bool) -> Vec<QueueConfig> {
    let memory = env::var("QUEUE_BYTES").map(|bytes| format!("memory = \"{bytes}\"\n")).unwrap_or_default();
    let slow = if is_lossy { "slow = \"lose\"\n" } else { "" };
    let table = |name: &&str| format!("[queue.{name}]\nunit = \"{unit}\"\n{memory}{slow}");
    let text: String = names.iter().map(table).collect();
    let given = Overrides { files: vec![file.into()], ..Overrides::default() };
    let examined = examine(&text, "sensor_cost", &given, &Machine);
    examined.config.unwrap_or_else(|| panic!("{:?}", examined.mistakes)).queues
}

/// Counts events.
#[derive(Default)]
struct Counted(AtomicU64);

impl Emit for Counted {
    fn try_emit(&self, _: &Event) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed);
        true
    }
}

/// The analyzers that `INLINE` names.
fn inline(counted: &Arc<Counted>) -> Analyzers {
    let named = env::var("INLINE").unwrap_or_default();
    let mut settings = Settings::default();
    settings.anomaly.enabled = named.contains("anomaly");
    settings.matching.enabled = named.contains("match");
    settings.scan.enabled = named.contains("scan");
    if let Ok(bytes) = env::var("CUTOFF") {
        settings.matching.cutoff_bytes = bytes.parse().expect("bytes");
    }
    Analyzers::new(&settings, Arc::clone(counted) as Arc<dyn Emit>).expect("no files")
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [file, what, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: sensor_cost FILE count|none|queue|lossy|two|packets [READERS [WORKERS]]");
        return ExitCode::from(2);
    };
    let number = |at: usize, default| rest.get(at).map_or(default, |text: &String| text.parse().expect("a number"));
    let (readers, workers) = (number(0, 0), number(1, 1));
    let configs = match what.as_str() {
        "queue" => queues(&["streams"], "streams", file, false),
        "two" => queues(&["streams", "others"], "streams", file, false),
        "packets" => queues(&["streams"], "packets", file, false),
        "lossy" => queues(&["streams"], "streams", file, true),
        _ => Vec::new(),
    };
    let capture = || Capture::file(PathBuf::from(file));
    let begun = spent(ClockId::ProcessCPUTime);
    let mut served = (0.0, 0.0);
    let counted = Arc::new(Counted::default());
    let text = if what == "count" {
        let outcome = capture().workers(workers).run(|_| Count::default()).expect("a capture");
        format!("{} bytes", outcome.handlers.iter().map(|count| count.0).sum::<u64>())
    } else {
        let queues = Queues::new(&configs).expect("memory");
        let place = env::temp_dir().join(format!("sensor_cost.{}", std::process::id()));
        let mut server = Server::bind(&place).expect("a socket");
        queues.offer(&mut server).expect("names");
        thread::scope(|scope| {
            let attach = |_| {
                let place = &place;
                scope.spawn(move || read(Reader::attach(place, &Attach::new("streams", "cost")).expect("attached")))
            };
            let attached: Vec<_> = (0..readers).map(attach).collect();
            while attached_to(&server) < readers {
                server.turn(Duration::from_millis(10)).expect("served");
            }
            let offers = queues.offered().to_vec();
            let serving = scope.spawn(move || {
                while readers != 0 && attached_to(&server) != 0 {
                    server.turn(Duration::from_millis(10)).expect("served");
                }
                spent(ClockId::ThreadCPUTime)
            });
            served.0 = spent(ClockId::ProcessCPUTime) - begun;
            let analyzers = inline(&counted);
            producer::run(capture(), &queues, Some(&analyzers), None, workers).expect("a capture");
            analyzers.finish();
            assert!(queues.finish());
            let read = attached.into_iter().map(|reader| reader.join().expect("it reads"));
            let (read, others) = read.fold((0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
            served.1 = others + serving.join().expect("it serves");
            let counts = offers.first().map(|queue| queue.offer.counts());
            let [records, bytes] = counts.map_or([0; 2], |counts| [counts.records, counts.bytes]);
            let events = counted.0.load(Ordering::Relaxed);
            format!("{records} records, {bytes} bytes, {read} read, {events} events")
        })
    };
    let (start, others) = served;
    let all = spent(ClockId::ProcessCPUTime) - begun;
    println!(
        "{what}: start {start:.1} ms, packets {:.1} ms, readers and service {others:.1} ms, {text}",
        all - start - others
    );
    ExitCode::SUCCESS
}

/// CPU time in milliseconds.
fn spent(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Reads to the end. How many records, and the thread's CPU time.
fn read(mut reader: Reader) -> (u64, f64) {
    let (mut payload, mut read) = (Vec::new(), 0);
    loop {
        payload.clear();
        match reader.next_timeout(&mut payload, Duration::from_secs(1)).expect("a sound queue") {
            Next::Record(_) => read += 1,
            Next::Ended(_) => return (read, spent(ClockId::ThreadCPUTime)),
            _ => {}
        }
    }
}

fn attached_to(server: &Server) -> usize {
    server.status().iter().map(|queue| queue.readers.len()).sum()
}
