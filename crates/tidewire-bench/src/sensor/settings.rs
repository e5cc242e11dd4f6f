//! Settings of every row of the sensor's benchmark.

use std::path::PathBuf;

use crate::program::Program;

/// Settings of a run.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// Few and short measurements.
    pub quick: bool,
    /// Folder of the release build.
    pub programs: PathBuf,
    /// The compiled peers: pipe, Unix socket, ZeroMQ.
    pub transport: PathBuf,
    /// Folder for traces.
    pub folder: PathBuf,
    /// A recording of real traffic, if there is one.
    pub big: Option<PathBuf>,
}

impl Settings {
    /// How often each program is measured.
    pub fn rounds(&self) -> usize {
        if self.quick { 1 } else { 5 }
    }

    /// A program of this build.
    pub fn program(&self, name: &str, program: &str, words: &[&str]) -> Program {
        let path = self.programs.join(program).display().to_string();
        Program::new(name, &[&[path.as_str()], words].concat())
    }
}
