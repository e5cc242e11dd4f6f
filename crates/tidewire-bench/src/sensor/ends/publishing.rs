//! The publishing end: as fast as possible, or at a rate; the cost of the publishing thread alone.

use std::{
    env, fs,
    hint::spin_loop,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use serde::{Deserialize, Serialize};
use tidewire_queue::{Geometry, Hold, Owners, Publisher, QueueSettings, Record, Server, records::Direction};

use super::{
    clock::{now_ns, pin, thread_cpu_ns},
    reading::Figures,
};

/// Publishes to readers.
#[derive(Args, Clone, Debug)]
pub struct Publishing {
    /// Payload bytes of a record
    pub bytes: usize,
    /// How long
    #[arg(long, default_value_t = 1.0)]
    pub seconds: f64,
    /// Records a second; 0: as fast as possible
    #[arg(long, default_value_t = 0.0)]
    pub rate: f64,
    /// At a rate: records published at once
    #[arg(long, default_value_t = 1)]
    pub burst: u64,
    /// Readers
    #[arg(long, default_value_t = 1)]
    pub readers: usize,
    /// Readers look for records all the time instead of sleeping until woken
    #[arg(long)]
    pub poll: bool,
    /// Readers add up the payload where it is, instead of copying it
    #[arg(long)]
    pub in_place: bool,
    /// Wait for readers before anything that they have not read is overwritten
    #[arg(long)]
    pub hold: bool,
    /// Records carry the time of their publication
    #[arg(long)]
    pub timed: bool,
    /// Slots of the index
    #[arg(long, default_value_t = 1 << 14)]
    pub slots: u64,
    /// Bytes of payload in shared memory
    #[arg(long, default_value_t = 16 << 20)]
    pub memory: u64,
}

/// Records published, observations of the readers, and the cost.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Published {
    /// Records published.
    pub published: u64,
    /// Bytes of each.
    pub bytes: u64,
    /// From the first record published until the last reader had read the last, seconds.
    pub seconds: f64,
    /// CPU time of the publishing thread for a record, nanoseconds: of bursts at a rate, without the waits between them; else 0.
    pub record_cpu_ns: f64,
    /// CPU time of the publishing thread, waits included, nanoseconds.
    pub thread_cpu_ns: u64,
    /// Observations of each reader.
    pub readers: Vec<Figures>,
}

/// The publisher's core; readers have the other one.
const CORES: [usize; 2] = [0, 1];
/// How often the serving thread looks whether it is to end.
const TURN: Duration = Duration::from_millis(10);
/// How long readers may take to attach.
const ATTACHING: Duration = Duration::from_secs(20);

/// The socket, removed at the end, whatever happens.
struct Socket(PathBuf);

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Publishing {
    /// Starts the readers, publishes, and returns the figures of all as JSON.
    ///
    /// # Errors
    /// The queue cannot be made, a reader does not attach or fails.
    pub fn run(&self) -> Result<String, String> {
        let socket = Socket(env::temp_dir().join(format!("tidewire-bench-{}.sock", std::process::id())));
        let geometry = Geometry::new(self.slots, self.memory);
        let mut publisher = Publisher::new(geometry, now_ns()).map_err(|error| error.to_string())?;
        let (attached, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let mut server = Server::bind(&socket.0).map_err(|error| error.to_string())?;
        let settings = QueueSettings::default().hold(self.hold.then_some(Hold::Unlimited));
        server.offer("load", publisher.offer(), settings).map_err(|error| error.to_string())?;
        let (count, end) = (Arc::clone(&attached), Arc::clone(&ended));
        let serving = thread::spawn(move || {
            // Where the readers are: it must not take time from the thread that is measured.
            let _ = pin(CORES[1]);
            while !end.load(Ordering::Relaxed) {
                let _ = server.turn(TURN);
                let readers = server.status().iter().map(|queue| queue.readers.len()).sum();
                count.store(readers, Ordering::Relaxed);
            }
        });
        let children = self.start_readers(&socket.0, &attached)?;
        pin(CORES[0])?;
        let begun_ns = now_ns();
        let (published, burst_cpu_ns, thread_cpu_ns) = self.publish(&mut publisher, begun_ns)?;
        publisher.finish();
        let readers: Result<Vec<Figures>, String> = children.into_iter().map(figures_of).collect();
        ended.store(true, Ordering::Relaxed);
        let _ = serving.join();
        let readers = readers?;
        let last_ns = readers.iter().map(|reader| reader.last_ns).max().unwrap_or(begun_ns);
        let figures = Published {
            published,
            bytes: self.bytes as u64,
            seconds: last_ns.saturating_sub(begun_ns) as f64 / 1e9,
            record_cpu_ns: burst_cpu_ns as f64 / published.max(1) as f64,
            thread_cpu_ns,
            readers,
        };
        serde_json::to_string(&figures).map_err(|error| error.to_string())
    }

    fn start_readers(&self, socket: &Path, attached: &AtomicUsize) -> Result<Vec<Child>, String> {
        let program = env::current_exe().map_err(|error| error.to_string())?;
        let start = |number: usize| {
            let mut command = Command::new(&program);
            command.args(["read", "--core", &CORES[1].to_string(), "--name", &format!("reader-{number}"), "--socket"]);
            command.arg(socket).stdout(Stdio::piped());
            let flags = [("--poll", self.poll), ("--in-place", self.in_place), ("--timed", self.timed)];
            command.args(flags.iter().filter(|flag| flag.1).map(|flag| flag.0));
            command.spawn().map_err(|error| error.to_string())
        };
        let children: Vec<Child> = (0..self.readers).map(start).collect::<Result<_, _>>()?;
        let begun = Instant::now();
        while attached.load(Ordering::Relaxed) < self.readers {
            if begun.elapsed() > ATTACHING {
                return Err(format!("{} of {} readers attached", attached.load(Ordering::Relaxed), self.readers));
            }
            thread::sleep(Duration::from_millis(5));
        }
        // They allocate before they read.
        thread::sleep(Duration::from_millis(50));
        Ok(children)
    }

    /// Publishes bursts; returns the number of records, the CPU time of bursts and that of the thread.
    fn publish(&self, publisher: &mut Publisher, begun_ns: u64) -> Result<(u64, u64, u64), String> {
        let payload = vec![7; self.bytes];
        let end_ns = begun_ns + (self.seconds * 1e9) as u64;
        // As fast as possible: the clock is read once for so many records.
        let burst = if self.rate > 0.0 { self.burst.max(1) } else { 64 };
        let is_measured = self.rate > 0.0 && burst > 1;
        let mut owners = Owners::default();
        let clock_ns = cost_of_clock();
        let (cpu_begun_ns, mut burst_cpu_ns, mut number) = (thread_cpu_ns(), 0, 0);
        loop {
            let mut time_ns = now_ns();
            if self.rate > 0.0 {
                let at_ns = begun_ns + (number as f64 * 1e9 / self.rate) as u64;
                while time_ns < at_ns {
                    spin_loop();
                    time_ns = now_ns();
                }
            }
            if time_ns >= end_ns {
                break;
            }
            // Reading the CPU clock is a system call: only where bursts are measured.
            let before_ns = if is_measured { thread_cpu_ns() } else { 0 };
            for _ in 0..burst {
                // As a capture does for each record of a stream.
                let _ = publisher.needs_open(&mut owners);
                let record = Record::data(1, Direction::ClientToServer, number * self.bytes as u64, 0, time_ns);
                publisher.publish_stream(&mut owners, 7, &record, &payload).map_err(|error| error.to_string())?;
                number += 1;
            }
            if is_measured {
                burst_cpu_ns += (thread_cpu_ns() - before_ns).saturating_sub(clock_ns);
            }
        }
        Ok((number, burst_cpu_ns, thread_cpu_ns() - cpu_begun_ns))
    }
}

/// Overhead of reading the thread's CPU clock twice, nanoseconds.
fn cost_of_clock() -> u64 {
    const TIMES: u64 = 1000;
    let begun_ns = thread_cpu_ns();
    for _ in 0..TIMES {
        std::hint::black_box(thread_cpu_ns());
    }
    (thread_cpu_ns() - begun_ns) / TIMES
}

fn figures_of(child: Child) -> Result<Figures, String> {
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("a reader failed: {}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("a reader's figures: {error}"))
}
