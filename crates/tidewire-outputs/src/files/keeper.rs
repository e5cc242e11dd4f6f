//! Removes complete files of an output, so that they keep within their bounds: the oldest first.

use std::{
    ffi::{OsStr, OsString},
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tidewire::legible::legible;
use tidewire_types::clock::wall_ns;

use super::names::Numbered;
use crate::{
    error::Notify,
    keep::Keep,
    locking::lock,
    place::{folder::Folder, own_files::OwnFile},
    settings::Settings,
};

/// How often ages and free space are looked at.
const LOOK: Duration = Duration::from_secs(60);

/// The bounds of the files of one or several names in a folder.
///
/// Only files are removed that have a name as this output gives it, with the time of their beginning and a number, that are regular
/// files, and that belong to this process's user. Links, directories, files of other users and of other names stay, and so do
/// files without their number, which are still written. Folders of dates and hours go with their last file.
pub struct Keeper {
    folder: Arc<Folder>,
    names: Vec<Numbered>,
    /// Tables with a folder in this one, in which files are by date and hour; and those folders which files are written to.
    tables: Vec<(String, Numbered)>,
    in_use: Mutex<Vec<HourFolder>>,
    keep: Keep,
    /// When it began, by a clock that no one sets and by the wall clock.
    begun: (Instant, u64),
    /// When it looked last; whether the last attempt failed.
    looked: Mutex<(Option<Instant>, bool)>,
    removed_files: AtomicU64,
    removed_bytes: AtomicU64,
    notify: Notify,
}

impl Keeper {
    /// The bounds of files of these names; `None`: they have none.
    pub fn new(folder: &Arc<Folder>, names: Vec<OsString>, settings: &Settings) -> Option<Arc<Self>> {
        settings.keep.is_on().then(|| {
            Arc::new(Self {
                folder: Arc::clone(folder),
                names: names.iter().map(Numbered::of).collect(),
                tables: Vec::new(),
                in_use: Mutex::default(),
                keep: settings.keep,
                begun: (Instant::now(), wall_ns()),
                looked: Mutex::default(),
                removed_files: AtomicU64::new(0),
                removed_bytes: AtomicU64::new(0),
                notify: settings.notify.clone(),
            })
        })
    }

    /// The bounds of files by date and hour, each table's together with the others'; `None`: they have none.
    #[cfg(feature = "parquet")]
    pub fn of_hours(folder: Arc<Folder>, tables: Vec<(String, OsString)>, settings: &Settings) -> Option<Arc<Self>> {
        let mut keeper = Self::new(&folder, Vec::new(), settings)?;
        let numbered = |(table, name): (String, OsString)| (table, Numbered::of(&name));
        Arc::get_mut(&mut keeper)?.tables = tables.into_iter().map(numbered).collect();
        Some(keeper)
    }

    /// Keeps folders although no file is in them.
    #[cfg(feature = "parquet")]
    pub fn use_folders(&self, folders: Vec<HourFolder>) {
        *lock(&self.in_use) = folders;
    }

    /// Files that were removed, and their bytes.
    pub fn removed(&self) -> (u64, u64) {
        (self.removed_files.load(Ordering::Relaxed), self.removed_bytes.load(Ordering::Relaxed))
    }

    /// Removes what is beyond the bounds once a minute: the first time at once.
    pub fn look(&self) {
        let is_due = lock(&self.looked).0.is_none_or(|looked| looked.elapsed() >= LOOK);
        if is_due {
            self.retain();
        }
    }

    /// Removes what is beyond the bounds: to be called when a file is complete.
    pub fn retain(&self) {
        let mut looked = lock(&self.looked);
        looked.0 = Some(Instant::now());
        let mut files = match self.files() {
            Ok(files) => files,
            Err(error) => return self.report(&mut looked.1, &format!("old files cannot be listed: {error}")),
        };
        files.sort_by(|(_, one), (_, other)| (one.modified_ns, &one.name).cmp(&(other.modified_ns, &other.name)));
        let mut left = files.len() as u64;
        let mut bytes: u64 = files.iter().map(|(_, file)| file.bytes).sum();
        for (hour, file) in files {
            if !self.is_beyond(&file, left, bytes) {
                continue;
            }
            if let Err(error) = self.remove(hour.as_ref(), &file.name) {
                let name = file.name.to_string_lossy();
                return self.report(&mut looked.1, &format!("{} cannot be removed: {error}", legible(&name)));
            }
            (left, bytes) = (left - 1, bytes - file.bytes);
            self.removed_files.fetch_add(1, Ordering::Relaxed);
            self.removed_bytes.fetch_add(file.bytes, Ordering::Relaxed);
        }
        looked.1 = false;
    }

    /// The files, each with its folder where there are several.
    fn files(&self) -> io::Result<Vec<(Option<HourFolder>, OwnFile)>> {
        let own = self.folder.own_files(|name| self.names.iter().any(|numbered| numbered.has(name)))?;
        let mut all: Vec<_> = own.into_iter().map(|file| (None, file)).collect();
        for (table, numbered) in &self.tables {
            let Some(of_table) = self.folder.inner(table)? else { continue };
            for date in of_table.own_folders(|name| has_form(name, "date=0000-00-00"))? {
                let Some(of_date) = of_table.inner(&date)? else { continue };
                for hour in of_date.own_folders(|name| has_form(name, "hour=00"))? {
                    let Some(of_hour) = of_date.inner(&hour)? else { continue };
                    let files = of_hour.own_files(|name| numbered.has(name))?.into_iter();
                    all.extend(files.map(|file| (Some([table.clone(), date.clone(), hour.clone()]), file)));
                }
            }
        }
        Ok(all)
    }

    /// Removes a file, and folders of hours and dates that are empty then.
    fn remove(&self, hour: Option<&HourFolder>, name: &OsStr) -> io::Result<()> {
        let Some(folders) = hour else { return self.folder.remove(name) };
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let [table, date, hour] = folders;
        let of_table = self.folder.inner(table)?.ok_or_else(gone)?;
        let of_date = of_table.inner(date)?.ok_or_else(gone)?;
        of_date.inner(hour)?.ok_or_else(gone)?.remove(name)?;
        // One that is not empty stays.
        if !lock(&self.in_use).contains(folders) && of_date.remove_empty(hour).is_ok() {
            let _ = of_table.remove_empty(date);
        }
        Ok(())
    }

    fn is_beyond(&self, file: &OwnFile, files: u64, bytes: u64) -> bool {
        let keep = &self.keep;
        keep.files.is_some_and(|most| files > most)
            || keep.size_bytes.is_some_and(|most| bytes > most)
            || keep.age.is_some_and(|most| self.age(file) >= most)
            || keep.free_bytes.is_some_and(|least| self.folder.free_bytes().is_some_and(|free| free < least))
    }

    /// How long ago a file was written last: a clock that was set makes none older.
    fn age(&self, file: &OwnFile) -> Duration {
        let (begun, begun_ns) = self.begun;
        let steady_ns = begun_ns.saturating_add(begun.elapsed().as_nanos() as u64);
        Duration::from_nanos(wall_ns().min(steady_ns).saturating_sub(file.modified_ns))
    }

    /// Reports a failure, once until it works again.
    fn report(&self, has_failed: &mut bool, what: &str) {
        if !std::mem::replace(has_failed, true) {
            (self.notify)(format_args!("keeping files within bounds: {what}"));
        }
    }
}

/// The folders of a table, a date and an hour, one in the other.
pub type HourFolder = [String; 3];

/// Whether a name is like another one, with other digits.
fn has_form(name: &str, form: &str) -> bool {
    let is_like = |(found, like): (u8, u8)| if like == b'0' { found.is_ascii_digit() } else { found == like };
    name.len() == form.len() && name.bytes().zip(form.bytes()).all(is_like)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, path::Path, time::SystemTime};

    use super::*;
    use crate::{
        files::{Files, Frame},
        rotate::Rotate,
    };

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn settings(keep: &str) -> Settings {
        let rotate = Rotate { bytes: Some(10), ns: None };
        Settings { rotate, keep: keep.parse().unwrap(), ..Settings::default() }
    }

    /// Writes so many files of ten bytes.
    fn write(path: &Path, keep: &str, count: u64) -> (u64, u64) {
        let mut files = Files::open(path, Frame::Lines, &settings(keep), 0).unwrap();
        for number in 0..count {
            files.push_lines(b"123456789\n", number * 1_000_000_000);
            files.flush();
        }
        files.finish(count * 1_000_000_000, true).unwrap();
        let account = files.account();
        (account.removed_files, account.removed_bytes)
    }

    #[test]
    fn the_newest_files_within_all_bounds_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("eve.json");
        assert_eq!(write(&path, "files=3", 10), (7, 70));
        let kept = names(place.path());
        assert_eq!(
            kept,
            (7..10).map(|second| format!("eve.19700101T00000{second}Z.{:06}.json", second + 1)).collect::<Vec<_>>()
        );
        // Those of an earlier run count as well.
        assert_eq!(write(&path, "size=25", 2), (3, 30));
        assert_eq!(names(place.path()).len(), 2);
        assert_eq!(write(&path, "free=8000000T", 1), (3, 30));
        assert_eq!(names(place.path()), [""; 0]);
    }

    #[test]
    fn old_files_are_removed_also_where_nothing_is_completed() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("eve.json");
        write(&path, "files=9", 3);
        let old = place.path().join(&names(place.path())[1]);
        let hour = SystemTime::now() - Duration::from_secs(3600);
        fs::File::options().write(true).open(&old).unwrap().set_modified(hour).unwrap();
        let mut files = Files::open(&path, Frame::Lines, &settings("age=30m"), 0).unwrap();
        files.flush();
        assert_eq!((files.account().removed_files, old.exists(), names(place.path()).len()), (1, false, 3));
    }

    /// A neighbour cannot have files removed that this output did not make.
    #[test]
    fn links_directories_and_foreign_files_stay() {
        use std::os::unix::fs::chown;
        let [place, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let precious = elsewhere.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        let at = |name: &str| place.path().join(name);
        symlink(&precious, at("eve.19700101T000000Z.000001.json")).unwrap();
        fs::create_dir(at("eve.19700101T000000Z.000002.json")).unwrap();
        fs::write(at("eve.19700101T000000Z.000002.json").join("inner"), "").unwrap();
        let foreign = at("eve.19700101T000000Z.000003.json");
        fs::write(&foreign, "another user's").unwrap();
        let has_foreign = chown(&foreign, Some(12_345), None).is_ok();
        for name in [
            "eve.19700101T000000Z.000001.json.bak",
            "eve.19700101T000000Z.1.json",
            "eve.19700101.json",
            "eve.json2",
            "eve.19700101T000000Z.00000x.json",
            "eve.19700101T000000Z.000001.csv",
            "steve.19700101T000000Z.000001.json",
            ".eve.19700101T000000Z.000001.json",
        ] {
            fs::write(at(name), "like one").unwrap();
        }
        let before = names(place.path());
        let removed = write(&at("eve.json"), "files=1,size=1", 5).0;
        let after = names(place.path());
        assert!(before.iter().filter(|name| has_foreign || !name.contains("000003")).all(|name| after.contains(name)));
        assert_eq!(removed, if has_foreign { 5 } else { 6 });
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    }
}
