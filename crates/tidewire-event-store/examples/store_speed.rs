//! How fast events become durable: `cargo run --release -p tidewire-event-store --example store_speed [DIRECTORY] [SECONDS]`.
//!
//! Four threads stand for analyzers. Each encodes events; one thread folds what they send and cuts every 20 ms or 1,000 events; the
//! writer stores. Counted is what was acknowledged, behind its commit. The directory decides which disk it is.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::sync_channel,
    },
    time::{Duration, Instant},
};

use tidewire_event_store::{Batch, Limits, Store, Writer, WriterSettings};
use tidewire_events::{Event, FlowKey, FoldSettings, Folder, FolderSettings, Identity, Message, Output, Value};

/// Events that an analyzer sends at a time.
const FRAMES: u64 = 250;

fn event(number: u64, analyzer: u64, is_different: bool) -> Event {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let key = FlowKey {
        protocol: 6,
        client_addr: [192, 0, 2, 1].into(),
        client_port: 54_321,
        server_addr: (0x0a00_0000 + (number >> 16) as u32 % 256).to_be_bytes().into(),
        server_port: number as u16,
    };
    let kind = if is_different { "different" } else { "scan" };
    let time_ns = 1_800_000_000_000_000_000 + number * 1000 + mixed % 1000;
    let analyzer = format!("analyzer-{analyzer}");
    let event =
        Event { time_ns, analyzer, kind: kind.into(), key: Some(key), stream: Some(number), ..Event::default() };
    let event = event.with("flags", Value::U64(2));
    if is_different { event.with("id", Value::Text(format!("{mixed:016x}"))) } else { event }
}

fn settings() -> FolderSettings {
    let each = FoldSettings { identity: Identity::AllBut(Vec::new()), ..FoldSettings::default() };
    FolderSettings { kinds: [("different".to_owned(), each)].into(), ..FolderSettings::default() }
}

fn run(directory: &Path, name: &str, is_different: bool, seconds: u64) -> Result<(), Box<dyn std::error::Error>> {
    let path = directory.join(format!("store-speed-{}.db", std::process::id()));
    let remove =
        || ["", "-wal", "-shm", ".lock"].map(|ending| std::fs::remove_file(format!("{}{ending}", path.display())));
    let (store, _) = Store::open(&path)?;
    let limits = Limits { age_ns: None, size_bytes: u64::MAX };
    let writer = Writer::start(store, WriterSettings { limits, ..WriterSettings::default() })?;
    let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (send, frames) = sync_channel::<Vec<u8>>(16);
    let (begun, mut submitted) = (Instant::now(), 0);
    std::thread::scope(|scope| -> Result<(), Box<dyn std::error::Error>> {
        for analyzer in 0..4_u64 {
            let (stop, send) = (Arc::clone(&stop), send.clone());
            scope.spawn(move || {
                let mut number = analyzer << 40;
                while !stop.load(Ordering::Relaxed) {
                    let mut bytes = Vec::new();
                    for at in number..number + FRAMES {
                        event(at, analyzer, is_different).encode(&mut bytes).expect("within the limits");
                    }
                    number += FRAMES;
                    if send.send(bytes).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut folder = Folder::new(settings(), [7, 8], 0, 0);
        let (mut out, mut waiting, mut cut) = (Output::default(), 0_u64, Instant::now());
        while begun.elapsed() < Duration::from_secs(seconds) {
            if let Ok(bytes) = frames.recv_timeout(Duration::from_millis(5)) {
                let mut rest = bytes.as_slice();
                while let Some((message, length)) = Message::first(rest)? {
                    folder.push(begun.elapsed().as_nanos() as u64, &message, &mut out)?;
                    rest = &rest[length..];
                    waiting += 1;
                }
            }
            if waiting >= 1000 && is_different || cut.elapsed() >= Duration::from_millis(20) {
                folder.cut(&mut out)?;
                let (records, closed) = (std::mem::take(&mut out.records), std::mem::take(&mut out.closed));
                submitted += waiting;
                let (acknowledged, count) = (Arc::clone(&acknowledged), std::mem::take(&mut waiting));
                writer.submit(Batch { records, closed, ..Batch::default() }, move |result| {
                    acknowledged.fetch_add(if result.is_ok() { count } else { 0 }, Ordering::Relaxed);
                });
                cut = Instant::now();
            }
        }
        stop.store(true, Ordering::Relaxed);
        while frames.recv().is_ok() {}
        Ok(())
    })?;
    while writer.status().events < submitted {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (took, status) = (begun.elapsed(), writer.status());
    let store = writer.finish().ok_or("the writer failed")?;
    let (events, bytes) = (acknowledged.load(Ordering::Relaxed), store.used_bytes()?);
    drop(store);
    let begun = Instant::now();
    drop(Store::open(&path)?);
    let opening_ms = begun.elapsed().as_millis();
    let (_, stored) = tidewire_event_store::Reader::open(&path)?.counts()?;
    assert_eq!(stored, events, "what was acknowledged is there");
    println!(
        "| {name} | {events} | {:.0} | {} | {:.1} | {:.2} | {} MiB in {opening_ms} ms |",
        events as f64 / took.as_secs_f64(),
        status.records,
        status.commits as f64 / took.as_secs_f64(),
        bytes as f64 / events.max(1) as f64,
        bytes >> 20,
    );
    drop(remove());
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| ".".into());
    let seconds = arguments.next().map_or(Ok(5), |text| text.parse())?;
    println!(
        "| events | acknowledged | a second | records | commits a second | bytes an event in the store | opened and checked |"
    );
    println!("|---|---|---|---|---|---|---|");
    run(Path::new(&directory), "all different", true, seconds)?;
    run(Path::new(&directory), "a scan", false, seconds)
}
