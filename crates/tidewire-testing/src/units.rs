//! Units of systemd.

use std::{fs, path::Path, process::Command};

use crate::{InTime as _, find, skip};

/// The highest exposure that `systemd-analyze security` may find, in tenths: capturing itself costs three.
const EXPOSURE_MAX: &str = "35";

/// Checks a unit in a folder; skips where there is no systemd-analyze.
///
/// # Panics
/// It is not valid, or exposed to more than capturing needs; with what systemd-analyze says.
pub fn check_unit(folder: &Path, name: &str, unit: &str) {
    if find("systemd-analyze").is_none() {
        return skip("there is no systemd-analyze");
    }
    let path = folder.join(name);
    fs::write(&path, unit).expect("a file");
    let run = |words: &[&str]| {
        let output = Command::new("systemd-analyze").args(words).arg(&path).run_in_time().expect("it runs");
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    let (valid, said) = run(&["verify", "--man=no"]);
    if said.contains("--man") || said.contains("Failed to") {
        return skip(format!("systemd-analyze cannot verify here: {said}"));
    }
    assert!(valid && said.trim().is_empty(), "{said}");
    let threshold = format!("--threshold={EXPOSURE_MAX}");
    let (hardened, said) = run(&["security", "--offline=true", "--no-pager", &threshold]);
    assert!(hardened, "{said}");
}

/// `setpriv`, which runs a program as a user that has the capabilities of a unit, and no way to others.
///
/// # Panics
/// The unit has no line of capabilities.
#[must_use]
pub fn as_unit(unit: &str) -> Command {
    let line = unit.lines().find_map(|line| line.strip_prefix("AmbientCapabilities=")).expect("a set");
    let set: String = line.split(' ').map(|name| format!(",+{}", name.to_lowercase().replace("cap_", ""))).collect();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]);
    for option in ["--bounding-set", "--inh-caps", "--ambient-caps"] {
        command.arg(format!("{option}=-all{set}"));
    }
    command
}
