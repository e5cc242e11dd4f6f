//! The directory that files are written to, by its handle: nothing is done through a link that somebody puts there, and no file
//! is opened for writing that this run did not make.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::MetadataExt as _,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, RenameFlags, fstat, mkdirat, open, openat, renameat, renameat_with, unlinkat},
    io::Errno,
    rand::{GetRandomFlags, getrandom},
};

/// What a file that is reopened must still be: its device, and its number there.
pub type Identity = (u64, u64);

/// How much of a name is in the hidden one: names have at most 255 bytes (NAME_MAX), and those of files written here 130.
const HIDDEN_NAME_BYTES: usize = 200;

/// A directory.
#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
    /// Of this run alone, in the names of what is not complete: nobody can put something there before.
    token: String,
}

impl Folder {
    /// A directory that exists. The last name of the path may be a link, if it is this user's or root's.
    ///
    /// # Errors
    /// What the system says; `PermissionDenied` for another user's link.
    pub fn open(path: &Path) -> io::Result<Self> {
        let found = fs::symlink_metadata(path)?;
        let own = rustix::process::geteuid().as_raw();
        let mut flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        if !found.is_symlink() {
            flags |= OFlags::NOFOLLOW;
        } else if found.uid() != own && found.uid() != 0 {
            let message =
                format!("it is a link of another user ({}); name the directory that it leads to", found.uid());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        Ok(Self { handle: open(path, flags, Mode::empty())?, token: token()? })
    }

    /// Makes a directory in this one, for nobody else to have made before.
    ///
    /// # Errors
    /// What the system says; `AlreadyExists` for anything of that name.
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

    /// The name of a file, or of a directory, that is not complete. Of a long name only the beginning is in it, so that
    /// whatever can have its name can have this one before: names that are written differ earlier.
    pub fn hidden(&self, name: &str) -> String {
        format!(".{}.{}.part", &name[..name.floor_char_boundary(HIDDEN_NAME_BYTES)], self.token)
    }

    /// A new file.
    ///
    /// # Errors
    /// What the system says; `AlreadyExists` for anything of that name, links that lead nowhere included.
    pub fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.handle, name, flags, Mode::from_raw_mode(0o666))?))
    }

    /// A file that [`create`](Self::create) made, to write at its end.
    ///
    /// # Errors
    /// What the system says; another file has its name by now.
    pub fn reopen(&self, name: &str, identity: Identity) -> io::Result<File> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC;
        let file = File::from(openat(&self.handle, name, flags, Mode::empty())?);
        if self::identity(&file)? != identity {
            return Err(io::Error::other("a file was replaced while it was written"));
        }
        Ok(file)
    }

    /// Gives a file its name; what had the name, if only a link, is replaced.
    ///
    /// # Errors
    /// What the system says.
    pub fn rename(&self, from: &str, to: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(renameat(&self.handle, from, &self.handle, to.as_ref())?)
    }

    /// The same where nothing has that name.
    ///
    /// # Errors
    /// What the system says; `AlreadyExists`.
    pub fn rename_new(&self, from: &str, to: impl AsRef<OsStr>) -> io::Result<()> {
        let to = to.as_ref();
        match renameat_with(&self.handle, from, &self.handle, to, RenameFlags::NOREPLACE) {
            // Not every file system has it. A directory replaces no file, and no directory that has something in it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.rename(from, to),
            renamed => Ok(renamed?),
        }
    }

    /// Removes a file, or a link.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    /// Removes a directory that is empty.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove_empty(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.handle, name, AtFlags::REMOVEDIR)?)
    }

    /// A path that leads to this very directory while this value lives, whatever becomes of its names.
    pub fn by_handle(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))
    }
}

/// What a file is.
///
/// # Errors
/// What the system says.
pub fn identity(file: &File) -> io::Result<Identity> {
    let metadata = file.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// The directory that a path's last name is in.
///
/// # Errors
/// What the system says.
pub fn parent(path: &Path) -> io::Result<Folder> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(|error| match error.kind() {
        // Said of a file in the way.
        io::ErrorKind::AlreadyExists => io::Error::from(Errno::NOTDIR),
        _ => error,
    })?;
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    Ok(Folder { handle: open(parent, flags, Mode::empty())?, token: token()? })
}

fn token() -> io::Result<String> {
    let mut random = [0_u8; 8];
    if getrandom(&mut random, GetRandomFlags::empty())? != random.len() {
        return Err(io::Error::other("no random numbers"));
    }
    Ok(format!("{:016x}", u64::from_ne_bytes(random)))
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

    #[test]
    fn names_of_what_is_not_complete_cannot_be_foreseen() {
        let place = tempfile::tempdir().unwrap();
        let [first, second] = [(); 2].map(|()| Folder::open(place.path()).unwrap().hidden("name"));
        assert!(first != second && first.starts_with(".name.") && first.ends_with(".part"), "{first}");
        let long = "ü".repeat(127);
        let folder = Folder::open(place.path()).unwrap();
        folder.make(folder.hidden(&long)).unwrap();
        folder.rename_new(&folder.hidden(&long), &long).unwrap();
    }

    #[test]
    fn a_link_is_followed_where_it_is_ones_own() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("there")).unwrap();
        let link = place.path().join("link");
        symlink("there", &link).unwrap();
        Folder::open(&link).unwrap().create("file").unwrap();
        assert!(place.path().join("there/file").exists());
        if std::os::unix::fs::lchown(&link, Some(12_345), None).is_err() {
            println!("skipped: links of other users need root");
            return;
        }
        assert_eq!(Folder::open(&link).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
