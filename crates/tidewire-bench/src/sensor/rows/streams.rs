//! The reassembler's throughput on normal and on hostile traffic, as in NCAP's figures 5 and 6.

use std::fs;

use super::defrag::{cell, mbps, programs};
use crate::{
    report::{Section, Table},
    sensor::{
        in_turn::{in_turn, number},
        settings::Settings,
        traffic::{Segments, write_segments},
    },
};

/// Bytes of a trace.
const TRACE_BYTES: u64 = 128 << 20;

const HOW: &str = "The capture is in memory before the clock starts; counted is the CPU time of one thread for everything from \
the frame to the handler, which counts bytes of both directions. Checksums are not verified on either side.";

fn measure(settings: &Settings, kinds: &[Segments], section: &mut Section) -> Result<(), String> {
    let columns =
        ["traffic", "packets", "bytes a packet", "program", "Mbit/s", "Mpps", "delivered MB", "against libnids"];
    let mut table = Table::new("", &columns);
    for &kind in kinds {
        let path = settings.folder.join("segments.pcap");
        let bytes = if settings.quick { TRACE_BYTES / 8 } else { TRACE_BYTES };
        let (packets, bytes) = write_segments(kind, &path, bytes).map_err(|error| error.to_string())?;
        let rounds = in_turn(&programs(settings, &path.display().to_string(), false), settings.rounds().min(3));
        let _ = fs::remove_file(&path);
        let peer = rounds.iter().find(|rounds| rounds.name == "libnids").map_or(f64::NAN, mbps);
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
                format!("{:.1}", rounds.median(|output| number(output, "/delivered_bytes")) / 1e6),
                if rounds.name == "libnids" || !ratio.is_finite() { String::new() } else { format!("{ratio:.1} ×") },
            ]);
            let mut point = rounds.point();
            point["traffic"] = kind.name().into();
            section.points.push(point);
        }
    }
    section.tables.push(table);
    Ok(())
}

pub(super) fn normal(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Figure 5: reassembler, normal traffic".into(),
        text: format!(
            "Whole connections, 256 at a time, interleaved packet by packet, 400 bytes a packet on average. {HOW}"
        ),
        ..Section::default()
    };
    measure(settings, &[Segments::Normal], &mut section)?;
    Ok(section)
}

pub(super) fn hostile(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Figure 6: reassembler, anomalies and attacks".into(),
        text: format!("Packets of 78 to 80 bytes. {HOW}"),
        ..Section::default()
    };
    measure(settings, &Segments::HOSTILE, &mut section)?;
    Ok(section)
}
