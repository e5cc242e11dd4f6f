//! What a configuration is checked against: users, programs, files, interfaces and memory of this machine.

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
        program::find(OsStr::new(name)).map(drop)
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

/// The number of a user or group, where a name is one. The highest is no id: it tells setresuid(2) and chown(2) to change
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

/// The least memory limit of our control group and those above it (`memory.max` of cgroup v2).
fn control_group_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let limit = |group: &Path| {
        let text = fs::read_to_string(Path::new("/sys/fs/cgroup").join(group).join("memory.max")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    Path::new(path).ancestors().filter_map(limit).min()
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
        assert!(machine.user("nobody-is-called-so").is_err() && machine.user("").is_err());
        assert_eq!((machine.group("root"), machine.group("7")), (Ok(0), Ok(7)));
        assert!(machine.program("sh").is_ok() && machine.program("no-such-program").is_err());
        assert!(machine.file(Path::new("Cargo.toml")).is_ok() && machine.file(Path::new("/")).is_err());
        assert!(machine.interface("lo").is_ok() && machine.interface("nosuch0").is_err());
        assert!(machine.filter("tcp port 80").is_ok() && machine.filter("tcp prt 80").is_err());
        let (total, available) = machine.memory().expect("figures");
        assert!(total >= available && available > 1 << 20);
    }
}
