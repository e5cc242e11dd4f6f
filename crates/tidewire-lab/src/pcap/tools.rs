//! What rows over files have in common.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use super::Options;

/// The middle of some figures.
pub fn middle(all: &[f64]) -> f64 {
    let mut sorted = all.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The command of these words, which reads nothing.
pub fn command(words: &[String]) -> Command {
    let mut command = Command::new(words.first().map_or("", String::as_str));
    command.args(words.get(1..).unwrap_or_default()).stdin(Stdio::null());
    command
}

/// A folder for captures that goes away with it.
pub struct Traces(PathBuf);

impl Traces {
    pub fn new(options: &Options) -> Result<Self, String> {
        let folder = options.output.join("traces");
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        Ok(Self(folder))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
