//! Programs run in turn, and what they cost.

use serde::Serialize;
use serde_json::Value;

use crate::{
    median::median,
    program::{Finished, Program},
};

/// Cost of a program: medians over the runs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cost {
    /// The program's name in the table.
    pub name: String,
    /// The command.
    pub command: String,
    /// User and system seconds.
    pub cpu_s: f64,
    /// Wall seconds.
    pub wall_s: f64,
    /// Greatest resident memory of any run, bytes.
    pub peak_bytes: u64,
    /// The least and the greatest CPU seconds of the runs.
    pub spread_s: [f64; 2],
    /// Number of measured runs.
    pub runs: usize,
    /// The last line of the program's output, where that is JSON.
    #[serde(rename = "said")]
    pub output: Value,
    /// Why there is no figure.
    pub failed: Option<String>,
}

/// Runs all programs in turn, once to warm up and then `runs` times, and returns each one's medians.
///
/// # Errors
/// A program could not be started, or failed though it must not.
pub fn in_turn(programs: &[Program], runs: usize) -> Result<Vec<Cost>, String> {
    let mut all: Vec<Vec<Finished>> = programs.iter().map(|_| Vec::new()).collect();
    let mut failures: Vec<Option<String>> = vec![None; programs.len()];
    for turn in 0..=runs {
        for (index, program) in programs.iter().enumerate() {
            if failures[index].is_some() {
                continue;
            }
            match program.run().and_then(succeeded) {
                Ok(finished) if turn > 0 => all[index].push(finished),
                Ok(_) => {}
                Err(failure) if program.may_fail => failures[index] = Some(failure),
                Err(failure) => return Err(format!("{}: {failure}\n  {}", program.name, program.command())),
            }
        }
    }
    let costs = programs.iter().zip(all).zip(failures);
    Ok(costs.map(|((program, runs), failed)| summary(program, &runs, failed)).collect())
}

/// A run that ended with exit status 0; otherwise the status and the end of standard error.
fn succeeded(finished: Finished) -> Result<Finished, String> {
    let errors = || finished.errors.trim().chars().take(300).collect::<String>();
    match finished.usage.status {
        0 => Ok(finished),
        status => Err(format!("exit status {status}: {}", errors())),
    }
}

fn summary(program: &Program, runs: &[Finished], failed: Option<String>) -> Cost {
    let cpu: Vec<f64> = runs.iter().map(|run| run.usage.cpu_s()).collect();
    Cost {
        name: program.name.clone(),
        command: program.command(),
        cpu_s: median(&cpu),
        wall_s: median(&runs.iter().map(|run| run.wall_s).collect::<Vec<_>>()),
        peak_bytes: runs.iter().map(|run| run.usage.peak_bytes).max().unwrap_or(0),
        spread_s: [cpu.iter().copied().fold(f64::NAN, f64::min), cpu.iter().copied().fold(f64::NAN, f64::max)],
        runs: runs.len(),
        output: runs.last().map_or(Value::Null, Finished::json),
        failed,
    }
}
