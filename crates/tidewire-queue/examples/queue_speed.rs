//! How fast one thread publishes and others read:
//! `cargo run --release -p tidewire-queue --example queue_speed -- [bytes=1460] [records=5000000] [readers=1] [slots=65536] [payload=67108864]
//! [hold] [in-place]
//! [restless=0]`.
//!
//! `hold`: the publisher waits for readers, nothing is lost. `in-place`: readers sum the payload's words instead of copying it.
//! `restless`: so many threads attach and detach without end.
//! Times are those of the threads' own processor time.

use std::{
    env,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};
use tidewire_queue::{
    Attach, Error, Geometry, Hold, Next, Owners, Progress, Publisher, QueueSettings, Reader, Record, Server,
    records::{Direction, RecordType},
};

fn argument(name: &str, default: usize) -> usize {
    let value = |text: String| text.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
    env::args().find_map(value).unwrap_or(default)
}

fn has(name: &str) -> bool {
    env::args().any(|text| text == name)
}

/// This thread's processor time.
fn busy() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (bytes, records) = (argument("bytes", 1460), argument("records", 5_000_000));
    let (slots, room) = (argument("slots", 1 << 16), argument("payload", 64 << 20));
    let mut publisher = Publisher::new(Geometry::new(slots as u64, room as u64), 1)?;
    let path: PathBuf = env::temp_dir().join(format!("tidewire-queue-speed-{}", std::process::id()));
    let mut server = Server::bind(&path)?;
    let hold = has("hold").then_some(Hold::Unlimited);
    server.offer("main", publisher.offer(), QueueSettings::default().hold(hold))?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let serving = thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            server.turn(Duration::from_millis(10)).expect("a server");
        }
    });
    let attach = |_| Reader::attach(&path, &Attach::new("main", "reader"));
    let readers: Vec<Reader> = (0..argument("readers", 1)).map(attach).collect::<Result<_, _>>()?;
    let threads: Vec<_> = readers.into_iter().map(|reader| thread::spawn(move || read(reader))).collect();
    for _ in 0..argument("restless", 0) {
        let path = path.clone();
        thread::spawn(move || {
            while path.exists() {
                drop(Reader::attach(&path, &Attach::new("main", "restless").in_group("restless")));
            }
        });
    }
    let (begun, busy_before) = (Instant::now(), busy());
    publish(&mut publisher, records, &vec![7; bytes])?;
    let (took, used) = (begun.elapsed(), busy() - busy_before);
    publisher.finish();
    let rate = records as f64 / took.as_secs_f64();
    println!(
        "published: {:.2} M records/s, {:.2} GB/s; {:.0} ns of processor time a record",
        rate / 1e6,
        rate * bytes as f64 / 1e9,
        used.as_nanos() as f64 / records as f64
    );
    for thread in threads {
        let (progress, used) = thread.join().expect("a reader")?;
        let Progress { read, missed, lost, .. } = progress;
        println!(
            "read {read}, missed {missed}, lost {lost}; {:.0} ns of processor time a record read",
            used.as_nanos() as f64 / read.max(1) as f64
        );
    }
    stop.store(true, Ordering::Relaxed);
    serving.join().expect("the server");
    Ok(())
}

fn publish(publisher: &mut Publisher, records: usize, payload: &[u8]) -> Result<(), Error> {
    let mut owners = Owners::default();
    let mut record = Record::new(RecordType::Data, 1, 0);
    publisher.needs_open(&mut owners);
    for _ in 0..records {
        publisher.needs_open(&mut owners);
        publisher.publish_stream(&mut owners, 0, &record.with_direction(Direction::ClientToServer), payload)?;
        record.offset += payload.len() as u64;
    }
    Ok(())
}

/// Reads to the end. Looks again for a while before it sleeps.
fn read(mut reader: Reader) -> Result<(Progress, Duration), Error> {
    let (mut out, mut sum, mut empty) = (Vec::new(), 0_u64, 0);
    let is_in_place = has("in-place");
    loop {
        let next = if is_in_place {
            reader.next_in_place()?
        } else {
            out.clear();
            reader.next(&mut out)?
        };
        match next {
            Next::Record(record) if is_in_place => {
                sum = reader.words(&record).iter().fold(sum, |sum, word| sum ^ word.load(Ordering::Relaxed));
                reader.confirm();
            }
            Next::Empty => {
                empty += 1;
                if empty > 2000 {
                    reader.wait(Duration::from_millis(20))?;
                }
                continue;
            }
            Next::Ended(_) => return Ok((reader.progress(), busy())),
            _ => {}
        }
        empty = 0;
        std::hint::black_box((&out, sum));
    }
}
