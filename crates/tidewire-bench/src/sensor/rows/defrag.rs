//! The defragmenter's throughput, as in NCAP's figures 3 and 4.

use std::fs;

use crate::{
    plot::{Curve, Plot},
    program::Program,
    report::{Section, Table},
    sensor::{
        in_turn::{Rounds, in_turn, number},
        settings::Settings,
        traffic::{Fault, Fragments, Order},
    },
};

/// Fragments of a datagram of 8 KiB: from jumbo frames to 32 bytes each.
const COUNTS: [usize; 8] = [2, 4, 6, 8, 16, 32, 64, 256];
/// Fragments of a datagram one of which is invalid.
const COUNT: usize = 16;
/// Which one of them, in the order of arrival.
const PLACES: [usize; 6] = [1, 2, 4, 8, 12, 16];
/// Bytes of a trace.
const TRACE_BYTES: u64 = 48 << 20;

/// The programs over a trace: Tidewire as a Linux host resolves overlaps, and strictly; libnids.
pub(super) fn programs(settings: &Settings, trace: &str, with_strict: bool) -> Vec<Program> {
    let ours =
        |name: &str, policy: &str| settings.program(name, "tidewire-bench", &["feed", trace, "--defrag", policy]);
    let mut programs = vec![ours("tidewire", "linux")];
    if with_strict {
        programs.push(ours("tidewire, RFC 5722", "rfc5722"));
    }
    if settings.programs.join("nids-loop").exists() {
        let words = [trace, "flows", "--no-checksums", "--from-memory"];
        programs.push(settings.program("libnids", "nids-loop", &words).peer());
    }
    programs
}

/// Megabits a second of CPU time.
pub(super) fn mbps(rounds: &Rounds) -> f64 {
    rounds.median(|output| number(output, "/bytes") * 8e3 / number(output, "/cpu_ns"))
}

pub(super) fn cell(value: f64) -> String {
    if value.is_finite() { format!("{value:.0}") } else { "–".into() }
}

/// Measures the programs over a trace of fragments.
fn measure(
    settings: &Settings,
    fragments: &Fragments,
    with_strict: bool,
    section: &mut Section,
) -> Result<Vec<f64>, String> {
    let path = settings.folder.join("fragments.pcap");
    let bytes = if settings.quick { TRACE_BYTES / 8 } else { TRACE_BYTES };
    let datagrams = fragments.write(&path, bytes).map_err(|error| error.to_string())?;
    let rounds = in_turn(&programs(settings, &path.display().to_string(), with_strict), settings.rounds().min(3));
    let _ = fs::remove_file(&path);
    for rounds in &rounds {
        if let Some(why) = &rounds.failed {
            section.skipped.push(format!("{}, {fragments:?}: {why}", rounds.name));
        }
        let delivered = rounds.median(|output| number(output, "/delivered_bytes"));
        let sent = datagrams as f64 * 8184.0;
        if fragments.fault.is_none() && rounds.failed.is_none() && delivered != sent {
            section
                .skipped
                .push(format!("{}: of {sent} bytes, {delivered} were delivered ({fragments:?})", rounds.name));
        }
        let mut point = rounds.point();
        point["fragments"] = format!("{fragments:?}").into();
        section.points.push(point);
    }
    Ok(rounds.iter().map(mbps).collect())
}

const HOW: &str = "The capture is in memory before the clock starts; counted is the CPU time of one thread for everything from \
the frame to the handler, which counts: decoding, reassembly of fragments, UDP. Checksums are not verified on either side.";

pub(super) fn valid(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Figure 3: defragmenter, valid fragments".into(),
        text: format!(
            "UDP datagrams of 8 KiB in 2 to 256 fragments. {HOW} Every datagram was delivered by both, unless noted."
        ),
        ..Section::default()
    };
    let columns =
        ["fragments", "bytes of each", "tidewire", "libnids", "tidewire, reverse order", "libnids, reverse order"];
    let mut table = Table::new("Mbit/s of frames.", &columns);
    let mut curves: Vec<(String, Vec<(f64, f64)>)> =
        columns[2..].iter().map(|name| ((*name).to_owned(), vec![])).collect();
    for count in COUNTS.into_iter().filter(|count| !settings.quick || matches!(count, 2 | 16 | 256)) {
        let mut line = vec![count.to_string(), 8192_usize.div_ceil(count).next_multiple_of(8).to_string()];
        let mut figures = Vec::new();
        for order in [Order::Ascending, Order::Descending] {
            let mut both = measure(settings, &Fragments { count, order, fault: None }, false, &mut section)?;
            both.resize(2, f64::NAN);
            figures.extend(both);
        }
        for (figure, curve) in figures.iter().zip(&mut curves) {
            line.push(cell(*figure));
            if figure.is_finite() {
                curve.1.push((count as f64, figure / 1e3));
            }
        }
        table.lines.push(line);
    }
    section.tables.push(table);
    section.plots.push(Plot {
        file: "defrag-valid".into(),
        title: "Figure 3: valid fragments".into(),
        axes: ["fragments of a datagram of 8 KiB".into(), "Gbit/s".into()],
        x_by_factors: true,
        y_max: Some(headroom(&curves)),
        curves,
        ..Plot::default()
    });
    Ok(section)
}

pub(super) fn invalid(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Figure 4: defragmenter, invalid fragments".into(),
        text: format!(
            "Datagrams of 8 KiB in {COUNT} fragments, of which the one at this place in the order of arrival reaches beyond 65,535 \
             bytes, overlaps its neighbour with other bytes, or is missing. {HOW} Tidewire's default resolves overlaps as Linux \
             does and follows what a Linux host would do with the fragments after an invalid one; with RFC 5722 it ignores them. \
             libnids knows no invalid fragments."
        ),
        ..Section::default()
    };
    let columns = ["place", "tidewire", "tidewire, RFC 5722", "libnids"];
    for fault in Fault::ALL {
        let mut curves: Vec<Curve> = Vec::new();
        for order in [Order::Ascending, Order::Descending] {
            let (name, short) = match order {
                Order::Ascending => ("first fragment first", ""),
                Order::Descending => ("last fragment first", ", reverse order"),
            };
            let mut table = Table::new(format!("{}: Mbit/s of frames, {name}.", fault.name()), &columns);
            let first = curves.len();
            curves.extend(columns[1..].iter().map(|column| (format!("{column}{short}"), vec![])));
            for place in PLACES.into_iter().filter(|place| !settings.quick || matches!(place, 1 | 16)) {
                let fragments = Fragments { count: COUNT, order, fault: Some((place, fault)) };
                let mut figures = measure(settings, &fragments, true, &mut section)?;
                figures.resize(3, f64::NAN);
                let mut line = vec![place.to_string()];
                for (figure, curve) in figures.iter().zip(&mut curves[first..]) {
                    line.push(cell(*figure));
                    if figure.is_finite() {
                        curve.1.push((place as f64, figure / 1e3));
                    }
                }
                table.lines.push(line);
            }
            section.tables.push(table);
        }
        section.plots.push(Plot {
            file: format!("defrag-{}", fault.name().replace(' ', "-")),
            title: format!("Figure 4: one of {COUNT} fragments is {}", fault.participle()),
            axes: ["place of the invalid fragment in the order of arrival".into(), "Gbit/s".into()],
            y_max: Some(headroom(&curves)),
            curves,
            ..Plot::default()
        });
    }
    Ok(section)
}

/// An end of the y axis that leaves room for the names of the curves.
fn headroom(curves: &[Curve]) -> f64 {
    curves.iter().flat_map(|curve| &curve.1).map(|point| point.1).fold(0.0, f64::max) * 1.5
}
