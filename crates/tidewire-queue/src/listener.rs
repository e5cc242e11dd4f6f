//! A Unix socket of packets that is listened at, with permissions that no other process changes.

use std::{
    fs, io,
    os::{
        fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd},
        unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FileType, Mode, OFlags, fchmod, fstat, open},
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen, socket_with},
};

use crate::sys::refuse_descriptors;

/// A socket of the file system (`SOCK_SEQPACKET`) that is listened at without waiting. Dropped, it is removed.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    /// The socket in the file system.
    file: OwnedFd,
    path: PathBuf,
    /// Device and inode of the socket, so that only ours is removed.
    identity: (u64, u64),
    /// Read before system calls are confined.
    own_user: u32,
}

impl Listener {
    /// Listens at `path`, which only this user can connect to. A socket without a listener is replaced. Descriptors
    /// that others send are refused where the kernel can.
    ///
    /// # Errors
    /// `AddrInUse`: another process listens there, or something that is no socket is there; and what the kernel says.
    pub fn bind(path: &Path) -> io::Result<Self> {
        remove_stale(path)?;
        let socket = socket()?;
        // Those that connect inherit it. Older kernels do not know it.
        let _ = refuse_descriptors(socket.as_fd());
        // The file gets the socket's permissions: nothing is changed by a path that others may have changed.
        fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        bind(&socket, &SocketAddrUnix::new(path)?)?;
        let file = open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let (stat, own_user) = (fstat(&file)?, rustix::process::geteuid().as_raw());
        if FileType::from_raw_mode(stat.st_mode) != FileType::Socket || stat.st_uid != own_user {
            return Err(io::Error::other("the socket was replaced: others can write to its directory"));
        }
        listen(&socket, 64)?;
        Ok(Self { socket, file, path: path.to_owned(), identity: (stat.st_dev, stat.st_ino), own_user })
    }

    /// The user that listens.
    #[must_use]
    pub fn own_user(&self) -> u32 {
        self.own_user
    }

    /// Lets every user connect: who may stay is for the server to say.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open_to_all(&self) -> io::Result<()> {
        let file = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        fs::set_permissions(file, fs::Permissions::from_mode(0o666))
    }

    /// The next connection, which never waits; `None`: there is none, or no descriptor for it at this moment.
    ///
    /// # Errors
    /// What the kernel says of the listening socket. No client can cause one.
    pub fn accept(&self) -> io::Result<Option<OwnedFd>> {
        loop {
            match accept_with(&self.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(socket) => return Ok(Some(socket)),
                // Who connected has gone again.
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(Errno::AGAIN) => return Ok(None),
                // There is no descriptor for it: it waits, and others end meanwhile.
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS) => {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let is_ours = |metadata: fs::Metadata| (metadata.dev(), metadata.ino()) == self.identity;
        if fs::symlink_metadata(&self.path).is_ok_and(is_ours) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

/// Removes a socket without a listener.
fn remove_stale(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(metadata) if !metadata.file_type().is_socket() => Err(io::ErrorKind::AddrInUse.into()),
        Ok(_) => match connect(&socket()?, &SocketAddrUnix::new(path)?) {
            Err(Errno::CONNREFUSED) => fs::remove_file(path),
            Ok(()) | Err(Errno::AGAIN) => Err(io::ErrorKind::AddrInUse.into()),
            Err(error) => Err(error.into()),
        },
    }
}
