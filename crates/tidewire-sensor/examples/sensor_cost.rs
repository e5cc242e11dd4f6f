//! What a stream queue costs the process that captures: CPU time over a capture file, beside a handler that only counts.
//!
//! `sensor_cost FILE count|queue|two|packets [READERS [WORKERS]]`: `two` are two queues, which are applications of one engine; readers
//! are threads here, so their time is not counted apart. Without readers nobody holds the producer up.
#![forbid(unsafe_code)]

use std::{env, path::PathBuf, process::ExitCode, thread, time::Duration};

use rustix::time::{ClockId, clock_gettime};
use tidewire::{Capture, Chunk, Handler, Stream};
use tidewire_queue::{Attach, Next, Reader, Server};
use tidewire_sensor::{
    config::{Distribution, QueueConfig, SlowReaders, Unit},
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

fn queue(name: &str, unit: Unit, slow: SlowReaders) -> QueueConfig {
    QueueConfig {
        name: name.into(),
        unit,
        count: 1,
        distribution: Distribution::FlowHash,
        filter: None,
        cutoff_bytes: None,
        chunk_bytes: 0,
        flush: Duration::ZERO,
        priority: 0,
        classes: Vec::new(),
        memory_bytes: env::var("QUEUE_BYTES").ok().and_then(|text| text.parse().ok()).unwrap_or(64 << 20),
        records: 1 << 16,
        slow,
        wait_for: 0,
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [file, what, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: sensor_cost FILE count|queue|two|packets [READERS [WORKERS]]");
        return ExitCode::from(2);
    };
    let number = |at: usize, default| rest.get(at).map_or(default, |text: &String| text.parse().expect("a number"));
    let (readers, workers) = (number(0, 0), number(1, 1));
    let slow = if readers == 0 { SlowReaders::Lose } else { SlowReaders::Hold(None) };
    let configs = match what.as_str() {
        "queue" => vec![queue("streams", Unit::Streams, slow)],
        "two" => vec![queue("streams", Unit::Streams, slow), queue("others", Unit::Streams, SlowReaders::Lose)],
        "packets" => vec![queue("streams", Unit::Packets, slow)],
        _ => Vec::new(),
    };
    let capture = || Capture::file(PathBuf::from(file));
    let begun = clock_gettime(ClockId::ProcessCPUTime);
    let text = if configs.is_empty() {
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
            });
            producer::run(capture(), &queues, workers).expect("a capture");
            assert!(queues.finish());
            let read: u64 = attached.into_iter().map(|reader| reader.join().expect("it reads")).sum();
            serving.join().expect("it serves");
            let counts = offers[0].offer.counts();
            format!("{} records, {} bytes, {read} read", counts.records, counts.bytes)
        })
    };
    let ended = clock_gettime(ClockId::ProcessCPUTime);
    let ns = (ended.tv_sec - begun.tv_sec) * 1_000_000_000 + (ended.tv_nsec - begun.tv_nsec);
    println!("{what}: {:.1} ms, {text}", ns as f64 / 1e6);
    ExitCode::SUCCESS
}

fn read(mut reader: Reader) -> u64 {
    let (mut payload, mut read) = (Vec::new(), 0);
    loop {
        payload.clear();
        match reader.next_timeout(&mut payload, Duration::from_secs(1)).expect("a sound queue") {
            Next::Record(_) => read += 1,
            Next::Ended(_) => return read,
            _ => {}
        }
    }
}

fn attached_to(server: &Server) -> usize {
    server.status().iter().map(|queue| queue.readers.len()).sum()
}
