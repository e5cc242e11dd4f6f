//! The programs that write packets.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{peer_output::Format, program::Program};

/// Where they are.
#[derive(Clone, Debug)]
pub(super) struct Recorders {
    tidewire: PathBuf,
}

/// A folder of a run: removed when it ends.
pub(super) struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(parent: &Path) -> Result<Self, String> {
        let path = parent.join(format!("tidewire-bench-record-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Recorders {
    pub fn new(programs: &Path) -> Self {
        Self { tidewire: programs.join("tidewire") }
    }

    /// The command.
    pub fn tidewire(&self) -> &Path {
        &self.tidewire
    }

    /// All that are installed, which write to `folder`.
    pub fn all(&self, folder: &Path) -> Vec<Result<Program, String>> {
        let file = folder.join("file").display().to_string();
        vec![
            Ok(self.record(folder, "tidewire record", "")),
            peer("tcpdump", &format!("tcpdump -i IFACE -n -s 0 -B 65536 -Z root -w {file}"), Format::Tcpdump, &file),
            peer("dumpcap", &format!("dumpcap -q -i IFACE -B 64 -w {file}"), Format::Dumpcap, &file),
            peer("netsniff-ng", &format!("netsniff-ng -i IFACE -s -S 64MiB -o {file}"), Format::Netsniff, &file),
        ]
    }

    /// `tidewire record` with more options.
    pub fn record(&self, folder: &Path, name: &str, options: &str) -> Program {
        let (tidewire, archive) = (self.tidewire.display(), folder.join("archive"));
        let archive = archive.display();
        let line =
            format!("rm -rf {archive}; exec {tidewire} record -q --json -i IFACE -o {archive} --ring 64M {options}");
        Program::new(name, &["sh", "-c", line.trim_end()]).format(Format::Record)
    }
}

fn peer(name: &str, line: &str, format: Format, file: &str) -> Result<Program, String> {
    let found = Command::new("which").arg(name).output().is_ok_and(|output| output.status.success());
    if !found {
        return Err(format!("{name} is not installed"));
    }
    Ok(Program::new(name, &["sh", "-c", &format!("rm -f {file}; exec {line}")]).format(format))
}
