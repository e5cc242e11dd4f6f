//! Where the drop-in library is.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::failure::Failure;

/// Its name as it is built.
const NAME: &str = "libtidewire_pcap.so";

/// The drop-in library: named by a variable, beside this command, or where it is installed.
pub fn find() -> Result<PathBuf, Failure> {
    if let Some(path) = env::var_os("TIDEWIRE_PCAP_LIBRARY").filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        return match path.canonicalize() {
            Ok(path) if path.is_file() => preloadable(path),
            Ok(_) => Err(Failure::Usage(format!("TIDEWIRE_PCAP_LIBRARY: {} is no file", path.display()))),
            Err(error) => Err(Failure::Usage(format!("TIDEWIRE_PCAP_LIBRARY: {}: {error}", path.display()))),
        };
    }
    let own = env::current_exe().and_then(|path| path.canonicalize());
    let folder = own.as_deref().ok().and_then(Path::parent).unwrap_or(Path::new("."));
    let places = [folder.join(NAME), folder.join("../lib/tidewire").join(NAME)];
    let found = places.iter().find_map(|place| place.canonicalize().ok().filter(|path| path.is_file()));
    match found {
        Some(path) => preloadable(path),
        None => Err(Failure::Usage(format!(
            "{NAME} is neither in {} nor in {}: install it there (make install), build it (cargo build -p tidewire-pcap), or \
             name it in TIDEWIRE_PCAP_LIBRARY",
            folder.display(),
            folder.join("../lib/tidewire").display(),
        ))),
    }
}

/// The dynamic loader divides LD_PRELOAD at spaces and colons, and knows no way around.
fn preloadable(path: PathBuf) -> Result<PathBuf, Failure> {
    if path.to_string_lossy().contains([' ', ':', '\t', '\n']) {
        let message = "has a space or a colon in its path, which LD_PRELOAD cannot have: move or link it elsewhere";
        return Err(Failure::Usage(format!("{} {message}", path.display())));
    }
    Ok(path)
}
