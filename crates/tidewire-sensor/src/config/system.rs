//! Facts of this machine that a configuration is checked against: users, programs, files, interfaces and memory.

use std::{ffi::OsStr, fs, path::Path};

use nix::unistd::{Group, User};
use tidewire_delivery::keys::Places;

use super::{doubt::Doubt, outside};
use crate::processes::program;

/// The questions of the checks.
pub trait System {
    /// User and main group of a user, by name or number.
    ///
    /// # Errors
    /// Why there is none.
    fn user(&self, name: &str) -> Result<(u32, u32), String>;
    /// The number of a group, by name or number.
    ///
    /// # Errors
    /// Why there is none.
    fn group(&self, name: &str) -> Result<u32, String>;
    /// Whether a program can be run.
    ///
    /// # Errors
    /// Why not, in words that begin with its name.
    fn program(&self, name: &str) -> Result<(), String>;
    /// Whether a file can be read.
    ///
    /// # Errors
    /// Why not.
    fn file(&self, path: &Path) -> Result<(), String>;
    /// Whether there is such an interface.
    ///
    /// # Errors
    /// Why not, with the names that there are.
    fn interface(&self, name: &str) -> Result<(), String>;
    /// Whether a filter expression compiles.
    ///
    /// # Errors
    /// What the compiler says.
    fn filter(&self, expression: &str) -> Result<(), String>;
    /// Whether a file has patterns.
    ///
    /// # Errors
    /// What is wrong, with its line.
    fn patterns(&self, path: &Path) -> Result<(), String>;
    /// Whether there is such a folder, which can be written.
    ///
    /// # Errors
    /// Why not, in words that begin with its path.
    fn folder(&self, path: &Path) -> Result<(), Doubt>;
    /// Whether a store can be there.
    ///
    /// # Errors
    /// Why not, in words that begin with its path.
    fn store(&self, path: &Path) -> Result<(), Doubt>;
    /// Whether these prove to a collector who a sensor is.
    ///
    /// # Errors
    /// Why not, in words that begin with a path.
    fn keys(&self, places: &Places) -> Result<(), Doubt>;
    /// Whether connections can be accepted at an address.
    ///
    /// # Errors
    /// Why not.
    fn listen(&self, address: &str) -> Result<(), Doubt>;
    /// Bytes of memory that may be used, and of these the available ones.
    fn memory(&self) -> Option<(u64, u64)>;
}

/// This machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine;

impl System for Machine {
    fn user(&self, name: &str) -> Result<(u32, u32), String> {
        let number = number(name)?;
        let found = match number {
            Some(number) => User::from_uid(number.into()),
            None => User::from_name(name),
        };
        match (found, number) {
            (Ok(Some(user)), _) => Ok((user.uid.as_raw(), user.gid.as_raw())),
            // A number needs no entry in the database (containers).
            (_, Some(number)) => Ok((number, number)),
            (Ok(None), None) => Err("there is no such user".into()),
            (Err(error), None) => Err(format!("the user cannot be looked up: {error}")),
        }
    }

    fn group(&self, name: &str) -> Result<u32, String> {
        if let Some(number) = number(name)? {
            return Ok(number);
        }
        match Group::from_name(name) {
            Ok(Some(group)) => Ok(group.gid.as_raw()),
            Ok(None) => Err("there is no such group".into()),
            Err(error) => Err(format!("the group cannot be looked up: {error}")),
        }
    }

    fn program(&self, name: &str) -> Result<(), String> {
        program::find(OsStr::new(name)).map(drop).map_err(|error| error.to_string())
    }

    fn file(&self, path: &Path) -> Result<(), String> {
        // Opening a pipe would wait for its writer.
        let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
        if metadata.is_dir() {
            return Err("is a directory".into());
        }
        if metadata.is_file() {
            fs::File::open(path).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn interface(&self, name: &str) -> Result<(), String> {
        tidewire::live::Interface::find(name).map(drop).map_err(|error| error.to_string())
    }

    fn filter(&self, expression: &str) -> Result<(), String> {
        tidewire_filter::Filter::new(expression).map(drop).map_err(|error| error.to_string())
    }

    fn patterns(&self, path: &Path) -> Result<(), String> {
        tidewire_analyzers::patterns_of(path).map(drop).map_err(|error| error.to_string())
    }

    fn folder(&self, path: &Path) -> Result<(), Doubt> {
        outside::folder(path)
    }

    fn store(&self, path: &Path) -> Result<(), Doubt> {
        outside::store(path)
    }

    fn keys(&self, places: &Places) -> Result<(), Doubt> {
        outside::keys(places)
    }

    fn listen(&self, address: &str) -> Result<(), Doubt> {
        outside::listen(address)
    }

    fn memory(&self) -> Option<(u64, u64)> {
        let text = fs::read_to_string("/proc/meminfo").ok()?;
        let figure = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
        };
        let total = figure("MemTotal")?;
        let limit = control_group_limit().unwrap_or(u64::MAX);
        Some((total.min(limit), figure("MemAvailable").unwrap_or(total).min(limit)))
    }
}

/// The number of a user or group, where a name is one. The highest is no id: setresuid(2) and chown(2) take it as a request to change
/// nothing, so that a program would keep the sensor's user.
fn number(name: &str) -> Result<Option<u32>, String> {
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    match name.parse() {
        Ok(u32::MAX) => Err(format!("{} is no id: the kernel takes it as \"leave it as it is\"", u32::MAX)),
        Ok(number) => Ok(Some(number)),
        Err(_) if is_number => Err(format!("ids are numbers below {}", u32::MAX)),
        Err(_) => Ok(None),
    }
}

/// Where control groups are.
const GROUPS: &str = "/sys/fs/cgroup";

/// The least memory limit of our control group and those above it.
fn control_group_limit() -> Option<u64> {
    group_limit(&fs::read_to_string("/proc/self/cgroup").ok()?, Path::new(GROUPS))
}

/// `groups`: the lines of cgroups(7), `NUMBER:CONTROLLERS:/PATH`: of version 2 number 0 and no controllers, of version 1 `memory` among
/// them, below a folder of that name. Both may be there, with the limit in one of them.
fn group_limit(groups: &str, root: &Path) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(":/")?;
        let (folder, file) = match (number, controllers) {
            ("0", "") => (root.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => (root.join("memory"), "memory.limit_in_bytes"),
            _ => return None,
        };
        let limit = |group: &Path| {
            // Without a limit, version 2 says "max", and version 1 a number that no machine has.
            let text = fs::read_to_string(folder.join(group).join(file)).ok()?;
            text.trim().parse::<u64>().ok()
        };
        Path::new(path).ancestors().filter_map(limit).min()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_answers() {
        let machine = Machine;
        assert_eq!(machine.user("root"), Ok((0, 0)));
        assert_eq!(machine.user("0"), Ok((0, 0)));
        assert_eq!(machine.user("4000000"), Ok((4_000_000, 4_000_000)));
        for none in ["4294967295", "4294967296", "04294967295"] {
            assert!(machine.user(none).is_err() && machine.group(none).is_err(), "{none}");
        }
        assert!(machine.user("no-such-user").is_err() && machine.user("").is_err());
        assert_eq!((machine.group("root"), machine.group("7")), (Ok(0), Ok(7)));
        assert!(machine.program("sh").is_ok() && machine.program("no-such-program").is_err());
        assert!(machine.file(Path::new("Cargo.toml")).is_ok() && machine.file(Path::new("/")).is_err());
        assert!(machine.interface("lo").is_ok() && machine.interface("nosuch0").is_err());
        assert!(machine.filter("tcp port 80").is_ok() && machine.filter("tcp prt 80").is_err());
        let (total, available) = machine.memory().expect("figures");
        assert!(total >= available && available > 1 << 20);
    }
    #[test]
    fn the_least_limit_of_any_control_group_counts() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |file: &str, text: &str| {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("a file");
        };
        write("a/b/memory.max", "max\n");
        write("a/memory.max", "3000\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/c/memory.limit_in_bytes", "2000\n");
        write("cpu/c/memory.limit_in_bytes", "1\n");
        let limit = |groups: &str| group_limit(groups, root.path());
        assert_eq!(limit("0::/a/b\n"), Some(3000), "of one above");
        assert_eq!(limit("7:cpu:/c\n4:hugetlb,memory:/c/d\n"), Some(2000));
        assert_eq!(limit("4:memory:/c\n0::/a\n"), Some(2000), "both versions");
        // In a container the path is that outside of it: the root is the container's own.
        assert_eq!(limit("4:memory:/elsewhere\n"), Some(9_223_372_036_854_771_712));
        assert_eq!((limit("7:cpu:/c\n"), limit("")), (None, None));
    }
}
