//! Finds the drop-in library.

use std::{
    env, fs, io,
    os::unix::fs::{DirBuilderExt as _, symlink},
    path::{Path, PathBuf},
};

use crate::error::CliError;

/// Its file name.
const NAME: &str = "libtidewire_pcap.so";

/// Names under which programs load libpcap: Debian's, and that of others.
pub const NAMES: &[&str] = &["libpcap.so.0.8", "libpcap.so.1"];

/// Finds the library: by a variable, beside this command, or where it is installed.
pub fn find() -> Result<PathBuf, CliError> {
    if let Some(path) = env::var_os("TIDEWIRE_PCAP_LIBRARY").filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        return match path.canonicalize() {
            Ok(path) if path.is_file() => preloadable(path),
            Ok(_) => Err(CliError::Usage(format!("TIDEWIRE_PCAP_LIBRARY: {} is not a file", path.display()))),
            Err(error) => Err(CliError::Usage(format!("TIDEWIRE_PCAP_LIBRARY: {}: {error}", path.display()))),
        };
    }
    let own = env::current_exe().and_then(|path| path.canonicalize());
    let folder = own.as_deref().ok().and_then(Path::parent).unwrap_or(Path::new("."));
    let places = [folder.join(NAME), folder.join("../lib/tidewire").join(NAME)];
    let found = places.iter().find_map(|place| place.canonicalize().ok().filter(|path| path.is_file()));
    match found {
        Some(path) => preloadable(path),
        None => Err(CliError::Usage(format!(
            "{NAME} not found in {} and {}: install it (make install), build it (cargo build -p tidewire-pcap), or set \
             TIDEWIRE_PCAP_LIBRARY to its path",
            folder.display(),
            folder.join("../lib/tidewire").display(),
        ))),
    }
}

/// The dynamic loader splits LD_PRELOAD at spaces and colons, without a way to escape them.
fn preloadable(path: PathBuf) -> Result<PathBuf, CliError> {
    if path.to_string_lossy().contains([' ', ':', '\t', '\n']) {
        let message = "has a space or a colon in its path, which LD_PRELOAD does not allow: move or link it elsewhere";
        return Err(CliError::Usage(format!("{} {message}", path.display())));
    }
    Ok(path)
}

/// A directory with the library under libpcap's names, for programs that load libpcap by name at run time, as Python's scapy
/// does: the loader searches LD_LIBRARY_PATH for them. Preloading alone would mix the drop-in with the system's library.
#[derive(Debug)]
pub struct Folder {
    pub path: PathBuf,
    /// Whether this run created it and removes it.
    is_made: bool,
}

impl Folder {
    /// The directory of the library if it has these names (`make install`), else a new one at this path.
    pub fn find(library: &Path, path: PathBuf) -> io::Result<Self> {
        let own = library.parent().unwrap_or(Path::new("/"));
        let is_library = |name: &&str| own.join(name).canonicalize().is_ok_and(|found| found == library);
        if NAMES.iter().all(is_library) {
            return Ok(Self { path: own.to_owned(), is_made: false });
        }
        // Readable for others: programs change their user before they load libraries.
        fs::DirBuilder::new().mode(0o755).create(&path)?;
        let folder = Self { path, is_made: true };
        NAMES.iter().try_for_each(|name| symlink(library, folder.path.join(name)))?;
        Ok(folder)
    }

    /// Removes what [`Folder::find`] created.
    pub fn remove(path: &Path) {
        for name in NAMES {
            let _ = fs::remove_file(path.join(name));
        }
        // Files of others stay.
        let _ = fs::remove_dir(path);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_made {
            Self::remove(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_are_made_go_away() {
        let place = tempfile::tempdir().unwrap();
        let library = place.path().canonicalize().unwrap().join(NAME);
        fs::write(&library, "").unwrap();
        let path = place.path().join("made");
        let folder = Folder::find(&library, path.clone()).unwrap();
        assert_eq!(folder.path.join("libpcap.so.1").canonicalize().unwrap(), library);
        assert!(Folder::find(&library, path.clone()).is_err(), "another process's");
        assert!(path.exists());
        drop(folder);
        assert!(!path.exists());
        NAMES.iter().for_each(|name| symlink(NAME, library.with_file_name(name)).unwrap());
        assert_eq!(Folder::find(&library, path.clone()).unwrap().path, library.parent().unwrap());
        assert!(library.exists() && !path.exists());
    }
}
