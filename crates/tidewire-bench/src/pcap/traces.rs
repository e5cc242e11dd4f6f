//! A folder for the captures of a row.

use std::{fs, path::PathBuf};

use super::options::Options;

/// A folder for captures, which is removed with the value.
pub struct Traces(PathBuf);

impl Traces {
    /// Creates it below the output folder.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn new(options: &Options) -> Result<Self, String> {
        let folder = options.output.join("traces");
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        Ok(Self(folder))
    }

    /// The path of a capture.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
