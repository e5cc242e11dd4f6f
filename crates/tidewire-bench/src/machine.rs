//! The machine and the time that figures belong to.

use std::{env, fs, process::Command};

/// Processor, cores, memory, kernel, architecture and load average, in one line.
#[must_use]
pub fn describe() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name\t: ")).unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = memory.split_ascii_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!(
        "{model}, {cores} cores, {} GiB, Linux {}, {} (load before: {})",
        kib >> 20,
        output_of("uname", &["-r"]),
        env::consts::ARCH,
        load.split(' ').next().unwrap_or_default()
    )
}

/// Date and time, UTC.
#[must_use]
pub fn date() -> String {
    output_of("date", &["-u", "+%Y-%m-%d %H:%M UTC"])
}

/// The standard output of a command without the white space around it; the error's text if it cannot be started.
#[must_use]
pub fn output_of(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output();
    output.map_or_else(|error| error.to_string(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
