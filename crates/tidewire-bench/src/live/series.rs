//! Measurements that rows have in common: a rate swept, a single rate, and how they are reported.

use crate::{
    live::{
        measurement::{Load, Measurement, measure},
        sweep::{Plan, Series, Verdict, sweep},
        testbed::Testbed,
    },
    program::Program,
    report::{Section, percent, rate},
};

/// A load at a rate.
pub(crate) fn at(load: &Load, rate: f64) -> Load {
    Load { rate, ..load.clone() }
}

/// Sweeps the rate of a load for a program (or for no listener).
pub(crate) fn series(
    testbed: &Testbed<'_>,
    program: Option<&Program>,
    load: &Load,
    plan: &Plan,
    section: &mut Section,
) -> Result<Series<Measurement>, String> {
    series_of(testbed, program, &|rate| at(load, rate), plan, section)
}

/// Sweeps a rate for a program (or for no listener). Measurements are added to the section; a program that fails ends its
/// series.
pub(crate) fn series_of(
    testbed: &Testbed<'_>,
    program: Option<&Program>,
    load: &dyn Fn(f64) -> Load,
    plan: &Plan,
    section: &mut Section,
) -> Result<Series<Measurement>, String> {
    let name = program.map_or("no program", |program| &program.name);
    let programs: Vec<Program> = program.into_iter().cloned().collect();
    let result = sweep(
        plan,
        |rate| {
            let measured = measure(testbed, &programs, &load(rate))?;
            eprintln!("bench:   {}", line(&measured));
            measured.succeeded().map_err(|why| format!("{name}: {why}"))
        },
        Measurement::verdict,
    );
    match result {
        Ok(series) => {
            for (_, measured) in &series.points {
                push(section, measured)?;
            }
            Ok(series)
        }
        Err(why) => {
            eprintln!("bench:   {why}");
            section.skipped.push(why);
            Ok(Series { points: Vec::new(), limit: None, unbounded: false })
        }
    }
}

/// Measures once and adds the measurement to the section.
pub(crate) fn single(
    testbed: &Testbed<'_>,
    program: &Program,
    load: &Load,
    section: &mut Section,
) -> Result<Option<Measurement>, String> {
    let measured = measure(testbed, std::slice::from_ref(program), load)?;
    eprintln!("bench:   {}", line(&measured));
    if let Some(why) = &measured.failed {
        section.skipped.push(format!("{}: {why}", program.name));
        return Ok(None);
    }
    push(section, &measured)?;
    Ok(Some(measured))
}

fn push(section: &mut Section, measured: &Measurement) -> Result<(), String> {
    section.points.push(serde_json::to_value(measured).map_err(|error| error.to_string())?);
    Ok(())
}

/// The programs that are present; the section says why others are absent.
pub(crate) fn available(programs: Vec<Result<Program, String>>, section: &mut Section) -> Vec<Program> {
    let mut present = Vec::new();
    for program in programs {
        match program {
            Ok(program) => {
                section.commands.push((program.name.clone(), short(&program.command())));
                present.push(program);
            }
            Err(why) => section.skipped.push(why),
        }
    }
    present
}

/// A command without the folder of its program.
fn short(command: &str) -> String {
    let (program, rest) = command.split_once(' ').unwrap_or((command, ""));
    format!("{} {rest}", program.rsplit('/').next().unwrap_or(program))
}

/// A measurement in one line.
pub(crate) fn line(measured: &Measurement) -> String {
    let Measurement { program, offered_pps, loss, cpu, softirq, .. } = measured;
    if let Some(why) = &measured.failed {
        return format!("{program}: {why}");
    }
    format!(
        "{program}: {} of {} bytes, {} flows: lost {} % (interface {}, ring {}, left unread {}, unexplained {}), CPU {} + {} %, backlog {:.2} s{}",
        rate(*offered_pps),
        measured.size,
        measured.flows,
        percent(*loss),
        measured.lost_interface,
        measured.lost_ring,
        measured.left_unread,
        measured.unexplained,
        percent(*cpu),
        percent(*softirq),
        measured.backlog_s,
        match measured.exact {
            Some(true) => ", sums exact",
            Some(false) => ", SUMS WRONG",
            None => "",
        }
    )
}

/// The limit of a series, in words.
pub(crate) fn limit(series: &Series<Measurement>) -> String {
    let last = series.points.last().map(|(_, measured)| measured);
    match series.limit {
        None if series.points.is_empty() => "–".into(),
        None => format!("below {}", rate(series.points[0].1.offered_pps)),
        Some(_) if series.unbounded && last.is_some_and(|last| last.verdict() == Verdict::HeldLess) => {
            format!("{} (all that could be offered)", rate(held(series)))
        }
        Some(_) if series.unbounded => format!("{} and more", rate(held(series))),
        Some(_) => rate(held(series)),
    }
}

/// The greatest rate without loss, as it was offered.
pub(crate) fn held(series: &Series<Measurement>) -> f64 {
    let offered = |limit: f64| series.points.iter().find(|(rate, _)| *rate == limit).map_or(limit, |p| p.1.offered_pps);
    series.limit.map_or(0.0, offered)
}
