//! Paths whose links are followed by the kernel's rule for sticky folders that all may write to (`fs.protected_symlinks` of proc(5)): one's
//! own, and those of the folder's owner. The kernel has a switch for it, and programs that look at links before they follow them have none.
//!
//! A path is walked one component after the other, each opened in the folder before it: nothing that is exchanged meanwhile is followed.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::{fd::OwnedFd, unix::ffi::OsStringExt as _},
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{FileType, Mode, OFlags, Stat, fstat, fstatfs, mkdirat, open, openat, readlinkat},
    io::Errno,
};

/// Links that are followed of a path at most, as the kernel does (path_resolution(7)).
const LINKS_MAX: u32 = 40;

/// `f_type` of procfs (statfs(2)): its links lead to what is open, whatever name they show.
const PROC_MAGIC: u64 = 0x9fa0;

/// Folders on the way of a path.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The treatment of folders that do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// They are an error.
    Refuse,
    /// They are made, with what the mask of the process leaves of mode 0777.
    Make,
    /// They are made for this user only: with mode 0700.
    MakeOwn,
}

impl Missing {
    /// The mode of folders that are made.
    fn mode(self) -> Option<Mode> {
        match self {
            Self::Refuse => None,
            Self::Make => Some(Mode::from_raw_mode(0o777)),
            Self::MakeOwn => Some(Mode::from_raw_mode(0o700)),
        }
    }
}

/// Where a path leads.
#[derive(Debug)]
pub struct Found {
    /// The folder that the last component is in (`O_PATH`).
    pub folder: OwnedFd,
    /// The last component; there may be nothing of this name. It is a link only in procfs, to something that is open. `None`: the path is
    /// that folder.
    pub name: Option<OsString>,
    /// The path without links.
    pub path: PathBuf,
}

/// Finds out where a path leads: to something that is there, or may be made in a folder that is.
///
/// # Errors
/// `PermissionDenied` for another user's link in a sticky folder; the system's error.
pub fn find(path: &Path, missing: Missing) -> io::Result<Found> {
    let mut walk = Walk::begin(path)?;
    let mut links = 0;
    while let Some(name) = walk.rest.pop() {
        let is_last = walk.rest.is_empty();
        let entry = match openat(&walk.folder, &name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
        {
            Ok(entry) => entry,
            Err(Errno::NOENT) if is_last => return Ok(walk.end(Some(name))),
            Err(error) => {
                let mode = missing.mode().filter(|_| error == Errno::NOENT).ok_or(error)?;
                make(&walk.folder, &name, mode)?;
                walk.rest.push(name);
                continue;
            }
        };
        let stat = fstat(&entry)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                links += 1;
                if links > LINKS_MAX {
                    return Err(Errno::LOOP.into());
                }
                if !walk.follow(&name, &entry, &stat)? {
                    return Ok(walk.end(Some(name)));
                }
            }
            FileType::Directory => walk.enter(entry, &name),
            _ if is_last => return Ok(walk.end(Some(name))),
            _ => return Err(Errno::NOTDIR.into()),
        }
    }
    Ok(walk.end(None))
}

/// Opens the folder that a path leads to, and returns its path without links.
///
/// # Errors
/// As [`find`]; `NotADirectory` for anything else.
pub fn folder(path: &Path, missing: Missing) -> io::Result<(OwnedFd, PathBuf)> {
    let Found { folder, name, path } = find(path, missing)?;
    if let (Some(name), Some(mode)) = (&name, missing.mode()) {
        make(&folder, name, mode)?;
    }
    let name = name.as_deref().unwrap_or(OsStr::new("."));
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    Ok((openat(&folder, name, flags, Mode::empty())?, path))
}

/// Makes a folder that was not there when it was looked for.
fn make(folder: &OwnedFd, name: &OsStr, mode: Mode) -> io::Result<()> {
    match mkdirat(folder, name, mode) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A path on its way.
struct Walk {
    folder: OwnedFd,
    path: PathBuf,
    /// Components that are to come, the next one last.
    rest: Vec<OsString>,
}

impl Walk {
    fn begin(path: &Path) -> io::Result<Self> {
        if path.as_os_str().is_empty() {
            return Err(Errno::NOENT.into());
        }
        let (from, shown) = if path.is_absolute() { ("/", "/") } else { (".", "") };
        let mut walk = Self { folder: open(from, FOLDER, Mode::empty())?, path: shown.into(), rest: Vec::new() };
        walk.push(path);
        Ok(walk)
    }

    /// Adds components that come next.
    fn push(&mut self, path: &Path) {
        let names = path.components().rev().filter_map(|component| match component {
            Component::Normal(name) => Some(name),
            Component::ParentDir => Some(OsStr::new("..")),
            _ => None,
        });
        self.rest.extend(names.map(OsStr::to_owned));
    }

    fn enter(&mut self, folder: OwnedFd, name: &OsStr) {
        self.folder = folder;
        self.path.push(name);
    }

    /// Goes on where a link of the folder leads; false: it is the last component, and leads to something that is open and no folder.
    fn follow(&mut self, name: &OsStr, link: &OwnedFd, stat: &Stat) -> io::Result<bool> {
        let shown = || self.path.join(name).display().to_string();
        check(&shown, stat, &fstat(&self.folder)?)?;
        if fstatfs(link).is_ok_and(|system| system.f_type as u64 == PROC_MAGIC) {
            match openat(&self.folder, name, FOLDER, Mode::empty()) {
                Ok(folder) => self.enter(folder, name),
                Err(Errno::NOTDIR) if self.rest.is_empty() => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            return Ok(true);
        }
        // By its handle: what has its name by now is not looked at.
        let target = PathBuf::from(OsString::from_vec(readlinkat(link, "", Vec::new())?.into_bytes()));
        if target.is_absolute() {
            (self.folder, self.path) = (open("/", FOLDER, Mode::empty())?, "/".into());
        }
        self.push(&target);
        Ok(true)
    }

    fn end(self, name: Option<OsString>) -> Found {
        let mut path = match &name {
            Some(name) => self.path.join(name),
            None => self.path,
        };
        if path.as_os_str().is_empty() {
            path.push(".");
        }
        Found { folder: self.folder, name, path }
    }
}

/// Whether a link in a folder may be followed.
fn check(shown: &dyn Fn() -> String, link: &Stat, folder: &Stat) -> io::Result<()> {
    let is_open = folder.st_mode & 0o1002 == 0o1002;
    let own = rustix::process::geteuid().as_raw();
    if is_open && link.st_uid != own && link.st_uid != folder.st_uid {
        let message = format!("{} is a link of another user ({}); name what it leads to", shown(), link.st_uid);
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(())
}

/// Refuses another user's file or FIFO by the kernel's rule for sticky folders that all may write to (`fs.protected_regular` and
/// `fs.protected_fifos` of proc(5)): one's own are written, and those of the folder's owner. `user`: the file's owner.
///
/// # Errors
/// `PermissionDenied`.
pub fn check_file(user: u32, folder: &Stat) -> io::Result<()> {
    if folder.st_mode & 0o1002 == 0o1002 && user != rustix::process::geteuid().as_raw() && user != folder.st_uid {
        let message = format!("it is of another user ({user}) in a folder that all may write to; name another place");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink},
    };

    use super::*;

    fn identity(folder: &OwnedFd) -> (u64, u64) {
        let stat = fstat(folder).unwrap();
        (stat.st_dev, stat.st_ino)
    }

    fn identity_of(path: &Path) -> (u64, u64) {
        let found = fs::metadata(path).unwrap();
        (found.dev(), found.ino())
    }

    #[test]
    fn paths_lead_where_the_kernel_says() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("a/file"), "").unwrap();
        symlink("a/b", at("relative")).unwrap();
        symlink(at("a"), at("absolute")).unwrap();
        symlink("../relative/..", at("a/up")).unwrap();
        symlink("loop", at("loop")).unwrap();
        for name in
            ["a", "a/", "a/b/../b/.", "relative", "relative/", "absolute/b", "a/up", "a/up/up/b", "relative/../up"]
        {
            let (handle, path) = folder(&at(name), Missing::Refuse).unwrap();
            assert_eq!((identity(&handle), identity(&handle)), (identity_of(&at(name)), identity_of(&path)), "{name}");
            assert!(path.ancestors().all(|part| !part.is_symlink()), "{}", path.display());
        }
        let (handle, path) = folder(Path::new("/proc/self/cwd"), Missing::Refuse).unwrap();
        assert_eq!((identity(&handle), path.as_path()), (identity_of(Path::new(".")), Path::new("/proc/self/cwd")));
        let (open, link) = (fs::File::open(at("a/file")).unwrap(), at("link"));
        symlink(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&open)), &link).unwrap();
        let found = find(&link, Missing::Refuse).unwrap();
        assert_eq!(identity_of(&found.path), identity_of(&at("a/file")));
        let found = find(&at("absolute/file"), Missing::Refuse).unwrap();
        assert_eq!((found.path, found.name.unwrap()), (at("a").canonicalize().unwrap().join("file"), "file".into()));
        assert_eq!(find(&at("absolute/new"), Missing::Refuse).unwrap().name.unwrap(), "new");
        for (name, error) in [("loop", Errno::LOOP), ("a/file/x", Errno::NOTDIR), ("none/x", Errno::NOENT)] {
            let found = find(&at(name), Missing::Refuse).unwrap_err();
            assert_eq!(found.raw_os_error(), Some(error.raw_os_error()), "{name}");
        }
        folder(&at("new/one"), Missing::Make).unwrap();
        assert!(at("new/one").is_dir());
        find(&at("own/two/file"), Missing::MakeOwn).unwrap();
        for name in ["own", "own/two"] {
            assert_eq!(fs::metadata(at(name)).unwrap().permissions().mode() & 0o777, 0o700, "{name}");
        }
        assert_eq!(folder(&at("a/file"), Missing::Make).unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn links_of_others_in_sticky_folders_are_not_followed_wherever_they_are() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("there/in")).unwrap();
        symlink(at("there"), at("link")).unwrap();
        if lchown(at("link"), Some(12_345), None).is_err() {
            return println!("skipped: links of other users need root");
        }
        let names = ["link", "link/", "link/.", "link/in", "link/new", "there/../link/in"];
        for (mode, is_followed) in [(0o755, true), (0o777, true), (0o1755, true), (0o1777, false)] {
            fs::set_permissions(place.path(), fs::Permissions::from_mode(mode)).unwrap();
            for name in names {
                let found = find(&at(name), Missing::Refuse).map_err(|error| error.kind());
                let refused = found.err() == Some(io::ErrorKind::PermissionDenied);
                assert_eq!(refused, !is_followed, "{name} in a folder of mode {mode:o}");
            }
        }
        // One's own, and those of the folder's owner.
        lchown(at("link"), Some(0), None).unwrap();
        find(&at("link/in"), Missing::Refuse).unwrap();
        for path in [place.path().to_owned(), at("link")] {
            lchown(path, Some(12_345), None).unwrap();
        }
        find(&at("link/in"), Missing::Refuse).unwrap();
    }
}
