//! The reassembler's throughput on normal and on hostile traffic, as in NCAP's figures 5 and 6.

use std::fs;

use super::defrag::{cell, mbps, programs};
use crate::{
    plot::{Curve, Plot},
    report::{Section, Table},
    sensor::{
        in_turn::{in_turn, number as number_at},
        settings::Settings,
        traffic::{Segments, write_segments},
    },
};

/// Bytes of a trace.
const TRACE_BYTES: u64 = 32 << 20;
const PEER: &str = "libnids";

const HOW: &str = "The capture is in memory before the clock starts; counted is the CPU time of one thread for everything from \
the frame to the handler, which counts bytes of both directions. Checksums are not verified on either side.";

/// Result of a program over a kind of traffic.
struct Reached {
    program: String,
    /// The number of the kind, and bytes of a packet.
    at: (usize, u64),
    mbps: f64,
}

fn measure(settings: &Settings, kinds: &[Segments], section: &mut Section) -> Result<Vec<Reached>, String> {
    let columns =
        ["traffic", "packets", "bytes a packet", "program", "Mbit/s", "Mpps", "delivered MB", "against libnids"];
    let mut table = Table::new("", &columns);
    let mut reached = Vec::new();
    for (number, &kind) in kinds.iter().enumerate() {
        let path = settings.folder.join("segments.pcap");
        let bytes = if settings.quick { TRACE_BYTES / 8 } else { TRACE_BYTES };
        let (packets, bytes) = write_segments(kind, &path, bytes).map_err(|error| error.to_string())?;
        let rounds = in_turn(&programs(settings, &path.display().to_string(), false), settings.rounds().min(3));
        let _ = fs::remove_file(&path);
        let peer = rounds.iter().find(|rounds| rounds.name == PEER).map_or(f64::NAN, mbps);
        for rounds in &rounds {
            if let Some(why) = &rounds.failed {
                section.skipped.push(format!("{}, {}: {why}", rounds.name, kind.name()));
                continue;
            }
            let rate = mbps(rounds);
            let ratio = rate / peer;
            table.lines.push(vec![
                kind.name().into(),
                packets.to_string(),
                (bytes / packets.max(1)).to_string(),
                rounds.name.clone(),
                cell(rate),
                format!("{:.2}", rate / 8.0 / (bytes as f64 / packets as f64)),
                format!("{:.1}", rounds.median(|output| number_at(output, "/delivered_bytes")) / 1e6),
                if rounds.name == PEER || !ratio.is_finite() { String::new() } else { format!("{ratio:.2} ×") },
            ]);
            reached.push(Reached { program: rounds.name.clone(), at: (number, bytes / packets.max(1)), mbps: rate });
            let mut point = rounds.point();
            point["traffic"] = kind.name().into();
            section.points.push(point);
        }
    }
    section.tables.push(table);
    Ok(reached)
}

/// A curve for each program.
fn curves(reached: &[Reached], x: impl Fn(&Reached) -> f64, unit: f64) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for one in reached {
        let point = (x(one), one.mbps / unit);
        match curves.iter_mut().find(|curve| curve.0 == one.program) {
            Some(curve) => curve.1.push(point),
            None => curves.push((one.program.clone(), vec![point])),
        }
    }
    curves
}

pub(super) fn normal(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Figure 5: reassembler, normal traffic".into(),
        text: format!(
            "Whole connections, 256 at a time, interleaved packet by packet; the server sends packets of 80 bytes and of 1,500, the \
             client acknowledges each. The paper's figure is for 400 bytes a packet on average, the third line. {HOW}"
        ),
        ..Section::default()
    };
    let mixed = [0, 25, 100].map(|long_percent| Segments::Normal { long_percent });
    let kinds = [mixed[0], mixed[1], Segments::AVERAGE_400, mixed[2]];
    let reached = measure(settings, &kinds, &mut section)?;
    section.plots.push(Plot {
        file: "reassembly-normal".into(),
        title: "Figure 5: normal traffic".into(),
        axes: ["average packet, bytes".into(), "Gbit/s".into()],
        curves: curves(&reached, |one| one.at.1 as f64, 1e3),
        ..Plot::default()
    });
    Ok(section)
}

pub(super) fn hostile(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Figure 6: reassembler, anomalies and attacks".into(),
        text: format!("Packets of 78 to 80 bytes. {HOW}"),
        ..Section::default()
    };
    let reached = measure(settings, &Segments::HOSTILE, &mut section)?;
    section.plots.push(Plot {
        file: "reassembly-hostile".into(),
        title: "Figure 6: anomalies and attacks, 80 bytes a packet".into(),
        axes: [String::new(), "Mbit/s".into()],
        curves: curves(&reached, |one| one.at.0 as f64, 1.0),
        groups: Segments::HOSTILE.iter().map(|kind| kind.name().to_owned()).collect(),
        ..Plot::default()
    });
    Ok(section)
}
