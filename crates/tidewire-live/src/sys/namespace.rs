//! Network namespaces, and their `/sys`.

use std::{
    fs::File,
    io,
    os::fd::{AsFd as _, AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};

/// Moves the calling thread into the network namespace of this file: `/run/netns/NAME` or `/proc/PID/ns/net`.
///
/// # Errors
/// What the kernel says: CAP_SYS_ADMIN is needed.
pub fn enter(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?)
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
        let context = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
        Ok(Self { mount })
    }

    /// A path below it.
    #[must_use]
    pub fn path(&self, below: &str) -> PathBuf {
        format!("/proc/self/fd/{}/{below}", self.mount.as_raw_fd()).into()
    }
}
