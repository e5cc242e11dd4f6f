//! Cost of 32 readers for the producer, against one.

use serde_json::Value;

use crate::{
    median::median,
    program::Program,
    report::{Goal, Section, Table},
    sensor::{
        in_turn::{in_turn, number},
        settings::Settings,
    },
};

/// Records a second: a rate that 32 readers on one core keep up with.
const RATE: &str = "20000";
/// Records published at once, every half a millisecond.
const BURST: &str = "10";
const BYTES: &str = "1460";
const READERS: [usize; 4] = [1, 8, 16, 32];
/// The goal: the cost with 32 readers against one.
const GOAL: f64 = 1.2;

pub(super) fn run(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "The producer's cost with many readers".into(),
        text: format!(
            "{RATE} records of {BYTES} bytes a second, in bursts of {BURST}; readers sleep until they are woken, and keep up (rounds \
             in which one did not are not counted, and the table says how many). The producer has core 0, all readers and the \
             thread that wakes them have core 1: with two cores, 32 readers share one cache, not 32. Counted is the CPU time of \
             the publishing thread in its bursts, less what reading the clock takes. Rounds in turn, medians; the ratio is the \
             median of the rounds' ratios."
        ),
        ..Section::default()
    };
    let seconds = if settings.quick { "0.5" } else { "1.5" };
    let programs: Vec<Program> = READERS
        .iter()
        .map(|readers| {
            let readers = readers.to_string();
            let words = ["pair", BYTES, "--rate", RATE, "--burst", BURST, "--seconds", seconds, "--readers", &readers];
            settings.program(&format!("{readers} readers"), "queue-loop", &words).unpinned()
        })
        .collect();
    let rounds = in_turn(&programs, if settings.quick { 2 } else { 9 });
    let mut table =
        Table::new("", &["readers", "ns a record", "against one reader", "rounds that kept up", "readers' CPU %"]);
    let cost = |output: &Value| if kept_up(output) { number(output, "/record_cpu_ns") } else { f64::NAN };
    let alone = rounds.first().map(|rounds| rounds.all(cost)).unwrap_or_default();
    for (readers, rounds) in READERS.iter().zip(&rounds) {
        if let Some(why) = &rounds.failed {
            section.skipped.push(format!("{readers} readers: {why}"));
            continue;
        }
        let costs = rounds.all(cost);
        let ratios: Vec<f64> =
            costs.iter().zip(&alone).map(|(cost, alone)| cost / alone).filter(|ratio| ratio.is_finite()).collect();
        let kept: Vec<f64> = costs.iter().copied().filter(|cost| cost.is_finite()).collect();
        let ratio = median(&ratios);
        table.lines.push(vec![
            readers.to_string(),
            format!("{:.0}", median(&kept)),
            format!("{ratio:.2} ×"),
            format!("{} of {}", kept.len(), costs.len()),
            format!("{:.0}", rounds.median(readers_cpu_percent)),
        ]);
        section.points.push(rounds.point());
        if *readers == 32 {
            section.goals.push(Goal {
                work: Some([
                    "queue: producer's cost per record with 32 readers that keep up".into(),
                    "one reader".into(),
                ]),
                wanted: format!("at most {GOAL} ×"),
                figure: format!("{ratio:.2} ×"),
                met: ratio.is_finite().then_some(ratio <= GOAL),
            });
        }
    }
    section.tables.push(table);
    Ok(section)
}

/// Whether every reader read every record.
fn kept_up(output: &Value) -> bool {
    let readers = output["readers"].as_array();
    readers.is_some_and(|readers| readers.iter().all(|reader| reader["read"] == output["published"]))
}

fn readers_cpu_percent(output: &Value) -> f64 {
    let readers = output["readers"].as_array();
    let sum: f64 = readers.into_iter().flatten().map(|reader| number(reader, "/cpu_ns")).sum();
    sum / number(output, "/seconds") / 1e7
}
