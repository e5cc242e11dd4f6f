//! `make crash` over a whole sensor: its capture and its analyzers are killed at random moments under traffic, and what survives
//! is checked.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use tidewire_lab::random::Random;
use tidewire_queue::{Attach, Next, Progress, Reader};
use tidewire_sensor::{
    QUEUES_SOCKET,
    supervisor::{STATUS_SOCKET, status},
};

use super::capturing::QUEUE;
use crate::live::{
    Load, TrafficKind,
    measurement::offer,
    testbed::{Receiving, Testbed},
};

/// The part to run.
#[derive(Clone, Debug)]
pub struct Crash {
    /// The `tidewire` command and `queue-loop`.
    pub programs: [PathBuf; 2],
    /// How long.
    pub seconds: u64,
    /// Repeats the choices.
    pub seed: u64,
}

/// Counts of the run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counts {
    capture_kills: u64,
    supervised_kills: u64,
    attached_kills: u64,
    /// Records that the survivors read, and that they missed or lost.
    read: u64,
    lost: u64,
    /// How often survivors went to the queue of another capture.
    successors: u64,
    /// The longest time without a record, a restart of the capture included.
    silence_ms_max: u64,
}

/// Analyzers that the supervisor starts, analyzers started by hand that are killed, and those that are not.
const SUPERVISED: usize = 4;
const ATTACHED: usize = 6;
const SURVIVORS: usize = 2;
/// Kills of the capture: its back-off doubles with each.
const CAPTURE_KILLS: u64 = 5;
/// How long survivors may be without a record.
const SILENCE: Duration = Duration::from_secs(20);
/// Descriptors that a process of the sensor may have at most.
const DESCRIPTORS_MAX: usize = 200;
const PATIENCE: Duration = Duration::from_secs(30);

/// A child that is killed when dropped.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Crash {
    /// Runs a sensor in namespaces of its own and kills its processes.
    ///
    /// # Errors
    /// A violation, in words; or the environment does not allow it.
    pub fn run(&self) -> Result<Counts, String> {
        let folder = Folder(std::env::temp_dir().join(format!("tidewire-sensor-crash-{}", std::process::id())));
        fs::create_dir_all(&folder.0).map_err(|error| error.to_string())?;
        Testbed::inside(Receiving::Sender, |testbed| {
            let mut sensor = self.start(testbed, &folder.0)?;
            wait_until("the sensor runs", || status::ask(&folder.0).is_ok_and(|status| status.state == "running"))?;
            let ended = Arc::new(AtomicBool::new(false));
            let killer = {
                let (crash, folder, ended) = (self.clone(), folder.0.clone(), Arc::clone(&ended));
                let supervisor = sensor.0.id();
                thread::spawn(move || {
                    let result = crash.kill(&folder, supervisor);
                    ended.store(true, Ordering::Relaxed);
                    result
                })
            };
            while !ended.load(Ordering::Relaxed) {
                let load = Load {
                    kind: TrafficKind::Tcp { connections: 100, segments: 10 },
                    ..Load::udp(20, 512, 10_000.0, 0.3)
                };
                offer(testbed, &load)?;
            }
            let counts = killer.join().map_err(|_| "the thread that kills panicked")??;
            end(&mut sensor, &folder.0)?;
            Ok(counts)
        })
    }

    fn start(&self, testbed: &Testbed<'_>, folder: &Path) -> Result<Victim, String> {
        let [tidewire, queue_loop] = &self.programs;
        let text = format!(
            "[sensor]\ndirectory = {folder:?}\nstop = \"3s\"\n[capture]\ninterfaces = [\"{}\"]\n[queue.{QUEUE}]\nunit = \"streams\"\n\
             memory = \"4M\"\n[analyzer.supervised]\ncommand = [{queue_loop:?}, \"read\"]\nqueue = \"{QUEUE}\"\ngroup = \"all\"\n\
             instances = {SUPERVISED}\nrestart = \"always\"\n",
            testbed.receiver
        );
        let file = folder.join("sensor.toml");
        fs::write(&file, text).map_err(|error| error.to_string())?;
        let log = File::create(folder.join("log")).map_err(|error| error.to_string())?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let mut command = Command::new(tidewire);
        command.arg("sensor").arg(file).stdin(Stdio::null()).stdout(log).stderr(errors);
        Ok(Victim(testbed.spawn(command)?))
    }

    fn attach(&self, folder: &Path, number: u64) -> Result<Victim, String> {
        let mut command = Command::new(&self.programs[1]);
        command.args(["read", "--queue", QUEUE, "--name", &format!("attached-{number}"), "--socket"]);
        command.arg(folder.join(QUEUES_SOCKET)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(Victim).map_err(|error| error.to_string())
    }

    /// Kills until the time is over; an error is a violation.
    fn kill(&self, folder: &Path, supervisor: u32) -> Result<Counts, String> {
        let mut random = Random::new(self.seed);
        let mut counts = Counts::default();
        let survivors: Vec<Survivor> = (0..SURVIVORS).map(|number| Survivor::begin(folder, number)).collect();
        let mut victims: Vec<Victim> =
            (0..ATTACHED as u64).map(|number| self.attach(folder, number)).collect::<Result<_, _>>()?;
        let begun = Instant::now();
        let mut number = ATTACHED as u64;
        while begun.elapsed().as_secs() < self.seconds {
            thread::sleep(Duration::from_millis(1 + random.below(25)));
            if survivors.iter().any(|survivor| survivor.thread.is_finished()) {
                break;
            }
            // In the first part of the run, so that the last back-off ends before it.
            let may_kill_capture = counts.capture_kills < CAPTURE_KILLS && begun.elapsed().as_secs() < self.seconds / 2;
            match random.below(40) {
                0 if may_kill_capture => counts.capture_kills += kill_part(folder, "capture", &mut random),
                1..=4 => counts.supervised_kills += kill_part(folder, "supervised", &mut random),
                _ => {
                    let at = random.below(victims.len() as u64) as usize;
                    drop(victims.swap_remove(at));
                    counts.attached_kills += 1;
                    number += 1;
                    victims.push(self.attach(folder, number)?);
                }
            }
            bounded(supervisor)?;
        }
        drop(victims);
        let finished: Vec<Result<Seen, String>> = survivors.into_iter().map(Survivor::end).collect();
        for seen in finished {
            let seen = seen?;
            counts.read += seen.progress.read;
            counts.lost += seen.progress.missed + seen.progress.lost;
            counts.successors += seen.captures.saturating_sub(1);
            counts.silence_ms_max = counts.silence_ms_max.max(seen.silence_ms_max);
        }
        if counts.read == 0 {
            return Err("survivors read nothing".into());
        }
        Ok(counts)
    }
}

/// Kills a running process of this part; how many.
fn kill_part(folder: &Path, name: &str, random: &mut Random) -> u64 {
    let Ok(status) = status::ask(folder) else { return 0 };
    let running: Vec<u32> =
        status.parts.iter().filter(|part| part.name.starts_with(name)).filter_map(|part| part.process).collect();
    if running.is_empty() {
        return 0;
    }
    let process = running[random.below(running.len() as u64) as usize];
    let id = i32::try_from(process).ok().and_then(Pid::from_raw);
    u64::from(id.is_some_and(|id| kill_process(id, Signal::KILL).is_ok()))
}

/// Whether the supervisor lives and has no more descriptors than it should.
fn bounded(supervisor: u32) -> Result<(), String> {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{supervisor}/fd")) else {
        return Err("the supervisor has ended".into());
    };
    let count = descriptors.count();
    if count > DESCRIPTORS_MAX { Err(format!("the supervisor has {count} descriptors")) } else { Ok(()) }
}

/// Observations of a survivor.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    progress: Progress,
    captures: u64,
    silence_ms_max: u64,
}

/// A reader that is not killed: it goes from capture to capture, and accounts for every record.
struct Survivor {
    stop: Arc<AtomicBool>,
    records: Arc<AtomicU64>,
    thread: thread::JoinHandle<Result<Seen, String>>,
}

impl Survivor {
    fn begin(folder: &Path, number: usize) -> Self {
        let (stop, records) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, count, folder) = (Arc::clone(&stop), Arc::clone(&records), folder.to_owned());
        let thread = thread::spawn(move || survive(&folder, number, &stopped, &count));
        Self { stop, records, thread }
    }

    fn end(self) -> Result<Seen, String> {
        self.stop.store(true, Ordering::Relaxed);
        let records = self.records.load(Ordering::Relaxed);
        self.thread.join().map_err(|_| format!("a survivor panicked after {records} records"))?
    }
}

fn survive(folder: &Path, number: usize, stop: &AtomicBool, count: &AtomicU64) -> Result<Seen, String> {
    let socket = folder.join(QUEUES_SOCKET);
    let mut seen = Seen::default();
    let mut last = Instant::now();
    let mut payload = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let request = Attach::new(QUEUE, &format!("survivor-{number}"));
        let Ok(mut reader) = Reader::attach(&socket, &request) else {
            if last.elapsed() > SILENCE {
                return Err(format!("a survivor could not attach for {} s", SILENCE.as_secs()));
            }
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        seen.captures += 1;
        let mut next_sequence = reader.first();
        loop {
            payload.clear();
            let next =
                reader.next_timeout(&mut payload, Duration::from_millis(50)).map_err(|error| error.to_string())?;
            let (begins, records) = match next {
                Next::Record(record) | Next::Missed(record) => (record.sequence, 1),
                Next::Lost { first, records, .. } => (first, records),
                Next::Ended(_) => break,
                Next::Empty => {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    if last.elapsed() > SILENCE {
                        return Err(format!("a survivor read nothing for {} s", SILENCE.as_secs()));
                    }
                    continue;
                }
            };
            if begins != next_sequence {
                return Err(format!("a survivor was given record {begins} after {next_sequence}"));
            }
            next_sequence += records;
            seen.silence_ms_max = seen.silence_ms_max.max(last.elapsed().as_millis() as u64);
            last = Instant::now();
            count.fetch_add(records, Ordering::Relaxed);
        }
        let progress = reader.progress();
        let accounted = progress.read + progress.passed + progress.missed + progress.lost;
        if accounted != progress.sequence - reader.first() {
            return Err(format!(
                "of {} records, {accounted} are accounted for: {progress:?}",
                progress.sequence - reader.first()
            ));
        }
        seen.progress.read += progress.read;
        seen.progress.missed += progress.missed;
        seen.progress.lost += progress.lost;
    }
    Ok(seen)
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) -> Result<(), String> {
    let begun = Instant::now();
    while !holds() {
        if begun.elapsed() > PATIENCE {
            return Err(format!("not in {} s: {what}", PATIENCE.as_secs()));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Ends the sensor in order: nothing of it may be left.
fn end(sensor: &mut Victim, folder: &Path) -> Result<(), String> {
    let parts: Vec<u32> =
        status::ask(folder).map_err(|error| error.to_string())?.parts.iter().filter_map(|part| part.process).collect();
    kill_process(Pid::from_child(&sensor.0), Signal::TERM).map_err(|error| error.to_string())?;
    wait_until("the sensor ends after SIGTERM", || matches!(sensor.0.try_wait(), Ok(Some(_))))?;
    let status = sensor.0.wait().map_err(|error| error.to_string())?;
    if !status.success() {
        let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
        return Err(format!("the sensor ended with {status}: {}", log.lines().last().unwrap_or_default()));
    }
    let is_left = |name: &str| folder.join(name).exists();
    if let Some(name) = [QUEUES_SOCKET, STATUS_SOCKET].into_iter().find(|name| is_left(name)) {
        return Err(format!("{name} is left behind"));
    }
    match parts.into_iter().find(|process| Path::new(&format!("/proc/{process}")).exists()) {
        Some(process) => Err(format!("process {process} is left behind")),
        None => Ok(()),
    }
}
