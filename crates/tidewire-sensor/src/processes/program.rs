//! Finds programs as a shell does.

use std::{
    env,
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::PathBuf,
};

/// The executable file of a program: a path, or a name that is looked up in `PATH`.
///
/// # Errors
/// What is wrong with it, in words that begin with its name.
pub fn find(name: &OsStr) -> Result<PathBuf, String> {
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        let refused = |why: &str| Err(format!("{}: {why}", path.display()));
        return match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => refused("is a directory"),
            Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => refused("is not executable; use chmod +x"),
            Ok(_) => Ok(path),
            Err(error) => refused(&format!("cannot be run: {error}")),
        };
    }
    let paths = env::var_os("PATH").unwrap_or_default();
    let is_program = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    let found = env::split_paths(&paths).map(|folder| folder.join(name)).find(is_program);
    found.ok_or_else(|| format!("{}: program not found in PATH", name.to_string_lossy()))
}
