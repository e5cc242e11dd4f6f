//! Kills readers and publishers of a queue at random moments, and checks what others see of it:
//! `cargo run -p tidewire-queue --example queue_crash -- [seconds=10] [seed=1] [kills=0]` (0: as many as there is time for).
//!
//! Prints counts as one line of JSON; a violation is a sentence and exit code 1.

mod roles;
mod run;

use std::{env, process::ExitCode, time::Duration};

fn argument(name: &str, default: u64) -> u64 {
    let value = |text: String| text.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
    env::args().find_map(value).unwrap_or(default)
}

fn main() -> ExitCode {
    if roles::play() {
        return ExitCode::SUCCESS;
    }
    let kills = match argument("kills", 0) {
        0 => u64::MAX,
        kills => kills,
    };
    let program = env::current_exe().expect("the program's own path");
    let result = run::run(&run::Plan {
        command: &|| std::process::Command::new(&program),
        time: Duration::from_secs(argument("seconds", 10)),
        kills,
        seed: argument("seed", 1),
    });
    match result {
        Ok(counts) => {
            println!("{}", counts.json());
            ExitCode::SUCCESS
        }
        Err(violation) => {
            eprintln!("queue_crash: {violation}");
            ExitCode::FAILURE
        }
    }
}
