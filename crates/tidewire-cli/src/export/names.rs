//! Names of files that are hidden until they are complete.

use std::{ffi::OsString, io, path::Path, sync::Arc};

use crate::output_dir::Folder;

/// Most names that are tried for a file of several.
const NAMES_MAX: u32 = 100_000;

/// The files of one name in a folder, one after the other.
pub struct Names {
    folder: Arc<Folder>,
    name: OsString,
    number: u32,
    /// Whether there may be several, so that each has the time of its beginning and a number.
    are_several: bool,
}

impl Names {
    pub fn new(folder: &Arc<Folder>, name: OsString, are_several: bool) -> Self {
        Self { folder: Arc::clone(folder), name, number: 0, are_several }
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The hidden name of the next file. Files of one run have one token: the number keeps those of a name apart.
    pub fn hidden(&self) -> String {
        self.folder.hidden(&format!("{}.{}", self.name.to_string_lossy(), self.number))
    }

    /// Whether a file of this name is there that no file of this run replaced.
    pub fn is_of_earlier_run(&self) -> bool {
        !self.are_several && self.number == 0 && self.folder.by_handle().join(&self.name).exists()
    }

    /// Gives a file its name: where there are several, none that exists.
    pub fn give(&mut self, hidden: &str, opened_ns: u64) -> io::Result<()> {
        self.number += 1;
        if !self.are_several {
            return self.folder.rename(hidden, &self.name);
        }
        loop {
            let renamed = self.folder.rename_new(hidden, numbered(&self.name, opened_ns, self.number));
            match renamed {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && self.number < NAMES_MAX => {
                    self.number += 1
                }
                renamed => return renamed,
            }
        }
    }
}

/// `eve.json` becomes `eve.20261122T063000Z.000001.json`.
fn numbered(name: &OsString, opened_ns: u64, number: u32) -> OsString {
    let opened = jiff::Timestamp::from_second((opened_ns / 1_000_000_000) as i64).unwrap_or_default();
    let moment = opened.strftime("%Y%m%dT%H%M%SZ");
    let path = Path::new(name);
    let mut all = path.file_stem().unwrap_or(name).to_owned();
    all.push(format!(".{moment}.{number:06}"));
    if let Some(extension) = path.extension() {
        all.push(".");
        all.push(extension);
    }
    all
}
