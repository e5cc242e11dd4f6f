//! The rows, and what they have in common.

mod calls;
mod cutoff;
mod engines;
mod overload;
mod streams;
mod work;

use super::{
    Bench,
    point::{Load, Point, measure},
    program::Program,
    report::{Section, percent, rate},
    stage::Stage,
    sweep::{Plan, Series, Verdict, sweep},
};

/// Measures a row.
type Row = fn(&Bench) -> Result<Section, String>;

/// All rows by name.
pub const ROWS: &[(&str, Row)] = &[
    ("calls", calls::run),
    ("cutoff", cutoff::run),
    ("flows", cutoff::by_flows),
    ("delivery", streams::by_rate),
    ("streams", streams::by_streams),
    ("engines", engines::run),
    ("overload", overload::run),
    ("work", work::run),
    (TEN_MILLION, streams::ten_million),
];

/// A row of ten minutes, which is measured only where it is named.
pub const TEN_MILLION: &str = "ten-million";

/// Loads with a rate.
fn at(load: &Load, rate: f64) -> Load {
    Load { rate, ..load.clone() }
}

/// Sweeps the rate of a load for a program (or nobody).
fn series(
    stage: &Stage<'_>,
    program: Option<&Program>,
    load: &Load,
    plan: &Plan,
    section: &mut Section,
) -> Result<Series<Point>, String> {
    series_of(stage, program, &|rate| at(load, rate), plan, section)
}

/// Sweeps a rate for a program (or nobody). Points go to the section; a program that fails ends its series.
fn series_of(
    stage: &Stage<'_>,
    program: Option<&Program>,
    load: &dyn Fn(f64) -> Load,
    plan: &Plan,
    section: &mut Section,
) -> Result<Series<Point>, String> {
    let name = program.map_or("nobody", |program| &program.name);
    let result = sweep(
        plan,
        |rate| {
            let point = measure(stage, program, &load(rate))?;
            eprintln!("bench-live:   {}", line(&point));
            match &point.failed {
                Some(why) => Err(format!("{name}: {why}")),
                None => Ok(point),
            }
        },
        Point::verdict,
    );
    match result {
        Ok(series) => {
            section.points.extend(series.points.iter().map(|(_, point)| point.clone()));
            Ok(series)
        }
        Err(why) => {
            eprintln!("bench-live:   {why}");
            section.skipped.push(why);
            Ok(Series { points: Vec::new(), limit: None, unbounded: false })
        }
    }
}

/// Measures one point and notes it.
fn single(stage: &Stage<'_>, program: &Program, load: &Load, section: &mut Section) -> Result<Option<Point>, String> {
    let point = measure(stage, Some(program), load)?;
    eprintln!("bench-live:   {}", line(&point));
    if let Some(why) = &point.failed {
        section.skipped.push(format!("{}: {why}", program.name));
        return Ok(None);
    }
    section.points.push(point.clone());
    Ok(Some(point))
}

/// The programs that are there; why others are not goes to the section.
fn those(programs: Vec<Result<Program, String>>, section: &mut Section) -> Vec<Program> {
    let mut there = Vec::new();
    for program in programs {
        match program {
            Ok(program) => {
                section.commands.push((program.name.clone(), short(&program.command())));
                there.push(program);
            }
            Err(why) => section.skipped.push(why),
        }
    }
    there
}

/// A command without the folders of its program.
fn short(command: &str) -> String {
    let (program, rest) = command.split_once(' ').unwrap_or((command, ""));
    format!("{} {rest}", program.rsplit('/').next().unwrap_or(program))
}

fn line(point: &Point) -> String {
    let Point { program, offered_pps, loss, cpu, softirq, .. } = point;
    if let Some(why) = &point.failed {
        return format!("{program}: {why}");
    }
    format!(
        "{program}: {} of {} bytes, {} flows: lost {} % (interface {}, ring {}, left unread {}, unexplained {}), CPU {} + {} %, backlog {:.2} s{}",
        rate(*offered_pps),
        point.size,
        point.flows,
        percent(*loss),
        point.lost_interface,
        point.lost_ring,
        point.left_unread,
        point.unexplained,
        percent(*cpu),
        percent(*softirq),
        point.backlog_s,
        match point.exact {
            Some(true) => ", sums exact",
            Some(false) => ", SUMS WRONG",
            None => "",
        }
    )
}

/// A limit in words.
fn limit(series: &Series<Point>) -> String {
    let last = series.points.last().map(|(_, point)| point);
    match series.limit {
        None if series.points.is_empty() => "–".into(),
        None => format!("below {}", rate(series.points[0].1.offered_pps)),
        Some(_) if series.unbounded && last.is_some_and(|point| point.verdict() == Verdict::HeldLess) => {
            format!("{} (all that could be offered)", rate(held(series)))
        }
        Some(_) if series.unbounded => format!("{} and more", rate(held(series))),
        Some(_) => rate(held(series)),
    }
}

/// The rate that a series held, as it was offered.
fn held(series: &Series<Point>) -> f64 {
    let offered = |limit: f64| series.points.iter().find(|(rate, _)| *rate == limit).map_or(limit, |p| p.1.offered_pps);
    series.limit.map_or(0.0, offered)
}
