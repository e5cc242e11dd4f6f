//! The one who kills.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tidewire_queue::{Attach, Progress};
use tidewire_testing::{Ends as _, Signal, signal};

use super::roles::{Check, PLACES, ROLE, VICTIMS, attach};

/// What to do.
pub struct Plan<'a> {
    /// The program that plays the role that its environment says.
    pub command: &'a dyn Fn() -> Command,
    pub time: Duration,
    pub kills: u64,
    pub seed: u64,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Counts {
    pub reader_kills: u64,
    pub publisher_kills: u64,
    pub records_read: u64,
    pub records_lost: u64,
    /// From the death of a reader until its place was given to another one, at most.
    pub place_free_ms_max: f64,
    /// How often that took more than 100 ms.
    pub place_free_late: u64,
}

impl Counts {
    #[allow(dead_code, reason = "the test does not print it")]
    pub fn json(&self) -> String {
        format!(
            "{{\"reader_kills\":{},\"publisher_kills\":{},\"records_read\":{},\"records_lost\":{},\"place_free_ms_max\":{:.1},\"place_free_late\":{}}}",
            self.reader_kills,
            self.publisher_kills,
            self.records_read,
            self.records_lost,
            self.place_free_ms_max,
            self.place_free_late
        )
    }
}

/// Numbers that look random (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A process with a role, killed when dropped.
struct Role(Child);

impl Role {
    fn begin(plan: &Plan<'_>, role: &str, path: &Path, number: u64) -> Self {
        let child = (plan.command)()
            .env(ROLE, format!("{role} {} {number}", path.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        Self(child.expect("a process"))
    }

    /// Ends it; an error if it had ended by itself.
    fn kill(mut self) -> Result<(), String> {
        if let Ok(Some(status)) = self.0.try_wait() {
            return Err(format!("a process ended by itself: {status}"));
        }
        signal(&self.0, Signal::KILL);
        self.0.wait_in_time("a killed process");
        Ok(())
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            signal(&self.0, Signal::KILL);
            self.0.wait_in_time("a killed process");
        }
    }
}

/// A reader that is not killed: it sees every record of every publisher, or knows what it lost.
struct Survivor {
    stop: Arc<AtomicBool>,
    publishers: Arc<AtomicU64>,
    thread: thread::JoinHandle<Result<Progress, String>>,
}

impl Survivor {
    fn begin(path: &Path) -> Self {
        let (stop, publishers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, met, path) = (Arc::clone(&stop), Arc::clone(&publishers), path.to_owned());
        let thread = thread::spawn(move || {
            let (mut sum, mut epoch) = (Progress::default(), 0);
            while !stopped.load(Ordering::Relaxed) {
                let mut reader = attach(&path, &Attach::new("main", "survivor"), epoch)?;
                epoch = reader.epoch();
                met.store(epoch, Ordering::Relaxed);
                let mut check = Check::new(&reader, true);
                while !stopped.load(Ordering::Relaxed) && !check.step(&mut reader, false)? {}
                let progress = reader.progress();
                sum.read += progress.read;
                sum.lost += progress.missed + progress.lost;
            }
            Ok(sum)
        });
        Self { stop, publishers, thread }
    }

    fn end(self) -> Result<Progress, String> {
        self.stop.store(true, Ordering::Relaxed);
        tidewire_testing::join_in_time("a survivor", self.thread)
    }
}

/// Waits until this holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) -> Result<(), String> {
    let begun = Instant::now();
    while !holds() {
        if begun.elapsed() > Duration::from_secs(30) {
            return Err(format!("not in 30 s: {what}"));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Kills, and says what was violated.
pub fn run(plan: &Plan<'_>) -> Result<Counts, String> {
    let folder = std::env::temp_dir().join(format!("tidewire-queue-crash-{}-{}", std::process::id(), plan.seed));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let folder = Folder(folder);
    let path = folder.0.join("socket");
    let mut numbers = Numbers(plan.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut counts, mut number) = (Counts::default(), 1);
    let mut publisher = Role::begin(plan, "publisher", &path, number);
    let survivors = [Survivor::begin(&path), Survivor::begin(&path)];
    let follow = |epoch: u64| {
        let is_met =
            |survivor: &Survivor| survivor.publishers.load(Ordering::Relaxed) == epoch || survivor.thread.is_finished();
        until("survivors read the new publisher's queue", || survivors.iter().all(is_met))
    };
    follow(number)?;
    let victim = |number: u64| Role::begin(plan, "reader", &path, number);
    let mut victims: Vec<Role> = (0..VICTIMS as u64).map(victim).collect();
    let begun = Instant::now();
    while begun.elapsed() < plan.time && counts.reader_kills + counts.publisher_kills < plan.kills {
        if survivors.iter().any(|survivor| survivor.thread.is_finished()) {
            break;
        }
        thread::sleep(Duration::from_micros(numbers.below(8_000)));
        number += 1;
        if numbers.below(25) == 0 {
            leaks(&publisher)?;
            publisher.kill()?;
            publisher = Role::begin(plan, "publisher", &path, number);
            counts.publisher_kills += 1;
            follow(number)?;
            continue;
        }
        let at = numbers.below(VICTIMS as u64) as usize;
        victims.swap_remove(at).kill()?;
        counts.reader_kills += 1;
        if numbers.below(4) == 0 {
            free_place(&path, &mut counts)?;
        }
        victims.push(victim(number));
    }
    leaks(&publisher)?;
    for survivor in survivors {
        let progress = survivor.end()?;
        counts.records_read += progress.read;
        counts.records_lost += progress.lost;
    }
    victims.into_iter().try_for_each(Role::kill)?;
    publisher.kill()?;
    Ok(counts)
}

/// How long it takes until the place of a reader that was killed is free. There is no other, unless one is just coming.
fn free_place(path: &Path, counts: &mut Counts) -> Result<(), String> {
    let begun = Instant::now();
    drop(attach(path, &Attach::new("main", "probe"), 0)?);
    let took_ms = begun.elapsed().as_secs_f64() * 1e3;
    counts.place_free_ms_max = counts.place_free_ms_max.max(took_ms);
    counts.place_free_late += u64::from(took_ms > 100.0);
    Ok(())
}

/// Whether a publisher has more descriptors, or pages of readers, than its readers account for.
fn leaks(publisher: &Role) -> Result<(), String> {
    let process = PathBuf::from(format!("/proc/{}", publisher.0.id()));
    let found = || {
        let entries = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
        let is_ours = |target: &PathBuf| {
            let target = target.to_string_lossy();
            target.starts_with("socket:") || target.contains("tidewire-")
        };
        let descriptors = targets.filter(is_ours).count();
        let maps = fs::read_to_string(process.join("maps")).unwrap_or_default();
        (descriptors, maps.matches("tidewire-reader").count())
    };
    // Some readers may have been killed just now.
    let is_right = || found().0 <= 4 + 2 * PLACES && found().1 <= PLACES;
    until("descriptors and pages of readers that have gone are given back", is_right)
        .map_err(|error| format!("{error}: {:?} descriptors and pages", found()))
}
