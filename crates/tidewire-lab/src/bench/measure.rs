//! Programs run in turn, each pinned to a core, and what they cost.

use std::{
    fs::{self, File},
    io::{self, Read, Seek},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use serde::Serialize;
use serde_json::Value;

use crate::sys;

/// One program of a row.
#[derive(Clone, Debug)]
pub struct Program {
    /// What the table calls it.
    pub name: String,
    /// The command line.
    pub words: Vec<String>,
    /// Environment variables of its own.
    pub variables: Vec<(String, String)>,
    /// Made anew and empty before each run, and removed after it.
    pub scratch: Option<PathBuf>,
    /// The core it is pinned to; `None`: it may use all.
    pub core: Option<usize>,
    /// Whether a failure (an exit status other than 0, or a signal) is a result, not an error: some peers crash.
    pub may_fail: bool,
}

impl Program {
    /// A program pinned to the measuring core.
    #[must_use]
    pub fn new(name: &str, words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Self { name: name.to_owned(), words, variables: Vec::new(), scratch: None, core: Some(1), may_fail: false }
    }

    /// With a scratch folder of its own.
    #[must_use]
    pub fn scratch(mut self, folder: &Path) -> Self {
        self.scratch = Some(folder.to_owned());
        self
    }

    /// On all cores.
    #[must_use]
    pub fn unpinned(mut self) -> Self {
        self.core = None;
        self
    }

    /// Whose failure is a result.
    #[must_use]
    pub fn peer(mut self) -> Self {
        self.may_fail = true;
        self
    }

    /// The command as one would type it.
    #[must_use]
    pub fn command(&self) -> String {
        self.words.join(" ")
    }
}

/// What a program cost: medians over the runs.
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
    /// How many runs were measured.
    pub runs: usize,
    /// What the program said on its last line, where that is JSON.
    pub said: Value,
    /// Why there is no figure.
    pub failed: Option<String>,
}

struct Once {
    cpu_s: f64,
    wall_s: f64,
    peak_bytes: u64,
    said: Value,
}

/// Runs all programs in turn, once to warm up and then `runs` times, and gives each one's medians.
///
/// # Errors
/// A program that could not be started, or one that must not fail and did.
pub fn in_turn(programs: &[Program], runs: usize) -> Result<Vec<Cost>, String> {
    let mut all: Vec<Vec<Once>> = programs.iter().map(|_| Vec::new()).collect();
    let mut failures: Vec<Option<String>> = vec![None; programs.len()];
    for turn in 0..=runs {
        for (index, program) in programs.iter().enumerate() {
            if failures[index].is_some() {
                continue;
            }
            match once(program) {
                Ok(cost) if turn > 0 => all[index].push(cost),
                Ok(_) => {}
                Err(failure) if program.may_fail => failures[index] = Some(failure),
                Err(failure) => return Err(format!("{}: {failure}\n  {}", program.name, program.command())),
            }
        }
    }
    let costs = programs.iter().zip(all).zip(failures);
    Ok(costs.map(|((program, runs), failed)| summary(program, &runs, failed)).collect())
}

fn summary(program: &Program, runs: &[Once], failed: Option<String>) -> Cost {
    let cpu: Vec<f64> = runs.iter().map(|run| run.cpu_s).collect();
    Cost {
        name: program.name.clone(),
        command: program.command(),
        cpu_s: median(&cpu),
        wall_s: median(&runs.iter().map(|run| run.wall_s).collect::<Vec<_>>()),
        peak_bytes: runs.iter().map(|run| run.peak_bytes).max().unwrap_or(0),
        spread_s: [cpu.iter().copied().fold(f64::NAN, f64::min), cpu.iter().copied().fold(f64::NAN, f64::max)],
        runs: runs.len(),
        said: runs.last().map_or(Value::Null, |run| run.said.clone()),
        failed,
    }
}

/// The middle one; of an even number, the mean of the middle two.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

fn once(program: &Program) -> Result<Once, String> {
    if let Some(folder) = &program.scratch {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    }
    let result = run(program).map_err(|error| error.to_string());
    if let Some(folder) = &program.scratch {
        let _ = fs::remove_dir_all(folder);
    }
    result?
}

fn run(program: &Program) -> io::Result<Result<Once, String>> {
    let mut output = temporary_file()?;
    let mut errors = temporary_file()?;
    let mut command = match program.core {
        // taskset puts the program in its own place (exec), so that what is accounted for is the program's.
        Some(core) => {
            let mut command = Command::new("taskset");
            command.args(["-c", &core.to_string()]).args(&program.words);
            command
        }
        None => {
            let mut command = Command::new(&program.words[0]);
            command.args(&program.words[1..]);
            command
        }
    };
    command.envs(program.variables.iter().cloned());
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(errors.try_clone()?);
    let begun = Instant::now();
    let child = command.spawn()?;
    let usage = sys::wait(&child)?;
    let wall_s = begun.elapsed().as_secs_f64();
    if usage.status != 0 {
        let mut text = tail(&mut errors)?;
        text.truncate(300);
        return Ok(Err(format!("exit status {}: {}", usage.status, text.trim())));
    }
    let said = tail(&mut output)?;
    let said = said.trim_end().lines().next_back().and_then(|line| serde_json::from_str(line).ok());
    let cpu_s = usage.user_s + usage.system_s;
    Ok(Ok(Once { cpu_s, wall_s, peak_bytes: usage.peak_bytes, said: said.unwrap_or(Value::Null) }))
}

/// A file without a name on tmpfs where there is one: what programs print is written, and costs them as much as that does.
fn temporary_file() -> io::Result<File> {
    let folder = if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" };
    let path = format!("{folder}/tidewire-bench-{}-{:p}", std::process::id(), &raw const folder);
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// The last few kilobytes of a file, as text.
fn tail(file: &mut File) -> io::Result<String> {
    const BYTES: u64 = 16_384;
    let from = file.metadata()?.len().saturating_sub(BYTES);
    file.seek(io::SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
