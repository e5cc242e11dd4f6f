//! A differential fuzzer: random packets go to a real socket of the running kernel in another network namespace and to the
//! engine; what the application received is compared with what was delivered.
//!
//! A difference is *told* where the engine reported an anomaly, a conflict or a gap for the stream, and *silent*
//! otherwise. A sample of the told ones is made smaller as long as the readings differ: what was told of something else
//! in the script goes away, and a silent difference behind it shows.

mod anomalies;
pub mod frames;
pub mod generate;
pub mod generator;
pub mod judge;
mod md5;
pub mod minimize;
mod network;
pub mod player;
pub mod report;
pub mod script;
mod text;

use std::{
    io::{self, Write},
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::oracle::network::Network;
use generator::Generator;
use judge::{Outcome, judge};
use minimize::{Small, minimize};
use player::Player;
pub use report::Report;

/// Scripts side by side.
const BATCH: usize = 2000;
/// Silent differences of a batch that are made smaller, and told ones.
const SMALLER: [usize; 2] = [40, 10];
/// So many are made smaller side by side.
const TOGETHER: usize = 100;
/// Distinct scripts kept.
const KEPT: usize = 200;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// For how long.
    pub time: Duration,
    /// At most so many scripts; 0: as time allows.
    pub scripts: u64,
    /// Where the random scripts begin.
    pub seed: u64,
    /// Whether IP and link layers are varied too.
    pub network: bool,
    /// Where the smallest scripts of silent differences are written.
    pub cases: Option<PathBuf>,
}

/// Runs random scripts; `progress` gets a line about every ten seconds.
///
/// # Errors
/// What the kernel says.
pub fn run(options: &Options, progress: &mut (dyn Write + Send)) -> io::Result<Report> {
    Network::inside(|network| {
        let mut player = Player::new(network)?;
        let mut generator = Generator::new(options.seed, options.network);
        let mut report = Report { seed: options.seed, ..Report::default() };
        let (began, mut said, mut differing) = (Instant::now(), Instant::now(), Vec::new());
        while began.elapsed() < options.time && (options.scripts == 0 || report.scripts < options.scripts) {
            batch(&mut player, &mut generator, &mut report, &mut differing)?;
            if differing.len() >= TOGETHER {
                make_smaller(&mut player, &mut report, &mut differing)?;
            }
            if said.elapsed() > Duration::from_secs(10) {
                said = Instant::now();
                writeln!(progress, "{} s: {}", began.elapsed().as_secs(), report.line())?;
            }
        }
        make_smaller(&mut player, &mut report, &mut differing)?;
        if let Some(folder) = &options.cases {
            report.write(folder)?;
        }
        Ok(report)
    })
}

/// Plays one batch of random scripts, and keeps some of those that differ.
fn batch(
    player: &mut Player<'_>,
    generator: &mut Generator,
    report: &mut Report,
    differing: &mut Vec<Small>,
) -> io::Result<()> {
    let scripts: Vec<_> = (0..BATCH).map(|_| generator.script()).collect();
    let (played, packets) = player.play(&scripts)?;
    report.packets += packets.len() as u64;
    let mut left = SMALLER;
    let verdicts = judge(&scripts, played, &packets);
    for (script, verdict) in scripts.into_iter().zip(verdicts) {
        report.count(&verdict);
        let left = match verdict.outcome() {
            Outcome::Agreed => continue,
            Outcome::Silent => &mut left[0],
            Outcome::Told => &mut left[1],
        };
        if *left > 0 && report.found.len() < KEPT {
            *left -= 1;
            differing.push(Small { script, verdict });
        }
    }
    Ok(())
}

fn make_smaller(player: &mut Player<'_>, report: &mut Report, differing: &mut Vec<Small>) -> io::Result<()> {
    for small in minimize(player, std::mem::take(differing))? {
        report.keep(small);
    }
    Ok(())
}

/// Plays scripts once.
///
/// # Errors
/// What the kernel says.
pub fn play(scripts: &[script::Script]) -> io::Result<Vec<judge::Verdict>> {
    Network::inside(|network| {
        let (played, packets) = Player::new(network)?.play(scripts)?;
        Ok(judge(scripts, played, &packets))
    })
}

/// Plays scripts from files, and says what came of each, packets included.
///
/// # Errors
/// What the kernel or the file system says, and what is wrong with a script.
pub fn replay(files: &[PathBuf]) -> io::Result<String> {
    let mut text = String::new();
    let scripts = files.iter().map(|file| read(file)).collect::<io::Result<Vec<_>>>()?;
    let (verdicts, packets) = Network::inside(|network| {
        let (played, packets) = Player::new(network)?.play(&scripts)?;
        Ok((judge(&scripts, played, &packets), packets))
    })?;
    for (at, (file, verdict)) in files.iter().zip(verdicts).enumerate() {
        text += &format!("{}: {:?}: {}\n", file.display(), verdict.outcome(), verdict.describe());
        for packet in packets.iter().filter(|packet| packet.script as usize == at) {
            text += &format!("  {:>8.3} ms {}\n", packet.at_ns as f64 / 1e6, frames::describe(&packet.frame));
        }
    }
    Ok(text)
}

/// Reads a script.
///
/// # Errors
/// What the file system says, and what is wrong with the script.
pub fn read(file: &std::path::Path) -> io::Result<script::Script> {
    let text = std::fs::read_to_string(file)?;
    text.parse().map_err(|error| io::Error::other(format!("{}: {error}", file.display())))
}
