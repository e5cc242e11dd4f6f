//! The files of a folder that belong to this process's user.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::OsStringExt as _,
};

use rustix::{
    fs::{AtFlags, Dir, FileType, fstatvfs, statat},
    io::Errno,
    process::geteuid,
};

use super::folder::Folder;

/// A regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnFile {
    /// Its name.
    pub name: OsString,
    /// Its length.
    pub bytes: u64,
    /// When it was written last, nanoseconds since 1970.
    pub modified_ns: u64,
}

impl Folder {
    /// Regular files of this process's user whose names are wanted. Links are not followed.
    ///
    /// # Errors
    /// The system's error.
    pub fn own_files(&self, is_wanted: impl Fn(&OsStr) -> bool) -> io::Result<Vec<OwnFile>> {
        let own = geteuid().as_raw();
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
            if !is_wanted(&name) {
                continue;
            }
            let stat = match statat(&self.handle, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                stat => stat?,
            };
            if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_uid == own {
                let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
                let modified_ns = seconds.saturating_mul(1_000_000_000).saturating_add(stat.st_mtime_nsec as u64);
                found.push(OwnFile { name, bytes: stat.st_size as u64, modified_ns });
            }
        }
        Ok(found)
    }

    /// The names of directories of this process's user that are wanted. Links are not followed.
    ///
    /// # Errors
    /// The system's error.
    pub fn own_folders(&self, is_wanted: impl Fn(&str) -> bool) -> io::Result<Vec<String>> {
        let own = geteuid().as_raw();
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            let entry = entry?;
            let Some(name) = entry.file_name().to_str().ok().filter(|name| is_wanted(name)) else { continue };
            let stat = match statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                stat => stat?,
            };
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory && stat.st_uid == own {
                found.push(name.to_owned());
            }
        }
        Ok(found)
    }

    /// Bytes that are free on the file system; `None`: unknown.
    pub fn free_bytes(&self) -> Option<u64> {
        let found = fstatvfs(&self.handle).ok()?;
        Some(found.f_bavail.saturating_mul(found.f_frsize))
    }
}
