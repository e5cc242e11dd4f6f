//! Namespaces of others, and the files of one's own.
//!
//! JUSTIFICATION: neither `setns(2)` nor `fsopen(2)` has a wrapper in the standard library.

use std::{
    ffi::CStr,
    fs::File,
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    path::{Path, PathBuf},
    ptr,
};

/// Moves the calling thread into the network namespace of this file: `/run/netns/NAME` or `/proc/PID/ns/net`.
///
/// # Errors
/// What the kernel says: CAP_SYS_ADMIN is needed.
pub fn enter(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    // SAFETY: takes no pointer; only the calling thread's namespace changes.
    check(unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) }.into()).map(drop)
}

/// `/sys` as it is in the calling thread's network namespace, wherever `/sys` itself belongs to: a mount of its own, which
/// is nowhere in the tree of files and goes away with this value.
#[derive(Debug)]
pub struct Sysfs {
    mount: OwnedFd,
}

impl Sysfs {
    /// Mounts it.
    ///
    /// # Errors
    /// What the kernel says: CAP_SYS_ADMIN and Linux 5.2 are needed.
    pub fn mount() -> io::Result<Self> {
        const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
        const KIND: &CStr = c"sysfs";
        let none = ptr::null::<libc::c_char>();
        // SAFETY: the name is a string that ends with a zero and lives throughout the call.
        let context = descriptor(unsafe { libc::syscall(libc::SYS_fsopen, KIND.as_ptr(), 1_u32) })?;
        // SAFETY: this command takes neither key nor value.
        let made =
            unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), FSCONFIG_CMD_CREATE, none, none, 0_i32) };
        check(made)?;
        // SAFETY: takes no pointer.
        let mount = descriptor(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), 1_u32, 0_u32) })?;
        Ok(Self { mount })
    }

    /// A path below it.
    #[must_use]
    pub fn path(&self, below: &str) -> PathBuf {
        format!("/proc/self/fd/{}/{below}", self.mount.as_raw_fd()).into()
    }
}

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn descriptor(result: libc::c_long) -> io::Result<OwnedFd> {
    let number = i32::try_from(check(result)?).map_err(io::Error::other)?;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
