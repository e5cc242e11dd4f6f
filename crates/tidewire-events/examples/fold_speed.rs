//! How fast events are folded, and how small: `cargo run --release -p tidewire-events --example fold_speed [EVENTS [FLOOD]]`.
//!
//! Each flood comes as bytes, as from sockets of four analyzers in turn: frames are checked, folded on one thread, and given out every
//! 20,000 events, as a store that commits every 20 ms at a million a second would ask for. Times have noise. Making the frames
//! is not counted; open folds, charged and resident memory are the most there was. Every record is unfolded afterwards, and its
//! events are counted and compared with what was pushed.

use std::time::Instant;

use tidewire_events::{Event, FlowKey, FoldSettings, Folder, FolderSettings, Identity, Message, Output, Record, Value};

const BATCH: usize = 20_000;

/// A random number generator (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

fn probe(time_ns: u64, source: u32, target: u32, port: u16, stream: u64) -> Event {
    let key = FlowKey {
        protocol: 6,
        client_addr: source.to_be_bytes().into(),
        client_port: 54_321,
        server_addr: target.to_be_bytes().into(),
        server_port: port,
    };
    let event = Event { time_ns, kind: "scan.probe".into(), key: Some(key), stream: Some(stream), ..Event::default() };
    event.with("flags", Value::U64(2)).with("reply", Value::Text("none".into()))
}

/// The events of a flood by their place in it.
type Flood = fn(u64, u64, &mut Numbers) -> Event;

fn floods() -> [(&'static str, Flood); 7] {
    const SOURCE: u32 = 0xc000_0201;
    const TARGET: u32 = 0x0a00_0000;
    [
        ("identical", |_, time_ns, _| {
            let event = probe(time_ns, SOURCE, TARGET, 80, 7);
            Event { kind: "match.found".into(), ..event }
        }),
        ("scan, port by port", |at, time_ns, _| {
            probe(time_ns, SOURCE, TARGET + (at >> 16) as u32 % 256, at as u16, 2 * at)
        }),
        ("scan, host by host", |at, time_ns, _| {
            probe(time_ns, SOURCE, TARGET + at as u32 % 256, (at >> 8) as u16, 2 * at)
        }),
        ("scan in random order", |at, time_ns, _| {
            // A permutation of 24 bits: each port of each host once.
            let mixed = (at as u32).wrapping_mul(0x009e_3779) & 0xff_ffff;
            let mixed = (mixed ^ mixed >> 13).wrapping_mul(0x00c2_b2ad) & 0xff_ffff;
            probe(time_ns, SOURCE, TARGET + (mixed >> 16), mixed as u16, 2 * at)
        }),
        ("forged sources", |at, time_ns, random| probe(time_ns, random.below(1 << 32) as u32, TARGET, 80, at)),
        ("long texts, 8,192 keys", |at, time_ns, random| {
            let event = probe(time_ns, SOURCE, TARGET + random.below(8192) as u32, 80, at);
            let text = format!("{:016x}", random.below(u64::MAX)).repeat(60);
            Event { kind: "texts".into(), ..event }.with("text", Value::Text(text))
        }),
        ("all different", |at, time_ns, random| {
            let event = probe(time_ns, random.below(1 << 32) as u32, TARGET, 80, at);
            Event { kind: "different".into(), ..event }.with("id", Value::U64(random.below(u64::MAX)))
        }),
    ]
}

fn settings() -> FolderSettings {
    let each = FoldSettings { identity: Identity::AllBut(Vec::new()), ..FoldSettings::default() };
    let texts = FoldSettings { identity: Identity::AllBut(vec!["text".to_owned()]), ..FoldSettings::default() };
    let kinds = [("different".to_owned(), each), ("texts".to_owned(), texts)];
    FolderSettings { kinds: kinds.into(), ..FolderSettings::default() }
}

/// Nanoseconds that this thread ran, whatever else the machine did.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Peak of resident memory in KiB, of all floods so far.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let events: u64 = std::env::args().nth(1).map_or(Ok(4_000_000), |text| text.parse())?;
    println!(
        "| flood | events | ns of CPU an event | ns an event | records | bytes an event | open folds | charged | resident |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let only = std::env::args().nth(2).unwrap_or_default();
    for (name, flood) in floods().into_iter().filter(|(name, _)| name.contains(&only)) {
        let mut folder = Folder::new(settings(), [0x1234, 0x5678], 0, 0);
        let (mut random, mut time_ns) = (Numbers(0x9e37_79b9_7f4a_7c15), 1_800_000_000_000_000_000);
        let (mut frames, mut out) = (Vec::new(), Output::default());
        let (mut nanoseconds, mut cpu, mut records, mut bytes, mut unfolded) = (0, 0, 0_u64, 0_u64, 0);
        let (mut open, mut charged, mut pushed_sum, mut back_sum) = (0, 0, 0_u64, 0_u64);
        let mut at = 0;
        while at < events {
            frames.clear();
            for _ in 0..BATCH.min((events - at) as usize) {
                time_ns += 500 + random.below(1000);
                let event = Event { analyzer: format!("analyzer-{}", at % 4), ..flood(at, time_ns, &mut random) };
                pushed_sum = pushed_sum.wrapping_add(digest(&event));
                event.encode(&mut frames)?;
                at += 1;
            }
            let (begun, cpu_begun) = (Instant::now(), cpu_ns());
            let mut rest = frames.as_slice();
            while let Some((message, length)) = Message::first(rest)? {
                folder.push(at * 1000, &message, &mut out)?;
                rest = &rest[length..];
            }
            (open, charged) = (open.max(folder.open()), charged.max(folder.charged_bytes()));
            // Open folds keep their texts: the most that can be asked of the bound of memory.
            if !name.starts_with("long") {
                folder.cut(&mut out)?;
            }
            if at >= events {
                folder.close_all(&mut out)?;
            }
            nanoseconds += begun.elapsed().as_nanos() as u64;
            cpu += cpu_ns() - cpu_begun;
            for record in out.records.drain(..) {
                records += 1;
                bytes += record.bytes().len() as u64;
                unfolded += unfold(&record, &mut back_sum)?;
            }
        }
        assert_eq!((unfolded, back_sum), (events, pushed_sum), "every event comes back");
        let (each, cpu, per_event) = (nanoseconds / events, cpu / events, bytes as f64 / events as f64);
        let (charged, peak) = (charged >> 10, peak_kib() >> 10);
        println!(
            "| {name} | {events} | {cpu} | {each} | {records} | {per_event:.2} | {open} | {charged} KiB | {peak} MiB |"
        );
    }
    Ok(())
}

/// A number that depends on what varies.
fn digest(event: &Event) -> u64 {
    let key = event.key.unwrap_or_default();
    let addr = |addr| match addr {
        std::net::IpAddr::V4(addr) => u64::from(u32::from(addr)),
        std::net::IpAddr::V6(addr) => u128::from(addr) as u64,
    };
    let parts = [
        event.time_ns,
        addr(key.client_addr),
        addr(key.server_addr),
        key.server_port.into(),
        event.stream.unwrap_or(0),
    ];
    parts.iter().fold(1, |sum: u64, part| (sum ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23))
}

fn unfold(record: &Record, sum: &mut u64) -> Result<u64, Box<dyn std::error::Error>> {
    let (mut unfold, mut count) = (record.unfold()?, 0);
    while let Some((_, message)) = unfold.next()? {
        *sum = sum.wrapping_add(digest(&message.event()?));
        count += 1;
    }
    Ok(count)
}
