//! Checks whether the drop-in library can be loaded into a program: it exists, is executable and dynamically linked, and has no
//! more rights than its caller.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::Read as _,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::error::CliError;

/// Most nested interpreters of scripts (Linux allows five).
const SCRIPTS_MAX: usize = 5;
/// Bytes read of a program: its headers, and the path of its loader.
const HEAD_BYTES: u64 = 64 << 10;
/// `PT_DYNAMIC`, `PT_INTERP` (elf(5)).
const DYNAMIC: u32 = 2;
const INTERPRETER: u32 = 3;

/// A program that can run with the library.
#[derive(Debug)]
pub struct Program {
    pub path: PathBuf,
    /// Whether it loads libpcap at its start.
    pub loads_libpcap: bool,
    pub warnings: Vec<String>,
}

/// Finds a program as a shell does, and checks it and its interpreters.
pub fn check(name: &OsStr, library: &Path) -> Result<Program, CliError> {
    let path = find(name)?;
    let mut warnings = Vec::new();
    let mut current = path.clone();
    for depth in 0..=SCRIPTS_MAX {
        rights(&current)?;
        let head = head(&current)?;
        if let Some(line) = head.strip_prefix(b"#!") {
            let Some(next) = interpreter(line, &current)? else { break };
            current = next;
            continue;
        }
        loaded(&head, &current, library)?;
        let loads_libpcap = depth == 0 && loads_libpcap(&current);
        if depth == 0 && !loads_libpcap {
            warnings.push(format!(
                "{} is not linked with libpcap: unless it loads libpcap later, its instances share no packets",
                path.display()
            ));
        }
        return Ok(Program { path, loads_libpcap, warnings });
    }
    Ok(Program { path, loads_libpcap: false, warnings })
}

fn refuse<T>(path: &Path, why: impl std::fmt::Display) -> Result<T, CliError> {
    Err(CliError::Usage(format!("{}: {why}", path.display())))
}

fn find(name: &OsStr) -> Result<PathBuf, CliError> {
    tidewire_sensor::processes::program::find(name).map_err(CliError::usage)
}

/// A program with more rights than its caller ignores LD_PRELOAD (ld.so(8), secure-execution mode).
fn rights(path: &Path) -> Result<(), CliError> {
    let metadata = fs::metadata(path).or_else(|error| refuse(path, format_args!("cannot be inspected: {error}")))?;
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let why = "the dynamic loader preloads no library into such a program. Run tidewire run as root, or run a copy of the \
               program without it (tidewire run then prints how to pass capabilities on)";
    let mode = metadata.permissions().mode();
    if mode & 0o4000 != 0 && metadata.uid() != user {
        return refuse(path, format_args!("is set-user-ID: {why}"));
    }
    if mode & 0o2000 != 0 && metadata.gid() != group {
        return refuse(path, format_args!("is set-group-ID: {why}"));
    }
    let mut value = [0_u8; 64];
    let has_capabilities = rustix::fs::getxattr(path, "security.capability", &mut value[..]).is_ok();
    if has_capabilities && user != 0 {
        return refuse(path, format_args!("has file capabilities (getcap shows them): {why}"));
    }
    Ok(())
}

fn head(path: &Path) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(bytes),
        Err(error) => refuse(path, format_args!("cannot be read to check whether it is dynamically linked: {error}")),
    }
}

/// The interpreter in a script's first line; after `env`, the program that it runs.
fn interpreter(line: &[u8], script: &Path) -> Result<Option<PathBuf>, CliError> {
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t' | b'\r')).filter(|word| !word.is_empty());
    let Some(first) = words.next() else { return refuse(script, "its first line names no interpreter") };
    let first = Path::new(OsStr::from_bytes(first));
    if first.file_name() == Some(OsStr::new("env")) {
        // Options and variables of env precede the program.
        let named = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='));
        return named.map(|word| find(OsStr::from_bytes(word))).transpose();
    }
    if !first.exists() {
        return refuse(script, format_args!("its interpreter {} does not exist", first.display()));
    }
    Ok(Some(first.to_owned()))
}

/// The relevant headers of an executable.
struct Elf<'a> {
    bytes: &'a [u8],
    is_64: bool,
    is_little: bool,
}

impl<'a> Elf<'a> {
    fn new(bytes: &'a [u8]) -> Option<Self> {
        let (class, data) = (*bytes.get(4)?, *bytes.get(5)?);
        let known = bytes.starts_with(b"\x7fELF") && matches!(class, 1 | 2) && matches!(data, 1 | 2);
        known.then_some(Self { bytes, is_64: class == 2, is_little: data == 1 })
    }

    fn number(&self, at: usize, bytes: usize) -> Option<u64> {
        let field = self.bytes.get(at..at.checked_add(bytes)?)?;
        let add = |sum: u64, byte: &u8| (sum << 8) | u64::from(*byte);
        Some(if self.is_little { field.iter().rev().fold(0, add) } else { field.iter().fold(0, add) })
    }

    /// Width, byte order and machine.
    fn machine(&self) -> Option<(bool, bool, u64)> {
        Some((self.is_64, self.is_little, self.number(18, 2)?))
    }

    /// Offset and length of the segment of this type.
    fn segment(&self, kind: u32) -> Option<(usize, usize)> {
        let (table, entry, count) = if self.is_64 {
            (self.number(32, 8)?, self.number(54, 2)?, self.number(56, 2)?)
        } else {
            (self.number(28, 4)?, self.number(42, 2)?, self.number(44, 2)?)
        };
        (0..count).find_map(|index| {
            let at = usize::try_from(table.checked_add(index * entry)?).ok()?;
            let (offset, length) = if self.is_64 {
                (self.number(at + 8, 8)?, self.number(at + 32, 8)?)
            } else {
                (self.number(at + 4, 4)?, self.number(at + 16, 4)?)
            };
            let found = self.number(at, 4)? == u64::from(kind);
            found.then_some((usize::try_from(offset).ok()?, usize::try_from(length).ok()?))
        })
    }

    /// The path of its loader.
    fn loader(&self) -> Option<String> {
        let (offset, length) = self.segment(INTERPRETER)?;
        let text = self.bytes.get(offset..offset.checked_add(length)?)?;
        Some(String::from_utf8_lossy(text.strip_suffix(b"\0").unwrap_or(text)).into_owned())
    }
}

/// Checks that the loader of a program accepts our library.
fn loaded(head: &[u8], path: &Path, library: &Path) -> Result<(), CliError> {
    let Some(elf) = Elf::new(head) else {
        return refuse(path, "is neither an ELF program nor a script that begins with #!");
    };
    let ours = self::head(library)?;
    let machine = Elf::new(&ours).and_then(|elf| elf.machine());
    if machine.is_none() {
        return refuse(library, "is no library");
    }
    if elf.machine() != machine {
        return refuse(path, "is for another kind of processor than the drop-in library, and cannot load it");
    }
    match elf.loader() {
        Some(loader) if loader.contains("ld-musl") => {
            refuse(path, "is linked with musl, and cannot load the drop-in library, which is linked with glibc")
        }
        Some(_) => Ok(()),
        None => {
            let kind = if elf.segment(DYNAMIC).is_some() { " (static-pie)" } else { "" };
            refuse(
                path,
                format_args!(
                    "is linked statically{kind}: its libpcap is a part of it and cannot be replaced. Take a build that loads \
                     libpcap.so"
                ),
            )
        }
    }
}

/// Whether the loader would load libpcap, which it reports (ld.so(8), LD_TRACE_LOADED_OBJECTS) without running the program.
/// Without a report: true.
fn loads_libpcap(path: &Path) -> bool {
    let mut command = Command::new(path);
    command.env("LD_TRACE_LOADED_OBJECTS", "1").env_remove("LD_PRELOAD");
    match command.stdin(Stdio::null()).stderr(Stdio::null()).output() {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).contains("libpcap.so"),
        _ => true,
    }
}

/// A list variable of the loader, with this path before its current value.
pub fn before(variable: &str, path: &Path) -> OsString {
    let mut value = path.as_os_str().to_owned();
    if let Some(others) = env::var_os(variable).filter(|others| !others.is_empty()) {
        value.push(":");
        value.push(others);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_however_they_are_cut() {
        let own = fs::read("/proc/self/exe").unwrap();
        let elf = Elf::new(&own).unwrap();
        assert!(elf.loader().unwrap().contains("ld-"));
        assert!(elf.segment(DYNAMIC).is_some());
        for length in 0..2048 {
            if let Some(elf) = Elf::new(&own[..length]) {
                let _ = (elf.loader(), elf.machine(), elf.segment(DYNAMIC));
            }
        }
        let mut changed = own[..4096].to_vec();
        for at in 0..512 {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let before = std::mem::replace(&mut changed[at], value);
                let _ = Elf::new(&changed).and_then(|elf| elf.loader());
                changed[at] = before;
            }
        }
    }

    #[test]
    fn interpreters_of_scripts() {
        let of = |line: &[u8]| interpreter(line, Path::new("script"));
        assert_eq!(of(b" /bin/sh -e\nx").unwrap().unwrap(), Path::new("/bin/sh"));
        assert!(of(b"/usr/bin/env -S sh -e\n").unwrap().unwrap().ends_with("sh"));
        assert!(of(b"/usr/bin/env A=1 no-such-program\n").is_err());
        assert!(of(b"\n").is_err() && of(b"/nonexistent\n").is_err());
    }
}
