//! Where an output goes: a standard stream by any of its names, a pipe or device as it is, or a file that gets its name when it is
//! complete.

pub mod folder;
pub mod links;
mod overlap;
pub mod own_files;
pub mod streams;

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use self::links::Missing;
pub use self::overlap::{Overlap, overlap};
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, Stat, fcntl_getfl, fcntl_setfl, fstat, openat, statat},
    io::{Errno, retry_on_intr},
    stdio,
};

/// How a path is written.
#[derive(Debug)]
pub enum OutputPath {
    /// As it is: a standard stream, a pipe or a device.
    Direct(fs::File),
    /// Under a hidden name beside this path, in which every link is resolved.
    File(PathBuf),
}

/// Whether opening a pipe waits for a process that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipes {
    /// As for every program that writes to one.
    Wait,
    /// One that no process reads cannot be opened.
    NeedReader,
}

/// Opens what is written as it is, and finds out which path a file has.
///
/// # Errors
/// The system's error; `PermissionDenied` for another user's link; a pipe without a reader with [`Pipes::NeedReader`].
pub fn open(path: &Path, pipes: Pipes) -> io::Result<OutputPath> {
    if let Some(stream) = named(path) {
        return opened(stream).map(OutputPath::Direct);
    }
    // Links there lead to what is open, which has no name to be renamed to. Shared memory is a place for files like any other. What has a
    // number, as /dev/fd/5, may be a file with something in it.
    if ["/dev", "/proc"].iter().any(|system| path.starts_with(system)) && !path.starts_with("/dev/shm") {
        return fs::OpenOptions::new().append(true).open(path).map(OutputPath::Direct);
    }
    let Some(found) = find(path)? else { return Ok(OutputPath::File(path.to_owned())) };
    let Some(name) = found.name else { return Err(io::ErrorKind::IsADirectory.into()) };
    match statat(&found.folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile => {
            let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC;
            // A link that was not followed is one of procfs, to something that is open.
            let is_open = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
            let flags = if is_open { flags } else { flags | OFlags::NOFOLLOW };
            let direct = match pipes {
                Pipes::Wait => retry_on_intr(|| openat(&found.folder, &name, flags, Mode::empty()))?,
                Pipes::NeedReader => {
                    let direct = openat(&found.folder, &name, flags | OFlags::NONBLOCK, Mode::empty());
                    let direct = direct.map_err(|error| match error {
                        // fifo(7)
                        Errno::NXIO => io::Error::other("no process reads the pipe: start its reader first"),
                        _ => error.into(),
                    })?;
                    fcntl_setfl(&direct, fcntl_getfl(&direct)? - OFlags::NONBLOCK)?;
                    direct
                }
            };
            Ok(OutputPath::Direct(direct.into()))
        }
        Ok(_) | Err(Errno::NOENT) => Ok(OutputPath::File(found.path)),
        Err(error) => Err(error.into()),
    }
}

/// Where the path of a file leads; `None`: to nothing, because a folder of it does not exist.
///
/// # Errors
/// As [`links::find`]; `PermissionDenied` for another user's file or FIFO ([`links::check_file`]); `NotFound` for a link into such a folder: the link is not what is to be written.
pub fn find(path: &Path) -> io::Result<Option<links::Found>> {
    match links::find(path, Missing::Refuse) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match path.is_symlink() {
            true => Err(io::Error::new(error.kind(), "it is a link into a folder that does not exist")),
            false => Ok(None),
        },
        found => {
            let found = found?;
            check_owner(&found)?;
            Ok(Some(found))
        }
    }
}

/// Refuses what another user put there for this run to write to.
fn check_owner(found: &links::Found) -> io::Result<()> {
    let Some(name) = &found.name else { return Ok(()) };
    let Ok(stat) = statat(&found.folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile | FileType::Fifo => links::check_file(stat.st_uid, &fstat(&found.folder)?),
        _ => Ok(()),
    }
}

/// A stream that a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// The standard stream that a path is, by whatever name. To open it again would begin at its first byte, or cut off what is there.
pub fn named(path: &Path) -> Option<Standard> {
    let by_name = [
        (Standard::Output, ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1"]),
        (Standard::Error, ["/dev/stderr", "/dev/fd/2", "/proc/self/fd/2", "/proc/thread-self/fd/2"]),
    ];
    if let Some((stream, _)) = by_name.into_iter().find(|(_, names)| names.iter().any(|name| Path::new(name) == path)) {
        return Some(stream);
    }
    // Devices are the same for all who open them.
    let found = fs::metadata(path).ok().filter(|found| found.is_file() || is_pipe(found))?;
    let is_same = |stream: Result<Stat, Errno>| {
        stream.is_ok_and(|stream| (stream.st_dev, stream.st_ino) == (found.dev(), found.ino()))
    };
    if is_same(fstat(stdio::stdout())) {
        return Some(Standard::Output);
    }
    is_same(fstat(stdio::stderr())).then_some(Standard::Error)
}

fn is_pipe(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    found.file_type().is_fifo()
}

/// A handle of the stream's own, at the place where the stream is.
///
/// # Errors
/// The system's error.
pub fn opened(stream: Standard) -> io::Result<fs::File> {
    use std::os::fd::AsFd as _;
    let handle = match stream {
        Standard::Output => {
            streams::check()?;
            io::stdout().as_fd().try_clone_to_owned()?
        }
        Standard::Error => io::stderr().as_fd().try_clone_to_owned()?,
    };
    Ok(handle.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel has this rule for programs that open them (`fs.protected_regular`, `fs.protected_fifos`).
    #[test]
    fn what_another_user_put_into_a_sticky_folder_is_refused() {
        use std::os::unix::fs::{PermissionsExt as _, chown};
        let folder = tempfile::tempdir().unwrap();
        let [file, fifo] = ["file", "fifo"].map(|name| folder.path().join(name));
        fs::write(&file, "").unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
        // With a reader, opening it for writing does not wait.
        let _reader = fs::OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
        let set = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        for path in [&file, &fifo] {
            set(0o1777);
            assert!(open(path, Pipes::Wait).is_ok(), "one's own");
            if chown(path, Some(12_345), None).is_err() {
                return;
            }
            let error = open(path, Pipes::Wait).unwrap_err();
            assert!(error.to_string().contains("it is of another user (12345)"), "{error}");
            for mode in [0o777, 0o1755] {
                set(mode);
                assert!(open(path, Pipes::Wait).is_ok(), "{mode:o}");
            }
        }
    }

    #[test]
    fn streams_have_several_names() {
        assert_eq!(named(Path::new("/dev/stdout")), Some(Standard::Output));
        assert_eq!(named(Path::new("/proc/self/fd/2")), Some(Standard::Error));
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        for other in [folder.path().join("file"), folder.path().join("none"), folder.path().into(), "/dev/null".into()]
        {
            assert_eq!(named(&other), None, "{}", other.display());
        }
    }

    #[test]
    fn a_pipe_without_a_reader_is_not_waited_for_where_it_needs_one() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let error = open(&pipe, Pipes::NeedReader).unwrap_err().to_string();
        assert!(error.contains("no process reads the pipe"), "{error}");
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let reader = rustix::fs::open(&pipe, flags, Mode::empty()).unwrap();
        let OutputPath::Direct(file) = open(&pipe, Pipes::NeedReader).unwrap() else { panic!("it is a pipe") };
        // Writes wait for room, as for every pipe.
        assert!(!fcntl_getfl(&file).unwrap().contains(OFlags::NONBLOCK));
        drop(reader);
    }
}
