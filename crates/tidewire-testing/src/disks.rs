//! Disks that stall.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{InTime as _, find};

/// A small disk of its own below a folder, which can be made to stall: writers wait until it is thawed. Unmounted at the end.
#[derive(Debug)]
pub struct StallingDisk {
    path: PathBuf,
    is_frozen: bool,
}

impl StallingDisk {
    /// Makes and mounts it; `None`: that needs root, a loop device, and `mkfs.ext4`.
    ///
    /// # Panics
    /// The folder cannot be written.
    #[must_use]
    pub fn mount(folder: &Path, bytes: u64) -> Option<Self> {
        let (path, image) = (folder.join("stalling"), folder.join("stalling.img"));
        fs::create_dir(&path).expect("a folder");
        fs::File::create(&image).and_then(|file| file.set_len(bytes)).expect("an image");
        let is_done = |command: &mut Command| command.run_in_time().is_ok_and(|output| output.status.success());
        find("fsfreeze")?;
        let is_made = is_done(Command::new("mkfs.ext4").arg("-q").arg(&image));
        let is_mounted = is_made && is_done(Command::new("mount").args(["-o", "loop"]).args([&image, &path]));
        is_mounted.then_some(Self { path, is_frozen: false })
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets it stall.
    ///
    /// # Panics
    /// It does not.
    pub fn freeze(&mut self) {
        self.is_frozen = true;
        self.turn("-f");
    }

    /// Lets it go on.
    ///
    /// # Panics
    /// It does not.
    pub fn thaw(&mut self) {
        if std::mem::take(&mut self.is_frozen) {
            self.turn("-u");
        }
    }

    fn turn(&self, how: &str) {
        let turned = Command::new("fsfreeze").arg(how).arg(&self.path).run_in_time().expect("fsfreeze");
        assert!(turned.status.success(), "{}", String::from_utf8_lossy(&turned.stderr));
    }
}

impl Drop for StallingDisk {
    fn drop(&mut self) {
        // Processes that wait for it cannot be killed before.
        self.thaw();
        let _ = Command::new("umount").arg("-l").arg(&self.path).status_in_time();
    }
}
