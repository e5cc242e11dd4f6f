//! A program that is measured: its command line, where it may run, and one run from start to end.

use std::{
    fs::{self, File},
    io::{self, Read, Seek},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use serde_json::Value;

use crate::{
    peer_output::Format,
    sys::{self, Usage},
};

/// The core of the program that is measured; the generator of live traffic has core 0.
pub const CORE: usize = 1;

/// A program that a row measures.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name in tables and plots.
    pub name: String,
    /// The command line; `IFACE` stands for the interface.
    pub words: Vec<String>,
    /// How it reports what it received.
    pub format: Format,
    /// Whether it is pinned to [`CORE`]; otherwise it may use the generator's core as well.
    pub pinned: bool,
    /// A folder that is created empty before each run and removed afterwards.
    pub scratch: Option<PathBuf>,
    /// Whether standard output and standard error go to `/dev/null`.
    pub quiet: bool,
    /// Whether a failure (an exit status other than 0, or a signal) is a result, not an error: some peers crash.
    pub may_fail: bool,
    /// Whether strace counts its system calls; only live measurements do.
    pub traced: bool,
}

/// One run of a program, from start to end.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// Usage that the kernel accounted for.
    pub usage: Usage,
    /// Wall seconds.
    pub wall_s: f64,
    /// The end of its standard output.
    pub output: String,
    /// The end of its standard error.
    pub errors: String,
    /// Bytes that it wrote to its standard output and into its scratch folder.
    pub written_bytes: u64,
}

impl Program {
    /// A program pinned to [`CORE`] that reports as Tidewire's commands do.
    #[must_use]
    pub fn new(name: &str, words: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            format: Format::Tidewire,
            pinned: true,
            scratch: None,
            quiet: false,
            may_fail: false,
            traced: false,
        }
    }

    /// Sets how it reports what it received.
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// Gives it a scratch folder.
    #[must_use]
    pub fn scratch(mut self, folder: &Path) -> Self {
        self.scratch = Some(folder.to_owned());
        self
    }

    /// Lets it run on all cores.
    #[must_use]
    pub fn unpinned(mut self) -> Self {
        self.pinned = false;
        self
    }

    /// Discards what it prints.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Accepts its failure as a result.
    #[must_use]
    pub fn peer(mut self) -> Self {
        self.may_fail = true;
        self
    }

    /// Runs it under strace, which counts its system calls and slows it down.
    #[must_use]
    pub fn traced(mut self) -> Self {
        self.traced = true;
        self
    }

    /// The command as it would be typed.
    #[must_use]
    pub fn command(&self) -> String {
        self.words.join(" ")
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// It cannot be started. An exit status other than 0 is no error.
    pub fn run(&self) -> Result<Finished, String> {
        if let Some(folder) = &self.scratch {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        }
        let mut result = self.run_in_scratch().map_err(|error| error.to_string());
        if let Some(folder) = &self.scratch {
            if let Ok(finished) = &mut result {
                finished.written_bytes += bytes_in(folder).map_err(|error| error.to_string())?;
            }
            let _ = fs::remove_dir_all(folder);
        }
        result
    }

    fn run_in_scratch(&self) -> io::Result<Finished> {
        let mut output = temporary_file()?;
        let mut errors = temporary_file()?;
        let mut command = if self.pinned {
            // taskset replaces itself with the program (exec), so that the kernel accounts for the program alone.
            let mut command = Command::new("taskset");
            command.args(["-c", &CORE.to_string()]).args(&self.words);
            command
        } else {
            let mut command = Command::new(&self.words[0]);
            command.args(&self.words[1..]);
            command
        };
        command.stdin(Stdio::null());
        if self.quiet {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        } else {
            command.stdout(output.try_clone()?).stderr(errors.try_clone()?);
        }
        let begun = Instant::now();
        let child = command.spawn()?;
        let usage = sys::wait(&child)?;
        let wall_s = begun.elapsed().as_secs_f64();
        let written_bytes = output.metadata()?.len();
        Ok(Finished { usage, wall_s, output: tail(&mut output)?, errors: tail(&mut errors)?, written_bytes })
    }
}

impl Finished {
    /// The last line of the output, where that is JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let line = self.output.trim_end().lines().next_back();
        line.and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default()
    }
}

/// Prefix of a command that counts its instructions: [`counted`] finds them in its standard error. Without caches to simulate, cachegrind
/// needs a third of callgrind's time for each instruction.
pub const COUNTER: [&str; 5] =
    ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--vgdb=no", "--cachegrind-out-file=/dev/null"];

/// The instructions that were counted.
///
/// # Errors
/// None were.
pub fn counted(errors: &str) -> Result<f64, String> {
    let line = errors.lines().find(|line| line.contains("I   refs:")).ok_or("no instructions were counted")?;
    let digits: String = line.rsplit(' ').next().unwrap_or_default().split(',').collect();
    digits.parse().map_err(|_| format!("not a number: {line}"))
}

/// Bytes of the files beneath a folder.
///
/// # Errors
/// The error of the file system.
pub fn bytes_in(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { bytes_in(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

/// Creates an unlinked file, on tmpfs where there is one: what programs print costs them as much as writing it.
///
/// # Errors
/// The error of the file system.
pub fn temporary_file() -> io::Result<File> {
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
