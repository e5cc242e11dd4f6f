//! Names of files: hidden until they are complete, or until there is something in them that others may follow.

use std::{
    ffi::{OsStr, OsString},
    fs::{File, Metadata},
    io,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::Path,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use tidewire::legible::legible;

use crate::{
    error::Notify,
    place::folder::{self, Folder, Identity},
    settings::Settings,
};

/// Most names that are tried for a file of several.
const NAMES_MAX: u32 = 100_000;

/// The files of one name in a folder, one after the other.
pub struct Names {
    folder: Arc<Folder>,
    name: OsString,
    number: u32,
    /// Whether there may be several, so that each has the time of its beginning and a number.
    are_several: bool,
    /// Whether this run is to replace what an earlier one wrote: it saw all of its input.
    pub is_whole: bool,
    /// The file of an earlier run whose name a growing file of this run has.
    earlier: Option<Earlier>,
    notify: Notify,
}

/// A file of an earlier run, which has another name until this run's is whole.
struct Earlier {
    name: OsString,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Earlier {
    /// Whether no process wrote to it since it was put aside.
    fn is_as_before(&self, found: &Metadata) -> bool {
        found.is_file() && found.len() == self.bytes && found.modified().ok() == self.modified
    }
}

impl Names {
    pub fn new(folder: &Arc<Folder>, name: OsString, settings: &Settings) -> Self {
        Self {
            folder: Arc::clone(folder),
            name,
            number: 0,
            are_several: settings.rotate.is_on(),
            is_whole: true,
            earlier: None,
            notify: settings.notify.clone(),
        }
    }

    /// Several files, each of which the caller completes.
    #[cfg(feature = "parquet")]
    pub fn of_several(folder: &Arc<Folder>, name: OsString, settings: &Settings) -> Self {
        Self { are_several: true, ..Self::new(folder, name, settings) }
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The name that the file gets; `None`: there are several, each with a name of its own.
    #[cfg(feature = "sqlite")]
    pub fn final_name(&self) -> Option<&OsStr> {
        (!self.are_several).then_some(&*self.name)
    }

    /// The hidden name of the next file. Files of one run have one token: the number keeps those of a name apart.
    pub fn hidden(&self) -> String {
        self.folder.hidden(&format!("{}.{}", self.name.to_string_lossy(), self.number))
    }

    /// Whether a file of this name is there that no file of this run replaced.
    pub fn is_of_earlier_run(&self) -> bool {
        !self.are_several && self.number == 0 && self.folder.by_handle().join(&self.name).exists()
    }

    /// Gives a complete file its name: where there are several, none that exists. A run that was ended early replaces no file of an
    /// earlier one: its own stays hidden.
    /// `what`: what is in it, in words.
    pub fn give(&mut self, hidden: &str, file: Identity, opened_ns: u64, what: &str) -> io::Result<()> {
        self.number += 1;
        if !self.are_several {
            self.check_unlocked()?;
            if !self.folder.give(hidden, file, &self.name, self.is_whole)? {
                let name = self.name.to_string_lossy();
                (self.notify)(format_args!("{}", folder::earlier_stays(&legible(&name), what, hidden)));
            }
            return Ok(());
        }
        self.folder.check(hidden, file)?;
        (self.number, _) = self.number_it(hidden.as_ref(), opened_ns, self.number)?;
        self.folder.sync_names()
    }

    /// Refuses a name whose file another run writes: that would be taken for one of an earlier run, and removed.
    ///
    /// # Errors
    /// Another run holds its lock.
    pub fn check_unlocked(&self) -> io::Result<()> {
        match self.folder.is_locked(&self.name) {
            true => Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another run writes it (it holds its lock); name another place, or end that run",
            )),
            false => Ok(()),
        }
    }

    /// Refuses a name that something else than a file has, or another user's file ([`Folder::check_name`]).
    ///
    /// # Errors
    /// The kind of file that has the name.
    pub fn check_name(&self) -> io::Result<()> {
        self.folder.check_name(&self.name)
    }

    /// Gives a file that grows the name without a number. What has it gets a number, as if it had been rotated.
    ///
    /// # Errors
    /// `ResourceBusy` where another run writes the file of that name; the system's error.
    pub fn show(&mut self, hidden: &str, file: Identity) -> io::Result<()> {
        self.folder.check(hidden, file)?;
        if let Ok(found) = self.found() {
            self.check_name()?;
            self.check_unlocked()?;
            self.folder.make_alike(hidden, file, &found)?;
            let modified = found.modified().ok();
            let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let ns = since.map_or(0, |passed| passed.as_nanos() as u64);
            let (_, name) = self.number_it(&self.name, ns, 1)?;
            if !self.are_several {
                self.earlier = Some(Earlier { name, bytes: found.len(), modified });
            }
        }
        self.folder.rename_new(hidden, &self.name)
    }

    /// Completes a file that was shown: where there are several, it gets a number. A file that another process moved keeps its name.
    pub fn number_shown(&mut self, file: &File, opened_ns: u64) -> io::Result<()> {
        if file.metadata()?.nlink() == 0 {
            return Err(io::Error::other("it was removed while it was written"));
        }
        self.number += 1;
        let is_there =
            self.found().is_ok_and(|found| folder::identity(file).is_ok_and(|own| own == folder::identity_of(&found)));
        if self.are_several && is_there {
            (self.number, _) = self.number_it(&self.name, opened_ns, self.number)?;
        }
        self.folder.sync_names()
    }

    /// Removes what an earlier run wrote, which this one's whole file replaces.
    pub fn remove_earlier(&mut self) {
        if let Some(earlier) = self.earlier.take() {
            let found = self.folder.by_handle().join(&earlier.name).symlink_metadata();
            if found.is_ok_and(|found| earlier.is_as_before(&found)) {
                let _ = self.folder.remove(&earlier.name);
            }
        }
    }

    /// The name of what an earlier run wrote, which stays.
    pub fn keep_earlier(&mut self) -> Option<OsString> {
        self.earlier.take().map(|earlier| earlier.name)
    }

    fn found(&self) -> io::Result<Metadata> {
        self.folder.by_handle().join(&self.name).symlink_metadata()
    }

    /// Renames a file to the first unused name of those from `number` on.
    fn number_it(&self, from: &OsStr, opened_ns: u64, mut number: u32) -> io::Result<(u32, OsString)> {
        loop {
            let name = numbered(&self.name, opened_ns, number);
            match self.folder.rename_new(from, &name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < NAMES_MAX => number += 1,
                renamed => return renamed.map(|()| (number, name)),
            }
        }
    }
}

/// Bytes of a name at most (`NAME_MAX`).
const NAME_BYTES_MAX: usize = 255;

/// `eve.json` becomes `eve.20261122T063000Z.000001.json`. Of a name that leaves no room for that, the beginning.
fn numbered(name: &OsString, opened_ns: u64, number: u32) -> OsString {
    let opened = jiff::Timestamp::from_second((opened_ns / 1_000_000_000) as i64).unwrap_or_default();
    let moment = opened.strftime("%Y%m%dT%H%M%SZ");
    let path = Path::new(name);
    let mut end = OsString::from(format!(".{moment}.{number:06}"));
    if let Some(extension) = path.extension() {
        end.push(".");
        end.push(beginning(extension, NAME_BYTES_MAX - end.len() - 1));
    }
    let stem = path.file_stem().unwrap_or(name);
    let mut all = beginning(stem, NAME_BYTES_MAX - end.len()).to_owned();
    all.push(end);
    all
}

/// The names of numbered files.
#[derive(Debug)]
pub struct Numbered {
    /// Bytes before the time of the beginning, and behind the number.
    start: Vec<u8>,
    end: Vec<u8>,
}

impl Numbered {
    /// Those of a name.
    pub fn of(name: &OsString) -> Self {
        const ANY: &[u8] = b".19700101T000000Z.000001";
        let all = numbered(name, 0, 1).into_encoded_bytes();
        // The name itself may look like it: the last one is the number's.
        let at = memchr::memmem::rfind(&all, ANY).unwrap_or(all.len());
        Self { start: all[..at].to_vec(), end: all.get(at + ANY.len()..).unwrap_or_default().to_vec() }
    }

    /// Whether a file has such a name.
    pub fn has(&self, found: &OsStr) -> bool {
        let middle = found.as_bytes().strip_prefix(&*self.start).and_then(|rest| rest.strip_suffix(&*self.end));
        let Some((moment, number)) = middle.and_then(|middle| middle.split_at_checked(".20261122T063000Z.".len()))
        else {
            return false;
        };
        let is_like = |(found, like): (&u8, &u8)| if *like == b'0' { found.is_ascii_digit() } else { found == like };
        moment.iter().zip(b".00000000T000000Z.").all(is_like)
            && (6..=10).contains(&number.len())
            && number.iter().all(u8::is_ascii_digit)
    }
}

/// At most `bytes_max` bytes of a name, whole characters where it is UTF-8.
fn beginning(name: &OsStr, bytes_max: usize) -> &OsStr {
    let bytes_max = name.to_str().map_or(bytes_max.min(name.len()), |text| text.floor_char_boundary(bytes_max));
    OsStr::from_bytes(&name.as_bytes()[..bytes_max])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_names_fit_into_a_folder() {
        let of = |name: &str| numbered(&name.into(), 1_795_329_000 * 1_000_000_000, 1).into_string().unwrap();
        assert_eq!(of("eve.json"), "eve.20261122T063000Z.000001.json");
        assert_eq!(of(".eve"), ".eve.20261122T063000Z.000001");
        for name in ["a".repeat(255), format!("{}.json", "ü".repeat(125)), format!("a.{}", "j".repeat(253))] {
            let shown = of(&name);
            assert!((254..=255).contains(&shown.len()) && shown.contains(".20261122T063000Z.000001"), "{shown}");
        }
        for name in ["eve.json", ".eve", "eve", "eve.19700101T000000Z.000001", &"a".repeat(255)] {
            let numbered = Numbered::of(&name.into());
            assert!(numbered.has(of(name).as_ref()), "{name}");
            assert!(!numbered.has(name.as_ref()) && !numbered.has(of("other.json").as_ref()), "{name}");
        }
    }
}
