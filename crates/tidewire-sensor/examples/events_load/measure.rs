//! A row a flood.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Write as _},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tidewire_event_store::{Reader, Store};
use tidewire_sensor::{
    EVENTS_SOCKET,
    events::{EventsSettings, KindSettings, report::EventsReport},
};

use crate::{
    Failure,
    flood::{FLOODS, Flood},
};

const ANALYZERS: u64 = 4;

/// A process, and what it reports.
struct Processor {
    child: Child,
    lines: BufReader<UnixStream>,
}

impl Processor {
    fn start(settings: &EventsSettings) -> Result<Self, Failure> {
        let (mut here, there) = UnixStream::pair()?;
        let child = Command::new(env::current_exe()?)
            .arg("--processor")
            .stdin(OwnedFd::from(there))
            .stdout(Stdio::null())
            .spawn()?;
        serde_json::to_writer(&here, settings)?;
        here.write_all(b"\n")?;
        here.set_read_timeout(Some(Duration::from_secs(60)))?;
        let mut processor = Self { child, lines: BufReader::new(here) };
        while !matches!(processor.report()?, EventsReport::Ready { .. }) {}
        Ok(processor)
    }

    fn report(&mut self) -> Result<EventsReport, Failure> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        let report = serde_json::from_str(&line)?;
        if let EventsReport::Failed { text, .. } = &report {
            return Err(text.clone().into());
        }
        Ok(report)
    }

    /// Seconds on a processor so far, and the most memory in MiB.
    fn used(&self) -> Result<(f64, u64), Failure> {
        let process = self.child.id();
        let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
        let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
        Ok(((ticks(11) + ticks(12)) / 100.0, peak.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) >> 10))
    }

    /// Waits until the records of closed folds are joined: until the store stops changing.
    fn settle(&mut self) -> Result<(), Failure> {
        let (mut before, mut since) = (0, Instant::now());
        while since.elapsed() < Duration::from_secs(3) {
            if let EventsReport::Status(status) = self.report()?
                && std::mem::replace(&mut before, status.store_bytes) != status.store_bytes
            {
                since = Instant::now();
            }
        }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Failure> {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::TERM)?;
        while !matches!(self.report()?, EventsReport::Finished(_)) {}
        if self.child.wait()?.success() { Ok(()) } else { Err("the event processor failed".into()) }
    }
}

/// Measures all floods whose names have this in them.
pub fn all(directory: &Path, seconds: u64, only: &str) -> Result<(), Failure> {
    println!(
        "| flood, 4 analyzers | events | acknowledged a second | ns of CPU an event | memory MiB | records | bytes an event |"
    );
    println!("|---|---|---|---|---|---|---|");
    for flood in FLOODS.into_iter().filter(|flood| flood.name.contains(only)) {
        let folder = directory.join(format!("events-load-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let measured = one(&folder, flood, seconds);
        fs::remove_dir_all(&folder)?;
        measured?;
    }
    Ok(())
}

fn one(folder: &Path, flood: Flood, seconds: u64) -> Result<(), Failure> {
    let mut settings = EventsSettings {
        directory: folder.to_owned(),
        store: folder.join("events.db"),
        rate: None,
        size_bytes: 8 << 30,
        ..EventsSettings::default()
    };
    let apart = KindSettings { vary: Some(Vec::new()), ..KindSettings::default() };
    settings.kinds.insert("different".into(), apart);
    let texts = KindSettings { vary: Some(vec!["reply".into()]), ..KindSettings::default() };
    settings.kinds.insert("texts".into(), texts);
    let mut processor = Processor::start(&settings)?;
    let (cpu_before, _) = processor.used()?;
    let socket = folder.join(EVENTS_SOCKET);
    let mut analyzers = Vec::new();
    for number in 0..ANALYZERS {
        let child = Command::new(env::current_exe()?)
            .args(["--analyzer", &number.to_string(), &socket.to_string_lossy(), flood.name, &seconds.to_string()])
            .stdout(Stdio::piped())
            .spawn()?;
        analyzers.push(child);
    }
    let (mut events, mut longest) = (0, 0.0_f64);
    for analyzer in analyzers {
        let output = analyzer.wait_with_output()?;
        let text = String::from_utf8(output.stdout)?;
        let (count, took) = text.trim().split_once(' ').ok_or("an analyzer failed")?;
        events += count.parse::<u64>()?;
        longest = longest.max(took.parse()?);
    }
    let (cpu, memory_mib) = processor.used()?;
    processor.settle()?;
    processor.stop()?;
    let (records, stored) = Reader::open(&settings.store)?.counts()?;
    if stored != events {
        return Err(format!("{events} events were acknowledged, and {stored} are stored").into());
    }
    let bytes = Store::open(&settings.store)?.0.used_bytes()?;
    println!(
        "| {} | {events} | {:.0} | {:.0} | {memory_mib} | {records} | {:.2} |",
        flood.name,
        events as f64 / longest,
        (cpu - cpu_before) * 1e9 / events.max(1) as f64,
        bytes as f64 / events.max(1) as f64,
    );
    Ok(())
}
