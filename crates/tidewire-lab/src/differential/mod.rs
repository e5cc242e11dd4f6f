//! A differential fuzzer: random packets are sent to a socket of the running kernel in another network namespace and to the
//! engine; the bytes that the application received are compared with those that the engine delivered.
//!
//! A difference is *reported* if the engine reported an anomaly, a conflict or a gap for the stream, and *silent*
//! otherwise. A sample of reported differences is minimized as long as the results differ: this removes reports about other
//! parts of the script, and exposes silent differences that they masked.

mod active;
mod anomalies;
pub mod frames;
pub mod generate;
pub mod generator;
pub mod judge;
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
pub use generator::Side;
use judge::{Outcome, judge};
use minimize::{Small, minimize};
use player::Player;
pub use report::Report;

/// Scripts played concurrently.
const BATCH: usize = 2000;
/// How many silent and how many reported differences of a batch are minimized.
const SMALLER: [usize; 2] = [40, 10];
/// How many are minimized concurrently.
const TOGETHER: usize = 100;
/// Distinct scripts kept.
const KEPT: usize = 200;

/// How the fuzzer is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Duration.
    pub time: Duration,
    /// Greatest number of scripts; 0: no limit.
    pub scripts: u64,
    /// Seed of the random scripts.
    pub seed: u64,
    /// Whether to vary IP and link layers as well.
    pub network: bool,
    /// Which ends the host is; batches take turns.
    pub sides: Vec<Side>,
    /// Folder for the minimized scripts of silent differences.
    pub cases: Option<PathBuf>,
}

/// Runs random scripts; writes a line to `progress` about every ten seconds.
///
/// # Errors
/// The error of the kernel.
pub fn run(options: &Options, progress: &mut (dyn Write + Send)) -> io::Result<Report> {
    Network::inside(|network| {
        let mut player = Player::new(network)?;
        let mut generator = Generator::new(options.seed, options.network);
        let mut report = Report { seed: options.seed, ..Report::default() };
        let (began, mut said, mut differing) = (Instant::now(), Instant::now(), Vec::new());
        let mut sides = options.sides.iter().copied().cycle();
        while began.elapsed() < options.time && (options.scripts == 0 || report.scripts < options.scripts) {
            let Some(side) = sides.next() else { break };
            batch(&mut player, &mut generator, side, &mut report, &mut differing)?;
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

/// Plays one batch of random scripts, and keeps some of those whose results differ.
fn batch(
    player: &mut Player<'_>,
    generator: &mut Generator,
    side: Side,
    report: &mut Report,
    differing: &mut Vec<Small>,
) -> io::Result<()> {
    let scripts: Vec<_> = (0..BATCH).map(|_| generator.script(side)).collect();
    let (played, packets) = player.play(&scripts)?;
    report.packets += packets.len() as u64;
    let mut left = SMALLER;
    let verdicts = judge(&scripts, played, &packets);
    for (script, verdict) in scripts.into_iter().zip(verdicts) {
        report.count(&verdict);
        let left = match verdict.outcome() {
            Outcome::Agreed => continue,
            Outcome::Silent => &mut left[0],
            Outcome::Reported => &mut left[1],
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
/// The error of the kernel.
pub fn play(scripts: &[script::Script]) -> io::Result<Vec<judge::Verdict>> {
    Network::inside(|network| {
        let (played, packets) = Player::new(network)?.play(scripts)?;
        Ok(judge(scripts, played, &packets))
    })
}

/// Plays scripts from files, and describes the result of each, packets included.
///
/// # Errors
/// The error of the kernel or the file system; a script that cannot be parsed.
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
/// The error of the file system; a script that cannot be parsed.
pub fn read(file: &std::path::Path) -> io::Result<script::Script> {
    let text = std::fs::read_to_string(file)?;
    text.parse().map_err(|error| io::Error::other(format!("{}: {error}", file.display())))
}
