//! Work of an application for each packet, at rising rates: the cases of the measurements at 1 and 10 Gbit/s.

use super::{recorders::Scratch, settings::Settings};
use crate::{
    live::{
        measurement::{Load, Measurement, measure},
        series::line,
    },
    peer_output::Format,
    plot::Plot,
    program::Program,
    report::{Goal, Section, Table, percent, rate},
};

/// Frame size, FCS included, bytes.
const SIZE: u32 = 512;
const RATES: [f64; 6] = [50e3, 100e3, 200e3, 400e3, 800e3, 1.6e6];
/// 50 instructions of classic BPF, all of which are executed by each packet.
const FILTER: &str =
    "udp and not (port 1 or port 2 or port 3 or port 4 or port 5 or port 6 or port 7 or port 8 or port 9 or port 10)";
/// Applications that each want all packets.
const APPLICATIONS: usize = 4;

struct Case {
    id: &'static str,
    title: &'static str,
    options: String,
    instances: usize,
}

fn cases(folder: &str) -> Vec<Case> {
    let case = |id, title, options: &str| Case { id, title, options: options.into(), instances: 1 };
    vec![
        case("filter", "A filter of 50 instructions", &format!("--filter '{FILTER}'")),
        Case {
            instances: APPLICATIONS,
            ..case("applications", "Four applications at once, each with all packets", "")
        },
        case("copies", "50 more copies of each packet", "--copies 50"),
        case("compression", "Compression of each packet (zlib, its fastest level)", "--compress"),
        case("writing", "Writing to the disk", &format!("--write {folder}/file-$$")),
    ]
}

pub(super) fn run(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Work on each packet".into(),
        text: format!(
            "One application (`pcap-loop`) over the system's libpcap and over Tidewire's, unchanged, at rising rates; frames of \
             {SIZE} bytes. What it does with each packet is that of \"High-speed packet capture at 1 and 10 Gbit/s\": a filter, \
             copies, compression, writing to a disk; and several applications at once."
        ),
        ..Section::default()
    };
    let scratch = Scratch::new(&settings.disk)?;
    let folder = scratch.0.display().to_string();
    let rates: Vec<f64> = RATES.iter().copied().step_by(if settings.quick { 3 } else { 1 }).collect();
    let ours = format!("LD_PRELOAD={}", settings.programs.join("libtidewire_pcap.so").display());
    for case in cases(&folder) {
        let mut rows: Vec<(&str, Vec<Measurement>)> = Vec::new();
        for (name, variable) in [("system's libpcap", ""), ("tidewire's libpcap", ours.as_str())] {
            let pcap_loop = settings.programs.join("pcap-loop");
            let command = format!("exec env {variable} {} IFACE {}", pcap_loop.display(), case.options);
            let program = Program::new(name, &["sh", "-c", &command]).format(Format::Loop);
            let programs = vec![program; case.instances];
            let mut row = Vec::new();
            settings.inside(|testbed| {
                for &rate in &rates {
                    let measured = measure(testbed, &programs, &Load::udp(1000, SIZE, rate, settings.seconds()))?;
                    eprintln!("bench-record:   {}: {}", case.id, line(&measured));
                    row.push(measured);
                }
                Ok(())
            })?;
            rows.push((name, row));
        }
        report(&case, &rows, &mut section)?;
    }
    Ok(section)
}

/// Of the packets that were offered, those that each application got.
fn captured(case: &Case, measured: &Measurement) -> f64 {
    measured.received() as f64 / (measured.offered * case.instances as u64).max(1) as f64
}

fn report(case: &Case, rows: &[(&str, Vec<Measurement>)], section: &mut Section) -> Result<(), String> {
    let columns = ["offered", "library", "captured %", "CPU %", "softirq %"];
    let mut table = Table::new(case.title, &columns);
    let mut plot = Plot {
        file: format!("case-{}", case.id),
        title: format!("{}: captured", case.title),
        axes: ["packets a second".into(), "captured, %".into()],
        x_by_factors: true,
        y_max: Some(105.0),
        ..Plot::default()
    };
    let count = rows.iter().map(|(_, row)| row.len()).max().unwrap_or(0);
    for at in 0..count {
        for (name, row) in rows {
            let Some(measured) = row.get(at) else { continue };
            section.points.push(serde_json::to_value(measured).map_err(|error| error.to_string())?);
            if let Some(why) = &measured.failed {
                section.skipped.push(format!("{}, {name}: {why}", case.title));
                continue;
            }
            let [share, cpu, softirq] = [captured(case, measured), measured.cpu, measured.softirq].map(percent);
            table.lines.push(vec![rate(measured.offered_pps), (*name).to_owned(), share, cpu, softirq]);
        }
    }
    for (name, row) in rows {
        let points = row.iter().filter(|measured| measured.failed.is_none());
        let points = points.map(|measured| (measured.offered_pps, captured(case, measured) * 100.0)).collect();
        plot.curves.push(((*name).to_owned(), points));
    }
    let sum = |at: usize| rows.get(at).map_or(0.0, |(_, row)| row.iter().map(|point| captured(case, point)).sum());
    let (theirs, ours): (f64, f64) = (sum(0), sum(1));
    section.goals.push(Goal {
        work: Some([case.title.to_owned(), "the system's libpcap".into()]),
        wanted: "captures no less".into(),
        figure: format!("{:.3} ×, mean over the rates", ours / theirs.max(f64::MIN_POSITIVE)),
        // Repeated measurements differ by a percent.
        met: Some(ours >= theirs * 0.99),
    });
    section.tables.push(table);
    section.plots.push(plot);
    Ok(())
}
