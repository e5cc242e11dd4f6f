//! Spooler and collector are killed at random moments: what was acknowledged is there, each event once and in order.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    net::Shutdown,
    os::{fd::AsFd as _, fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tidewire_delivery::{
    FolderSettings, Settings, SpoolReport, To,
    collector::{CollectSettings, Server},
    keys::Places,
};
use tidewire_testing::{Ends as _, Signal, filters::Numbers, signal, wait_until};

use crate::rig::{batch, count, destination, key_file, numbers, open, places, to_collector};

const ROLE: &str = "TIDEWIRE_TEST_ROLE";
const PLACE: &str = "TIDEWIRE_TEST_PLACE";
/// How many kills; or for how many seconds (`make crash`).
const KILLS: &str = "TIDEWIRE_TEST_KILLS";
const SECONDS: &str = "TIDEWIRE_TEST_SECONDS";
/// Of this test alone: other tests ask for any port of 127.0.0.1.
const ADDRESS: &str = "127.43.13.1:9610";

/// The parts that are killed.
#[test]
#[ignore = "a part of the test of kills, which runs it as a process"]
fn delivers_until_it_is_killed() {
    let (Ok(role), Some(place)) = (env::var(ROLE), env::var_os(PLACE)) else { return };
    if role == "collector" {
        let keys = Places { keys: Some(Path::new(&place).join("collector.pem")), ..Places::default() };
        let store = Path::new(&place).join("collected");
        let settings = CollectSettings::new(vec![ADDRESS.parse().unwrap()], store, keys);
        let _server = Server::start(settings, |line| eprintln!("{line}")).unwrap();
        loop {
            std::thread::park();
        }
    }
    let settings: Settings = serde_json::from_str(&role).unwrap();
    let report = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    std::process::exit(tidewire_delivery::main(settings, report, |_| Vec::new()).into());
}

fn command(role: &str, place: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "kills::delivers_until_it_is_killed", "--nocapture"]);
    command.env(ROLE, role).env(PLACE, place).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A process that does not outlive the test.
struct Part(Child, Option<UnixStream>);

impl Part {
    fn kill(&mut self) {
        signal(&self.0, Signal::KILL);
        self.0.wait_in_time("a killed process");
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn collector(place: &Path) -> Part {
    Part(command("collector", place).stdin(Stdio::null()).spawn().unwrap(), None)
}

/// A spooler, which says how far the collector is.
fn spooler(place: &Path, settings: &Settings, acknowledged: &Arc<AtomicU64>) -> Part {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let role = serde_json::to_string(settings).unwrap();
    let child = command(&role, place).stdin(Stdio::from(OwnedFd::from(theirs))).spawn().unwrap();
    let (acknowledged, supervisor) = (Arc::clone(acknowledged), ours.try_clone().unwrap());
    std::thread::spawn(move || {
        for line in BufReader::new(ours).lines().map_while(Result::ok) {
            if let Ok(SpoolReport::Status(status)) = serde_json::from_str(&line) {
                let delivered = status.destinations.iter().find(|one| one.name == "c").map_or(0, |one| one.delivered);
                acknowledged.fetch_max(delivered, Ordering::Relaxed);
            }
        }
    });
    Part(child, Some(supervisor))
}

fn settings(place: &Path) -> Settings {
    let mut to = to_collector("c", ADDRESS, key_file("edge-1"));
    let To::Collector(of) = &mut to.to else { unreachable!("a collector") };
    of.server_name = Some("localhost".into());
    to.retry_max = Duration::from_millis(50);
    // Files of every size, from a parcel to a tenth of a second.
    let every = Duration::from_millis(100);
    let files = FolderSettings { path: place.join("files"), every, bytes: 100_000, expand: true };
    let files = destination("files", To::Folder(files));
    let (stop, store) = (Duration::from_secs(5), place.join("events.db"));
    Settings { store, socket: None, stop, nice: 0, sandbox: false, destinations: vec![to, files] }
}

/// The numbers of all events in files, in the order of their names.
fn numbers_of_files(folder: &Path) -> Vec<u64> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<_> = names.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    names.sort();
    let number = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["number"].as_u64().unwrap();
    names.iter().flat_map(|path| fs::read_to_string(path).unwrap().lines().map(number).collect::<Vec<_>>()).collect()
}

#[test]
fn kills_of_spooler_and_collector_lose_nothing_and_double_nothing() {
    let kills: u64 = env::var(KILLS).map_or(30, |text| text.parse().unwrap());
    let seconds: Option<u64> = env::var(SECONDS).ok().map(|text| text.parse().unwrap());
    let seed: u64 = env::var("SEED").map_or(13, |text| text.parse().unwrap());
    let (begun, mut random) = (Instant::now(), Numbers(seed));
    let is_over = |kill| seconds.map_or(kill >= kills, |seconds| begun.elapsed() >= Duration::from_secs(seconds));
    let (mut kill, mut lives, mut unacknowledged) = (0, 0, 0);
    while !is_over(kill) {
        // A new store now and then: opening the collector's takes as long as it is large.
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        fs::create_dir(place.join("files")).unwrap();
        fs::copy(key_file("collector"), place.join("collector.pem")).unwrap();
        assert!(places(place.join("collector.pem")).read().is_ok());
        let (mut store, settings) = (open(&place.join("events.db")), settings(place));
        let there = place.join("collected/edge-1/events.db");
        let acknowledged = Arc::new(AtomicU64::new(0));
        let mut collecting = collector(place);
        let mut spooling = spooler(place, &settings, &acknowledged);
        let mut stored = 0;
        for _ in 0..60 {
            if is_over(kill) {
                break;
            }
            // Sometimes for so long that the spooler reports (twice a second) what was acknowledged.
            let most = if random.below(6) == 0 { 700 } else { 220 };
            let until = Instant::now() + Duration::from_millis(random.below(most));
            while Instant::now() < until {
                let more = 1 + random.below(80);
                store.append(&batch(stored..stored + more)).unwrap();
                stored += more;
            }
            let which = random.below(5);
            let before = acknowledged.load(Ordering::Relaxed);
            if which != 1 {
                spooling.kill();
            }
            if which != 0 {
                collecting.kill();
            }
            let found = count(&there);
            assert!(
                found >= before && found <= stored,
                "kill {kill}: {found} there, {before} acknowledged, {stored} stored"
            );
            unacknowledged += u64::from(found > before);
            if which != 0 {
                collecting = collector(place);
            }
            if which != 1 {
                spooling = spooler(place, &settings, &acknowledged);
            }
            kill += 1;
        }
        wait_until("everything is there", || count(&there) == stored && acknowledged.load(Ordering::Relaxed) == stored);
        // As if the supervisor had ended.
        if let Some(supervisor) = spooling.1.take() {
            supervisor.shutdown(Shutdown::Both).unwrap();
        }
        assert!(spooling.0.wait_in_time("an orderly end").success());
        collecting.kill();
        assert!(numbers(&there).into_iter().eq(0..stored), "each once, in order");
        assert!(numbers_of_files(&place.join("files")).into_iter().eq(0..stored), "the files as well");
        lives += 1;
    }
    println!("{kill} kills in {lives} lives; {unacknowledged} times more was there than was known to be acknowledged");
}
