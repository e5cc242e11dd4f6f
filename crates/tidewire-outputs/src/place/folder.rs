//! A directory that files are written to, accessed by its handle: no link that another process puts there is followed, and no file is opened for
//! writing that this run did not create.

use std::{
    ffi::OsStr,
    fs::{self, File, Metadata},
    io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::{MetadataExt as _, PermissionsExt as _, fchown},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, flock, fstat, fsync, linkat, mkdirat, openat,
        renameat, renameat_with, statat, unlinkat,
    },
    io::Errno,
};
use tidewire::legible::legible;
use tidewire_types::{hex, random::random_bytes};

use super::links::{self, Missing};

/// Device and inode of a file, to verify it when it is reopened.
pub type Identity = (u64, u64);

/// Bytes of a name that its hidden name contains: names have at most 255 bytes (NAME_MAX), those of files written here 130.
const HIDDEN_NAME_BYTES: usize = 200;

/// An open directory.
#[derive(Debug)]
pub struct Folder {
    pub(super) handle: OwnedFd,
    /// A random token of this run in the names of incomplete files, which no other process can predict.
    token: String,
}

impl Folder {
    /// Opens an existing directory.
    ///
    /// # Errors
    /// The system's error; `PermissionDenied` for another user's link ([`links`]).
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::of(links::folder(path, Missing::Refuse)?.0)
    }

    /// Opens a directory, which is made where it does not exist, and those above it as well.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_or_make(path: &Path) -> io::Result<Self> {
        Self::of(links::folder(path, Missing::Make)?.0)
    }

    fn of(handle: OwnedFd) -> io::Result<Self> {
        Ok(Self { handle, token: token()? })
    }

    /// Creates a directory in this one, which must not exist.
    ///
    /// # Errors
    /// The system's error; `AlreadyExists` for anything with that name.
    pub fn make(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        mkdirat(&self.handle, name, Mode::from_raw_mode(0o777))?;
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY | OFlags::NOFOLLOW;
        let handle = openat(&self.handle, name, flags, Mode::empty())?;
        if fstat(&handle)?.st_uid != rustix::process::geteuid().as_raw() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user replaced the new directory"));
        }
        Ok(Self { handle, token: self.token.clone() })
    }

    /// Opens a directory in this one; `None`: it does not exist.
    ///
    /// # Errors
    /// The system's error; a link is refused.
    pub fn inner(&self, name: impl AsRef<OsStr>) -> io::Result<Option<Self>> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY | OFlags::NOFOLLOW;
        match openat(&self.handle, name.as_ref(), flags, Mode::empty()) {
            Err(Errno::NOENT) => Ok(None),
            handle => Ok(Some(Self { handle: handle?, token: self.token.clone() })),
        }
    }

    /// Opens a directory in this one, which is created where it does not exist.
    ///
    /// # Errors
    /// The system's error; a link is refused.
    #[cfg(feature = "parquet")]
    pub fn enter(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        match mkdirat(&self.handle, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY | OFlags::NOFOLLOW;
        Ok(Self { handle: openat(&self.handle, name, flags, Mode::empty())?, token: self.token.clone() })
    }

    /// The hidden name of an incomplete file or directory. It contains only the beginning of a long name, so that it fits
    /// wherever the name does; names that are written differ within it.
    pub fn hidden(&self, name: &str) -> String {
        format!(".{}.{}.part", &name[..name.floor_char_boundary(HIDDEN_NAME_BYTES)], self.token)
    }

    /// Creates a file to append to: where another process cuts it off, no zeros are left before what is written next.
    ///
    /// # Errors
    /// The system's error; `AlreadyExists` for anything with that name, dangling links included.
    pub fn create(&self, name: &str) -> io::Result<File> {
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.handle, name, flags, Mode::from_raw_mode(0o666))?))
    }

    /// Refuses a name that no file of this run may get: that of anything but a regular file, which nothing here replaces, or of another user's file
    /// ([`links::check_file`]). Links are not followed: a folder is written by its handle.
    ///
    /// # Errors
    /// Its kind, with a hint; the system's error.
    pub fn check_name(&self, name: &OsStr) -> io::Result<()> {
        let found = match statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(()),
            found => found?,
        };
        let what = match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => return links::check_file(found.st_uid, &fstat(&self.handle)?),
            FileType::Symlink => "a link",
            FileType::Fifo => "a FIFO",
            FileType::Socket => "a socket",
            FileType::Directory => "a directory",
            _ => "a device",
        };
        let message = format!("what has this name is {what}, not a file; remove it, or name another place");
        Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
    }

    /// The same for names whose links are replaced, as `extract --force` does: they lead to something that stays.
    ///
    /// # Errors
    /// As [`check_name`](Self::check_name), of anything but a file or a link.
    pub fn check_replaceable(&self, name: &OsStr) -> io::Result<()> {
        match statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Symlink => {
                links::check_file(found.st_uid, &fstat(&self.handle)?)
            }
            _ => self.check_name(name),
        }
    }

    /// Locks the directory as long as it is open. Another process may make files in it, but not lock it.
    ///
    /// # Errors
    /// `ResourceBusy`: another run has locked it.
    pub fn lock(&self) -> io::Result<()> {
        match flock(&self.handle, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another run writes to it (it holds its lock); name another place, or end that run",
            )),
            // Some file systems have no locks.
            Ok(()) | Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a name is that of a directory which this is the handle of.
    ///
    /// # Errors
    /// It is not; the system's error.
    pub fn check_folder(&self, name: &OsStr, folder: &Self) -> io::Result<()> {
        let (found, own) = (statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?, fstat(&folder.handle)?);
        if (found.st_dev, found.st_ino) != (own.st_dev, own.st_ino) {
            return Err(io::Error::other("the directory was replaced while it was written"));
        }
        Ok(())
    }

    /// Whether another open file of this name is locked ([`lock`]): another run writes it.
    pub fn is_locked(&self, name: &OsStr) -> bool {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::RDONLY | OFlags::CLOEXEC;
        openat(&self.handle, name, flags, Mode::empty())
            .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK))
    }

    /// Reopens a file that [`create`](Self::create) created, to append to it.
    ///
    /// # Errors
    /// The system's error; another file has the name now.
    pub fn reopen(&self, name: &str, identity: Identity) -> io::Result<File> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC;
        let file = File::from(openat(&self.handle, name, flags, Mode::empty())?);
        let found = file.metadata()?;
        if identity_of(&found) != identity || !found.is_file() {
            return Err(replaced());
        }
        Ok(file)
    }

    /// Renames a file; replaces what has the name, even a link.
    ///
    /// # Errors
    /// The system's error.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(renameat(&self.handle, from.as_ref(), &self.handle, to.as_ref())?)
    }

    /// Renames a file to an unused name.
    ///
    /// # Errors
    /// The system's error; `AlreadyExists`.
    pub fn rename_new(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        let (from, to) = (from.as_ref(), to.as_ref());
        match renameat_with(&self.handle, from, &self.handle, to, RenameFlags::NOREPLACE) {
            // Not all file systems support this: NFS does not.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.link_new(from, to),
            renamed => Ok(renamed?),
        }
    }

    /// The same with a second name that replaces none, for a moment.
    fn link_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let stat = statat(&self.handle, from, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            // That replaces neither a file nor a directory that is not empty.
            return self.rename(from, to);
        }
        match linkat(&self.handle, from, &self.handle, to, AtFlags::empty()) {
            Ok(()) => self.remove(from),
            Err(error @ (Errno::PERM | Errno::NOTSUP | Errno::NOSYS | Errno::INVAL)) => Err(io::Error::other(format!(
                "this file system can give no name without replacing what may have it ({})",
                io::Error::from(error)
            ))),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes names durable: those that were given and removed before.
    ///
    /// # Errors
    /// The system's error.
    pub fn sync_names(&self) -> io::Result<()> {
        match fsync(&self.handle) {
            // Some file systems cannot, and need not.
            Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a name is still that of a file of this run, and its only one: another file that got it would be published as ours.
    ///
    /// # Errors
    /// It is not; the system's error.
    pub fn check(&self, name: &str, identity: Identity) -> io::Result<()> {
        let found = self.by_handle().join(name).symlink_metadata()?;
        // A link may have got the number of a file that was closed and removed.
        if identity_of(&found) != identity || found.nlink() != 1 || !found.is_file() {
            return Err(replaced());
        }
        Ok(())
    }

    /// As [`check`](Self::check), of a file that was closed meanwhile, and whether it has as many bytes as this run wrote.
    ///
    /// # Errors
    /// It does not; the system's error.
    pub fn check_whole(&self, name: &str, identity: Identity, owner: u32, bytes: u64) -> io::Result<()> {
        self.check(name, identity)?;
        let found = statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if found.st_uid != owner {
            return Err(replaced());
        }
        check_length(found.st_size as u64, bytes)
    }

    /// Gives a complete file of this run, which is synced, its name, and the mode and owner of what it replaces there.
    ///
    /// # Errors
    /// As [`check`](Self::check); the system's error.
    pub fn publish(&self, hidden: &str, identity: Identity, name: &OsStr) -> io::Result<()> {
        self.check_name(name)?;
        if let Ok(found) = self.by_handle().join(name).symlink_metadata() {
            self.make_alike(hidden, identity, &found)?;
        }
        self.check(hidden, identity)?;
        self.rename(hidden, name)?;
        self.sync_names()
    }

    /// The same for a file that may lack something: then (`is_whole` is false) it replaces none. Returns whether it got the name.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub fn give(&self, hidden: &str, identity: Identity, name: &OsStr, is_whole: bool) -> io::Result<bool> {
        if is_whole {
            return self.publish(hidden, identity, name).map(|()| true);
        }
        self.check(hidden, identity)?;
        let is_named = self.show(hidden, name, false)?;
        self.sync_names()?;
        Ok(is_named)
    }

    /// Renames what is complete; what may lack something (`is_whole` is false) replaces nothing. Returns whether it got the name.
    ///
    /// # Errors
    /// The system's error.
    pub fn show(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>, is_whole: bool) -> io::Result<bool> {
        if is_whole {
            return self.rename(from, to).map(|()| true);
        }
        match self.rename_new(from, to) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            renamed => renamed.map(|()| true),
        }
    }

    /// Gives a file of this run the mode of the one that it will replace, and its owner where that is allowed: by its handle, so that
    /// nothing else that got the name meanwhile is changed.
    ///
    /// # Errors
    /// Another file has the name; the system's error.
    pub fn make_alike(&self, name: &str, identity: Identity, replaced: &Metadata) -> io::Result<()> {
        if !replaced.is_file() {
            return Ok(());
        }
        links::check_file(replaced.uid(), &fstat(&self.handle)?)?;
        let file = self.reopen(name, identity)?;
        // Its owner first, or else the others read it for a moment; only root gives files away.
        let (owner, group) = (Some(replaced.uid()), Some(replaced.gid()));
        if fchown(&file, owner, group).is_err() {
            let _ = fchown(&file, None, group);
        }
        file.set_permissions(fs::Permissions::from_mode(replaced.mode() & 0o777))
    }

    /// Where what has a hidden name is, for messages: others may have removed it, or this directory, or replaced it (`own`: the file).
    pub fn place_of(&self, hidden: &str, own: Option<&File>) -> String {
        let own = own.and_then(|own| identity(own).ok());
        match self.by_handle().join(hidden).symlink_metadata() {
            Ok(found) if own.is_some_and(|own| own != identity_of(&found)) => {
                format!("gone: another process put something else in {}", legible(hidden))
            }
            Ok(_) => format!("in {} beside it", legible(hidden)),
            Err(_) => "gone: it was removed meanwhile".into(),
        }
    }

    /// Removes a file or a link.
    ///
    /// # Errors
    /// The system's error.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&self.handle, name.as_ref(), AtFlags::empty())?)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// The system's error.
    pub fn remove_empty(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.handle, name, AtFlags::REMOVEDIR)?)
    }

    /// A path to this very directory while this value lives, even if it is renamed.
    pub fn by_handle(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))
    }
}

/// The error of a file that is not the one which this run made.
pub fn replaced() -> io::Error {
    io::Error::other("a file was replaced while it was written")
}

/// The message that a file which lacks something did not get its name ([`Folder::give`]). `what`: what is in it.
pub fn earlier_stays(name: &str, what: &str, hidden: &str) -> String {
    let hidden = legible(hidden);
    format!("{name} stays as an earlier run wrote it: {what} of this one, which is not all, is in {hidden} beside it")
}

/// Locks a new file as long as it is open: other runs neither rename nor remove it ([`Folder::is_locked`]).
pub fn lock(file: &File) {
    // Some file systems have no locks; there the name alone protects it.
    let _ = flock(file, FlockOperation::NonBlockingLockExclusive);
}

/// Refuses to publish a file that does not have as many bytes as this run wrote.
///
/// # Errors
/// It was cut off or appended to; the system's error.
pub fn check_bytes(file: &File, written: u64) -> io::Result<()> {
    check_length(file.metadata()?.len(), written)
}

fn check_length(found: u64, written: u64) -> io::Result<()> {
    if found != written {
        return Err(io::Error::other(format!(
            "another process changed it: it has {found} bytes, and {written} were written"
        )));
    }
    Ok(())
}

/// The identity of a file.
///
/// # Errors
/// The system's error.
pub fn identity(file: &File) -> io::Result<Identity> {
    Ok(identity_of(&file.metadata()?))
}

/// The identity of a file by its metadata.
pub fn identity_of(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

/// Opens the directory that contains the last component of a path, and makes it where it does not exist.
///
/// # Errors
/// As [`Folder::open`].
pub fn parent(path: &Path) -> io::Result<Folder> {
    Folder::open_or_make(parent_path(path))
}

/// As [`parent`], of a directory that exists.
///
/// # Errors
/// As [`Folder::open`].
pub fn existing_parent(path: &Path) -> io::Result<Folder> {
    Folder::open(parent_path(path)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(error.kind(), "its folder does not exist"),
        _ => error,
    })
}

fn parent_path(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn token() -> io::Result<String> {
    random_bytes::<8>().map(|random| hex::encode(&random))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_never_followed() {
        let [place, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let victim = elsewhere.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let folder = Folder::open(place.path()).unwrap();
        symlink(&victim, place.path().join("link")).unwrap();
        symlink(elsewhere.path().join("new"), place.path().join("dangling")).unwrap();
        for name in ["link", "dangling"] {
            assert_eq!(folder.create(name).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        let identity = identity(&folder.create("file").unwrap()).unwrap();
        folder.reopen("file", identity).unwrap();
        fs::hard_link(&victim, place.path().join("other")).unwrap();
        fs::rename(place.path().join("other"), place.path().join("file")).unwrap();
        assert!(folder.reopen("file", identity).is_err() && folder.reopen("link", identity).is_err());
        folder.create("draft").unwrap();
        folder.rename("draft", "link").unwrap();
        assert!(!place.path().join("link").is_symlink());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(!elsewhere.path().join("new").exists());
        folder.make("made").unwrap();
        assert!(folder.make("dangling").is_err() && folder.make("made").is_err());
        assert_eq!(folder.rename_new("made", "dangling").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    /// As on file systems that cannot rename without replacing.
    #[test]
    fn a_second_name_replaces_nothing() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let link = |from: &str, to: &str| folder.link_new(from.as_ref(), to.as_ref()).map_err(|error| error.kind());
        let identity = identity(&folder.create("draft").unwrap()).unwrap();
        fs::write(place.path().join("there"), "precious").unwrap();
        symlink("there", place.path().join("link")).unwrap();
        for to in ["there", "link", "draft"] {
            assert_eq!(link("draft", to), Err(io::ErrorKind::AlreadyExists), "{to}");
        }
        assert_eq!(fs::read_to_string(place.path().join("there")).unwrap(), "precious");
        assert_eq!(link("draft", "new"), Ok(()));
        folder.check("new", identity).unwrap();
        assert!(!place.path().join("draft").exists());
        folder.make("made").unwrap();
        assert_eq!((link("made", "there"), link("made", "moved")), (Err(io::ErrorKind::NotADirectory), Ok(())));
    }

    #[test]
    fn names_of_what_is_not_complete_cannot_be_foreseen() {
        let place = tempfile::tempdir().unwrap();
        let [first, second] = [(); 2].map(|()| Folder::open(place.path()).unwrap().hidden("name"));
        assert!(first != second && first.starts_with(".name.") && first.ends_with(".part"), "{first}");
        let long = "ü".repeat(127);
        let folder = Folder::open(place.path()).unwrap();
        folder.make(folder.hidden(&long)).unwrap();
        folder.rename_new(folder.hidden(&long), &long).unwrap();
    }
}
