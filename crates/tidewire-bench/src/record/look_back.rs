//! Packets that wait in memory for a trigger: what they take, and how fast they are written when it fires.

use std::{
    fs,
    io::Write as _,
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use super::{recorders::Scratch, settings::Settings};
use crate::{
    live::{
        measurement::{Load, offer},
        running::Running,
    },
    report::{Goal, Section, Table},
};

/// Bits a second, on the cable.
const RATE_BITS: f64 = 1e9;

/// How long is waited until all is written.
const PATIENCE: Duration = Duration::from_secs(60);

/// Packets that waited.
struct Waited {
    bytes: f64,
    peak_bytes: f64,
    write_s: f64,
}

pub(super) fn run(settings: &Settings) -> Result<Section, String> {
    let seconds = if settings.quick { [1.0, 4.0] } else { [4.0, 60.0] };
    let mut section = Section {
        title: "Look-back".into(),
        text: format!(
            "`--keep-last` with frames of 1,000 bytes at 1 Gbit/s for {} and {} s, then SIGUSR1: all that waits is written to \
             memory. What packets take is the difference of the two runs' greatest resident memory.",
            seconds[0], seconds[1]
        ),
        ..Section::default()
    };
    let scratch = Scratch::new(&settings.memory)?;
    let program = settings.recorders.record(&scratch.0, "tidewire record", "--keep-last 120s --keep-memory 64G");
    section.commands.push((program.name.clone(), program.command()));
    let mut table =
        Table::new("", &["seconds", "MB that waited", "MB of memory at most", "seconds to write", "GB a second"]);
    let mut all = Vec::new();
    for seconds in seconds {
        let size = 1000.0;
        let load = Load::udp(1000, size as u32, RATE_BITS / ((size + 20.0) * 8.0), seconds);
        let waited = settings.inside(|testbed| {
            let running = Running::start(&program, testbed)?;
            let report = offer(testbed, &load)?;
            let _ = running.wait_until_idle(Duration::from_secs(5));
            let bytes = report.bytes.saturating_sub(4 * report.packets);
            let begun = Instant::now();
            running.signal(Signal::USR1)?;
            while written(&scratch) < bytes && begun.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(1));
            }
            let write_s = begun.elapsed().as_secs_f64();
            let (output, usage) = running.end(testbed)?;
            if output.packets != Some(report.packets) {
                return Err(format!("of {} packets, {:?} were written", report.packets, output.packets));
            }
            Ok(Waited { bytes: bytes as f64, peak_bytes: usage.peak_bytes as f64, write_s })
        })?;
        let Waited { bytes, peak_bytes, write_s } = waited;
        let cells = [seconds, bytes / 1e6, peak_bytes / 1e6].map(|figure| format!("{figure:.0}"));
        let speed = [format!("{write_s:.2}"), format!("{:.2}", bytes / 1e9 / write_s)];
        table.lines.push(cells.into_iter().chain(speed).collect());
        all.push(waited);
    }
    section.tables.push(table);
    if let [short, long] = all.as_slice() {
        let share = (long.peak_bytes - short.peak_bytes) / (long.bytes - short.bytes);
        section.goals.push(Goal {
            work: Some(["packets that wait: memory".into(), "the packets' bytes".into()]),
            wanted: "at most 1.05 ×".into(),
            figure: format!("{share:.3} ×"),
            met: Some(share <= 1.05),
        });
        let plain_s = plain_write_s(&scratch, long.bytes as u64)?;
        section.goals.push(Goal {
            work: Some(["from the trigger to the last packet written".into(), "writing as many zeros".into()]),
            wanted: "at memory speed".into(),
            figure: format!("{:.2} × ({:.2} s against {plain_s:.2} s)", long.write_s / plain_s, long.write_s),
            met: None,
        });
    }
    Ok(section)
}

/// Bytes of the archive's files.
fn written(scratch: &Scratch) -> u64 {
    let files = fs::read_dir(scratch.0.join("archive")).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|of| of.len()).sum()
}

/// How long one thread takes that does nothing but write.
fn plain_write_s(scratch: &Scratch, bytes: u64) -> Result<f64, String> {
    let words = |error: std::io::Error| error.to_string();
    let path = scratch.0.join("zeros");
    // The archive leaves room.
    let _ = fs::remove_dir_all(scratch.0.join("archive"));
    let mut file = fs::File::create(&path).map_err(words)?;
    let begun = Instant::now();
    let zeros = vec![0; 1 << 20];
    for _ in 0..bytes >> 20 {
        file.write_all(&zeros).map_err(words)?;
    }
    let took = begun.elapsed().as_secs_f64();
    fs::remove_file(&path).map_err(words)?;
    Ok(took)
}
