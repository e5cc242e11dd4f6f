//! How fast packets are found in an archive, beside reading all of it.

use std::{fs, path::Path, process::Command, time::Instant};

use rustix::fs::sync;
use serde_json::Value;

use super::{recorders::Scratch, settings::Settings};
use crate::{
    live::measurement::{Load, TrafficKind, measure},
    median::median,
    plot::Plot,
    report::{Goal, Section, Table},
};

/// Prefix lengths of the networks that are looked for, around one client.
const PREFIXES: [u32; 9] = [32, 30, 28, 26, 24, 22, 20, 18, 16];

pub(super) fn run(settings: &Settings) -> Result<Section, String> {
    let wanted: u64 = if settings.quick { 1_000_000_000 } else { 10_000_000_000 };
    let mut section = Section {
        title: "Finding packets".into(),
        text: format!(
            "An archive of {} GB on the disk, recorded live: TCP connections of 20 segments of 1,460 bytes, 1,000 at once. Warm: \
             all is in the page cache; cold: nothing is. tcpdump reads one segment after the other.",
            wanted / 1_000_000_000
        ),
        ..Section::default()
    };
    let scratch = Scratch::new(&settings.disk)?;
    let archive = scratch.0.join("archive");
    record(settings, &scratch, wanted)?;
    let found = Found {
        tidewire: settings.recorders.tidewire(),
        archive: &archive,
        rounds: if settings.quick { 3 } else { 9 },
    };
    let bytes = |suffix: &str| {
        files(&archive, suffix).iter().filter_map(|path| fs::metadata(path).ok()).map(|of| of.len()).sum()
    };
    let (packets_bytes, index_bytes): (u64, u64) = (bytes(".pcapng"), bytes(".tidx"));
    let share = index_bytes as f64 / packets_bytes as f64;
    section.goals.push(Goal {
        work: Some(["the index".into(), "the packets' files".into()]),
        wanted: "at most 1.5 %".into(),
        figure: format!("{:.2} % ({index_bytes} of {packets_bytes} bytes)", share * 100.0),
        met: Some(share <= 0.015),
    });
    let connection = found.some_connection()?;
    one(&found, &connection, &mut section)?;
    by_network(&found, &connection, &mut section)?;
    Ok(section)
}

fn record(settings: &Settings, scratch: &Scratch, wanted: u64) -> Result<(), String> {
    let program = settings.recorders.record(&scratch.0, "tidewire record", "");
    // Each connection has 20 segments and some 28 packets.
    let connections = wanted / (20 * 1514 + 8 * 54);
    let kind = TrafficKind::Tcp { connections, segments: 20 };
    let load = Load { kind, ..Load::udp(1000, 1518, 150e3, 0.0) };
    let measured = settings.inside(|testbed| measure(testbed, &[program], &load)?.succeeded())?;
    eprintln!(
        "bench-record:   {} packets recorded, {} shed or dropped",
        measured.received(),
        measured.offered - measured.received()
    );
    Ok(())
}

fn files(folder: &Path, suffix: &str) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut all: Vec<_> = entries.filter(|path| path.to_string_lossy().ends_with(suffix)).collect();
    all.sort();
    all
}

struct Connection {
    client: String,
    port: u64,
    server_port: u64,
}

struct Found<'a> {
    tidewire: &'a Path,
    archive: &'a Path,
    rounds: usize,
}

impl Found<'_> {
    /// A connection in the middle.
    fn some_connection(&self) -> Result<Connection, String> {
        let segments = files(self.archive, ".pcapng");
        let middle = segments.get(segments.len() / 2).ok_or("no segment was recorded")?;
        let mut command = Command::new(self.tidewire);
        command.arg("flows").arg(middle).args(["--json", "tcp"]);
        let output = command.output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let flows: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let flow = flows.get(flows.len() / 2).ok_or("no flow was recorded")?;
        let end = |path: &str| flow.pointer(path);
        let address = end("/client/addr").and_then(Value::as_str).ok_or("a flow has no client")?;
        let port = |path: &str| end(path).and_then(Value::as_u64).ok_or("a flow has no port");
        Ok(Connection { client: address.to_owned(), port: port("/client/port")?, server_port: port("/server/port")? })
    }

    /// Wall seconds of finding the packets of an expression.
    fn recall_s(&self, expression: &str, cold: bool) -> Result<f64, String> {
        let mut all = Vec::new();
        for _ in 0..self.rounds {
            if cold {
                forget_pages()?;
            }
            let begun = Instant::now();
            let mut command = Command::new(self.tidewire);
            command.arg("recall").arg(self.archive).args(["-w", "/dev/null", "--", expression]);
            let output = command.output().map_err(|error| error.to_string())?;
            all.push(begun.elapsed().as_secs_f64());
            if !output.status.success() {
                return Err(String::from_utf8_lossy(&output.stderr).into_owned());
            }
        }
        Ok(median(&all))
    }

    /// Packets of an expression.
    fn packets(&self, expression: &str) -> Result<u64, String> {
        let mut command = Command::new(self.tidewire);
        command.arg("recall").arg(self.archive).args(["--json", "-w", "/dev/null", "--", expression]);
        let output = command.output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let last: Option<Value> = text.trim_end().lines().next_back().and_then(|line| serde_json::from_str(line).ok());
        let packets = last.and_then(|all| all.pointer("/recall/packets")?.as_u64());
        packets.ok_or_else(|| format!("nothing was found: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Wall seconds of tcpdump over all segments.
    fn tcpdump_s(&self, expression: &str) -> Result<f64, String> {
        let begun = Instant::now();
        for segment in files(self.archive, ".pcapng") {
            let mut command = Command::new("tcpdump");
            command.arg("-r").arg(segment).args(["-n", "-w", "/dev/null", expression]);
            let output = command.output().map_err(|error| format!("tcpdump: {error}"))?;
            if !output.status.success() {
                return Err(String::from_utf8_lossy(&output.stderr).into_owned());
            }
        }
        Ok(begun.elapsed().as_secs_f64())
    }
}

/// Drops files from the page cache, so that they are read from the disk again.
fn forget_pages() -> Result<(), String> {
    sync();
    fs::write("/proc/sys/vm/drop_caches", "1").map_err(|error| format!("dropping the page cache: {error}"))
}

fn one(found: &Found<'_>, connection: &Connection, section: &mut Section) -> Result<(), String> {
    let Connection { client, port, .. } = connection;
    let expression = format!("host {client} and port {port}");
    section.commands.push(("one connection".into(), format!("tidewire recall DIR -w /dev/null '{expression}'")));
    let packets = found.packets(&expression)?;
    // Reading all of it once also brings it into the page cache.
    let tcpdump_s = found.tcpdump_s(&expression)?.min(found.tcpdump_s(&expression)?);
    let (warm_s, cold_s) = (found.recall_s(&expression, false)?, found.recall_s(&expression, true)?);
    let mut table = Table::new(format!("One connection of {packets} packets"), &["", "milliseconds"]);
    for (name, seconds) in
        [("tidewire recall, warm", warm_s), ("tidewire recall, cold", cold_s), ("tcpdump -r, warm", tcpdump_s)]
    {
        table.lines.push(vec![name.into(), format!("{:.0}", seconds * 1e3)]);
    }
    section.tables.push(table);
    let goal = |what: &str, against: &str, wanted: &str, figure: String, met| Goal {
        work: Some([what.into(), against.into()]),
        wanted: wanted.into(),
        figure,
        met: Some(met),
    };
    let milliseconds = |seconds: f64| format!("{:.0} ms", seconds * 1e3);
    section.goals.extend([
        goal("one connection, warm", "", "at most 50 ms", milliseconds(warm_s), warm_s <= 0.05),
        goal("one connection, cold", "", "at most 300 ms", milliseconds(cold_s), cold_s <= 0.3),
        goal(
            "one connection, warm",
            "tcpdump -r",
            "at least 100 × faster",
            format!("{:.0} ×", tcpdump_s / warm_s),
            tcpdump_s >= 100.0 * warm_s,
        ),
    ]);
    Ok(())
}

/// Networks of growing size: time against what is found.
fn by_network(found: &Found<'_>, connection: &Connection, section: &mut Section) -> Result<(), String> {
    let Connection { client, server_port, .. } = connection;
    let mut table = Table::new("All packets of a network and a port", &["network", "packets", "milliseconds"]);
    let mut points = Vec::new();
    let address: u32 = client.parse::<std::net::Ipv4Addr>().map_err(|error| error.to_string())?.into();
    for prefix in PREFIXES {
        let mask = u32::MAX << (32 - prefix);
        let network = format!("{}/{prefix}", std::net::Ipv4Addr::from(address & mask));
        let expression = format!("net {network} and port {server_port}");
        let (packets, seconds) = (found.packets(&expression)?, found.recall_s(&expression, false)?);
        table.lines.push(vec![network, packets.to_string(), format!("{:.0}", seconds * 1e3)]);
        points.push((packets as f64, seconds * 1e3));
    }
    section.tables.push(table);
    section.plots.push(Plot {
        file: "recall".into(),
        title: "Time to find all packets of a network and a port".into(),
        axes: ["packets found".into(), "milliseconds".into()],
        x_by_factors: true,
        curves: vec![("tidewire recall".into(), points)],
        ..Plot::default()
    });
    Ok(())
}
