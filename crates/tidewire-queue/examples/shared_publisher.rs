//! What it costs that the workers of a capture share a queue: a publisher behind a mutex, as `tidewire-sensor` has it, against one
//! publisher for each worker.
//!
//! Each thread works for a given time and then publishes a chunk. Without `MICROSECONDS` the rows of the documentation are measured.
//!
//! ```text
//! cargo run --release -p tidewire-queue --example shared_publisher [MICROSECONDS]
//! ```

use std::{
    sync::{Barrier, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};
use tidewire_queue::{Geometry, Owners, Publisher, Record, records::Direction};

/// Payload of a segment in a full frame.
const CHUNK_BYTES: usize = 1448;
/// Chunks that each run publishes, by all threads.
const CHUNKS: u64 = 400_000;
/// Rounds of each measurement; the least of each figure counts, because others use the machine too.
const ROUNDS: usize = 7;

/// The figures of one run, of each chunk: nanoseconds of all threads' CPU time, the work included, and of wall time.
#[derive(Clone, Copy)]
struct Figures {
    cpu_ns: f64,
    wall_ns: f64,
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Turns that take about so long, for the work between two chunks.
fn turns_of(work: Duration) -> u64 {
    let (turns, before) = (20_000_000, Instant::now());
    spin(turns);
    (turns as f64 * work.as_secs_f64() / before.elapsed().as_secs_f64()) as u64
}

fn spin(turns: u64) {
    for turn in 0..turns {
        std::hint::black_box(turn);
    }
}

/// Publishes from so many threads, through as many publishers.
fn run(threads: usize, publishers: usize, turns: u64) -> Figures {
    let publisher = |at| Mutex::new(Publisher::new(Geometry::new(1 << 14, 16 << 20), 7 + at as u64).expect("a queue"));
    let publishers: Vec<_> = (0..publishers).map(publisher).collect();
    let (barrier, chunks) = (Barrier::new(threads + 1), CHUNKS / threads as u64);
    let worker = |at: usize| {
        let (mut owners, payload) = (Owners::default(), vec![at as u8; CHUNK_BYTES]);
        let publisher = &publishers[at % publishers.len()];
        barrier.wait();
        let before = cpu_time();
        for chunk in 0..chunks {
            spin(turns);
            let record = Record::data(at as u64, Direction::ClientToServer, chunk, 0, chunk);
            let mut publisher = publisher.lock().unwrap_or_else(PoisonError::into_inner);
            publisher.publish_stream(&mut owners, 0, &record, &payload).expect("a record that fits");
        }
        cpu_time() - before
    };
    let (wall, cpu) = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|at| scope.spawn(move || worker(at))).collect();
        barrier.wait();
        let before = Instant::now();
        let cpu: Duration = threads.into_iter().map(|thread| thread.join().expect("a worker")).sum();
        (before.elapsed(), cpu)
    });
    let each = |time: Duration| time.as_secs_f64() * 1e9 / (chunks * threads as u64) as f64;
    Figures { cpu_ns: each(cpu), wall_ns: each(wall) }
}

fn main() {
    let given = std::env::args().nth(1).map(|text| text.parse::<f64>().expect("microseconds"));
    println!("work µs  workers  queues  CPU ns  wall ns  (of each chunk)");
    for work in given.map_or(vec![0.0, 0.5, 1.0, 2.0, 5.0], |given| vec![given]) {
        let turns = turns_of(Duration::from_secs_f64(work / 1e6));
        for threads in [1, 2, 4] {
            for publishers in [1, threads] {
                let rounds: Vec<Figures> = (0..ROUNDS).map(|_| run(threads, publishers, turns)).collect();
                let least = |of: fn(&Figures) -> f64| rounds.iter().map(of).fold(f64::MAX, f64::min);
                let (cpu_ns, wall_ns) = (least(|one| one.cpu_ns), least(|one| one.wall_ns));
                println!("{work:>7}  {threads:>7}  {publishers:>6}  {cpu_ns:>6.0}  {wall_ns:>7.0}");
                if threads == 1 {
                    break;
                }
            }
        }
    }
}
