//! How fast events pass from a store over TLS to a collector: `cargo run --release -p tidewire-delivery --example spool_speed [DIRECTORY]
//! [EVENTS] [plain]`. Both sides run in this process; `taskset -c 0` keeps them on one core.
//!
//! The events all differ: one a record, encrypted to a recipient unless `plain` is given. Counted is what the collector has acknowledged,
//! behind its commit. The directory decides which disk it is.

use std::{
    fs,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tidewire_delivery::{
    CollectorSettings, DestinationSettings, Settings, To,
    collector::{CollectSettings, Server},
    keys::{Authority, Places, Validity, files, identity},
    run_within,
};
use tidewire_event_store::{Batch, Limits, Reader, Recipients, Row, Sealer, Store};
use tidewire_events::{Event, FlowKey, Folder, FolderSettings, Output, Value};

/// Rows that are stored at a time before the measurement.
const BATCH: u64 = 5000;

fn event(number: u64) -> Event {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let key = FlowKey {
        protocol: 6,
        client_addr: ((mixed >> 32) as u32).to_be_bytes().into(),
        client_port: mixed as u16,
        server_addr: [192, 0, 2, 1].into(),
        server_port: 443,
    };
    let time_ns = 1_800_000_000_000_000_000 + number * 1000;
    let event = Event { time_ns, analyzer: "a".into(), kind: "different".into(), key: Some(key), ..Event::default() };
    event.with("id", Value::Text(format!("{mixed:016x}")))
}

fn fill(path: &Path, events: u64, recipient: Option<String>) -> Result<(), Box<dyn std::error::Error>> {
    let (mut store, _) = Store::open(path)?;
    let recipients = recipient.map(|recipient| Recipients::parse(&[recipient])).transpose()?;
    let mut sealer = recipients.as_ref().map(Sealer::new).transpose()?;
    for first in (0..events).step_by(BATCH as usize) {
        let mut rows = Vec::new();
        for number in first..(first + BATCH).min(events) {
            let mut folder = Folder::new(FolderSettings::default(), [0; 2], number, number);
            let mut out = Output::default();
            folder.push_event(0, &event(number), &mut out)?;
            folder.close_all(&mut out)?;
            for record in &out.records {
                rows.push(match &mut sealer {
                    Some(sealer) => sealer.seal(record)?,
                    None => Row::plain(0, record)?,
                });
            }
        }
        let keys = sealer.as_ref().map(|sealer| sealer.key()).into_iter().collect();
        store.append(&Batch { rows, keys, ..Batch::default() })?;
    }
    Ok(())
}

/// Processor time of this process, seconds.
fn processor_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    let words: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = words.get(11)?.parse::<f64>().ok()? + words.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

/// A collector, and a spooler's settings for it.
fn sides(place: &Path, store: PathBuf) -> Result<(Server, Settings), Box<dyn std::error::Error>> {
    let validity = Validity::of(Duration::from_secs(86_400));
    let (authority, _) = Authority::make("speed", validity)?;
    let (collector, sensor) = (place.join("collector.pem"), place.join("sensor.pem"));
    files::create(&collector, &authority.collector(&["127.0.0.1".into()], validity)?)?;
    files::create(&sensor, &authority.sensor("speed", validity)?)?;
    let keys = Places { keys: Some(collector), ..Places::default() };
    let mut settings = CollectSettings::new(vec!["127.0.0.1:0".parse()?], place.join("collected"), keys);
    settings.rate_bytes = None;
    settings.limits = Limits { age_ns: None, size_bytes: u64::MAX };
    let server = Server::start(settings, |_| ())?;
    let to = To::Collector(CollectorSettings {
        address: server.addresses().first().ok_or("no address")?.to_string(),
        keys: Some(sensor),
        certificate: None,
        key: None,
        authority: None,
        server_name: None,
        timeout: Duration::from_secs(60),
    });
    let destination = DestinationSettings {
        name: "c".into(),
        severity: "info".into(),
        kinds: Vec::new(),
        analyzers: Vec::new(),
        retry_max: Duration::from_secs(1),
        to,
    };
    let stop = Duration::from_secs(1);
    Ok((server, Settings { store, socket: None, stop, nice: 0, sandbox: false, destinations: vec![destination] }))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| ".".into());
    let events: u64 = arguments.next().map_or(Ok(200_000), |text| text.parse())?;
    let is_plain = arguments.next().is_some_and(|word| word == "plain");
    let place = Path::new(&directory).join(format!("spool-speed-{}", std::process::id()));
    fs::create_dir_all(&place)?;
    let store = place.join("events.db");
    fill(&store, events, (!is_plain).then(|| identity::make().1))?;
    let (server, settings) = sides(&place, store)?;
    let (_report, theirs) = UnixStream::pair()?;
    let stopped = Arc::new(AtomicBool::new(false));
    let (begun, before) = (Instant::now(), processor_seconds().unwrap_or_default());
    let of = Arc::clone(&stopped);
    let spooler = std::thread::spawn(move || run_within(settings, theirs.into(), &of));
    while server.status().sensors.first().is_none_or(|sensor| sensor.events < events) {
        std::thread::sleep(Duration::from_millis(2));
    }
    let (took, used) = (begun.elapsed().as_secs_f64(), processor_seconds().unwrap_or_default() - before);
    stopped.store(true, Ordering::Relaxed);
    let _ = spooler.join();
    drop(server);
    let (records, stored) = Reader::open(&place.join("collected/speed/events.db"))?.counts()?;
    assert_eq!((records, stored), (events, events), "what was acknowledged is there");
    let name = if is_plain { "plain" } else { "encrypted to a recipient" };
    println!("| events over TLS to a collector | acknowledged | a second | a second of processor time, both sides |");
    println!("|---|---|---|---|");
    let (rate, cost) = (events as f64 / took, events as f64 / used.max(0.01));
    println!("| {name}, one a record | {events} | {rate:.0} | {cost:.0} |");
    fs::remove_dir_all(&place)?;
    Ok(())
}
