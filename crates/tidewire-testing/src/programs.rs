//! Availability of external programs.
//!
//! Tests need programs that are not part of Rust: `ip`, tcpdump, a shell. `scripts/setup.sh` installs them, and
//! `scripts/view.sh` runs tests with only those in `PATH`, which it declares by [`PROMISED`]. A missing program is then an
//! error of `setup.sh` or the test, not a reason to skip the test.

use std::{env, path::PathBuf};

/// The variable with the promised packages (`all`; unset: none). Packages that could not be installed follow: `all but
/// softflowd fprobe`.
const PROMISED: &str = "TIDEWIRE_PROMISED";

/// Finds a program in `PATH`; a name with a slash is a path.
#[must_use]
pub fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(program.into()).filter(|path: &PathBuf| path.exists());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Programs and files whose package has another name (Debian's; those that are optional for `scripts/setup.sh`).
const PACKAGES: &[(&str, &str)] = &[
    ("nfpcapd", "nfdump"),
    ("argus", "argus-server"),
    ("ra", "argus-client"),
    ("ndpiReader", "libndpi-bin"),
    ("/usr/include/nids.h", "libnids-dev"),
    ("/usr/lib/python3/dist-packages/scapy/config.py", "python3-scapy"),
    ("/usr/lib/python3/dist-packages/jsonschema/__init__.py", "python3-jsonschema"),
    ("dumpcap", "wireshark-common"),
    ("dumpcap", "tshark"),
    ("ip", "iproute2"),
    ("dig", "bind9-dnsutils"),
    ("nginx", "nginx-light"),
    ("cc", "gcc"),
    ("/usr/include/pcap/pcap.h", "libpcap-dev"),
];

/// Whether a program (or file) was promised: all are, except those of packages that are named as missing.
fn is_promised(program: &str, promised: &str) -> bool {
    let Some(rest) = promised.strip_prefix("all") else { return false };
    let mut lacking = rest.trim_start().trim_start_matches("but ").split_whitespace();
    !lacking.any(|package| package == program || PACKAGES.contains(&(program, package)))
}

/// The first missing program (or file, by its path), as a reason to skip a test.
///
/// # Panics
/// It was promised.
#[must_use]
pub fn missing(programs: &[&str]) -> Option<String> {
    let program = programs.iter().find(|program| find(program).is_none())?;
    assert!(
        !is_promised(program, &env::var(PROMISED).unwrap_or_default()),
        "there is no `{program}`, and no package of those that scripts/setup.sh installs for tests brings it: name its \
         package there, or do without it"
    );
    Some(format!("there is no `{program}`"))
}

/// Why script(1) or `programs` cannot be used: one is missing, or [there are no pseudo-terminals](missing_pseudo_terminals).
///
/// # Panics
/// As [`missing`].
#[must_use]
pub fn missing_terminal(programs: &[&str]) -> Option<String> {
    missing(&["script"]).or_else(|| missing(programs)).or_else(missing_pseudo_terminals)
}

/// Why there are no pseudo-terminals: in a container or chroot without devpts.
#[must_use]
pub fn missing_pseudo_terminals() -> Option<String> {
    let error = std::fs::OpenOptions::new().read(true).write(true).open("/dev/ptmx").err()?;
    Some(format!("there is no pseudo-terminal: /dev/ptmx: {error}"))
}

/// Prints why a test is skipped.
pub fn skip(reason: impl std::fmt::Display) {
    println!("skipped: {reason}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_missing_package_brings_may_be_missing() {
        for (program, promised, expected) in [
            ("tcpdump", "all", true),
            ("tcpdump", "", false),
            ("tcpdump", "all but softflowd fprobe ", true),
            ("fprobe", "all but softflowd fprobe ", false),
            ("ra", "all but argus-client ", false),
            ("ra", "all but argus-server ", true),
            ("/usr/include/nids.h", "all but libnids-dev ", false),
        ] {
            assert_eq!(is_promised(program, promised), expected, "{program}: {promised}");
        }
    }

    #[test]
    fn programs_are_found_by_their_name_and_by_their_path() {
        let shell = find("sh").expect("a shell");
        assert_eq!(find(shell.to_str().expect("text")), Some(shell));
        assert_eq!(find("no-such-program"), None);
        assert_eq!(missing(&["sh"]), None);
    }
}
