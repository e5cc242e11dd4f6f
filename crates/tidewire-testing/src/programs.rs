//! Which programs a test may count on.
//!
//! Tests need programs that are not part of Rust: `ip`, tcpdump, a shell. `scripts/setup.sh` installs them, and
//! `scripts/view.sh` runs the tests where no others are to be found; it says so by [`PROMISED`]. There a program that is
//! missing is a mistake in `setup.sh` or in the test, and not a reason to skip it.

use std::{env, path::PathBuf};

/// Variable: programs of these packages are promised (`all`, or nothing where it is not set). What could not be installed
/// is named after it: `all but softflowd fprobe`.
const PROMISED: &str = "TIDEWIRE_PROMISED";

/// Where a program is, by `PATH` and nothing else; a name with a slash is a path.
#[must_use]
pub fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(program.into()).filter(|path: &PathBuf| path.exists());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Whether every program that a test needs was promised to be there.
#[must_use]
pub fn is_promised() -> bool {
    env::var(PROMISED).is_ok_and(|promised| promised == "all")
}

/// The first of these programs (or files, named by their path) that is not there, as a reason not to test.
///
/// # Panics
/// Where it was promised.
#[must_use]
pub fn missing(programs: &[&str]) -> Option<String> {
    let program = programs.iter().find(|program| find(program).is_none())?;
    assert!(
        !is_promised(),
        "there is no `{program}`, and no package of those that scripts/setup.sh installs for tests brings it: name its \
         package there, or do without it"
    );
    Some(format!("there is no `{program}`"))
}

/// Says why nothing is tested.
pub fn skip(reason: impl std::fmt::Display) {
    println!("skipped: {reason}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_their_name_and_by_their_path() {
        let shell = find("sh").expect("a shell");
        assert_eq!(find(shell.to_str().expect("text")), Some(shell));
        assert_eq!(find("no-such-program"), None);
        assert_eq!(missing(&["sh"]), None);
    }
}
