//! Where the drop-in library is.

use std::{
    env, fs, io,
    os::unix::fs::{DirBuilderExt as _, symlink},
    path::{Path, PathBuf},
};

use crate::error::CliError;

/// Its name as it is built.
const NAME: &str = "libtidewire_pcap.so";

/// Under which programs ask for libpcap: Debian's name, and everybody else's.
pub const NAMES: &[&str] = &["libpcap.so.0.8", "libpcap.so.1"];

/// The drop-in library: named by a variable, beside this command, or where it is installed.
pub fn find() -> Result<PathBuf, CliError> {
    if let Some(path) = env::var_os("TIDEWIRE_PCAP_LIBRARY").filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        return match path.canonicalize() {
            Ok(path) if path.is_file() => preloadable(path),
            Ok(_) => Err(CliError::Usage(format!("TIDEWIRE_PCAP_LIBRARY: {} is no file", path.display()))),
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
            "{NAME} is neither in {} nor in {}: install it there (make install), build it (cargo build -p tidewire-pcap), or \
             name it in TIDEWIRE_PCAP_LIBRARY",
            folder.display(),
            folder.join("../lib/tidewire").display(),
        ))),
    }
}

/// The dynamic loader divides LD_PRELOAD at spaces and colons, and knows no way around.
fn preloadable(path: PathBuf) -> Result<PathBuf, CliError> {
    if path.to_string_lossy().contains([' ', ':', '\t', '\n']) {
        let message = "has a space or a colon in its path, which LD_PRELOAD cannot have: move or link it elsewhere";
        return Err(CliError::Usage(format!("{} {message}", path.display())));
    }
    Ok(path)
}

/// A folder that has the library under libpcap's names, for programs that ask for them while they run, as Python's scapy
/// does: the loader looks for those in LD_LIBRARY_PATH. What is only loaded before would be mixed with the system's library
/// then, which knows nothing of it.
#[derive(Debug)]
pub struct Folder {
    pub path: PathBuf,
    /// Whether it is ours, and goes away again.
    is_made: bool,
}

impl Folder {
    /// The library's own folder where it has the names (`make install`), else one made for the purpose at this path.
    pub fn find(library: &Path, path: PathBuf) -> io::Result<Self> {
        let own = library.parent().unwrap_or(Path::new("/"));
        let is_library = |name: &&str| own.join(name).canonicalize().is_ok_and(|found| found == library);
        if NAMES.iter().all(is_library) {
            return Ok(Self { path: own.to_owned(), is_made: false });
        }
        // Others may look into it: programs change their user before they load what they need.
        fs::DirBuilder::new().mode(0o755).create(&path)?;
        let folder = Self { path, is_made: true };
        NAMES.iter().try_for_each(|name| symlink(library, folder.path.join(name)))?;
        Ok(folder)
    }

    /// Takes away what [`Folder::find`] made.
    pub fn remove(path: &Path) {
        for name in NAMES {
            let _ = fs::remove_file(path.join(name));
        }
        // What else somebody put there stays.
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
        assert!(Folder::find(&library, path.clone()).is_err(), "somebody else's");
        assert!(path.exists());
        drop(folder);
        assert!(!path.exists());
        NAMES.iter().for_each(|name| symlink(NAME, library.with_file_name(name)).unwrap());
        assert_eq!(Folder::find(&library, path.clone()).unwrap().path, library.parent().unwrap());
        assert!(library.exists() && !path.exists());
    }
}
