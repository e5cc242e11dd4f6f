use std::{fs, path::PathBuf};

use crate::Error;
use tidewire_live::sys::namespace::enter;

use super::build::{ALIAS, Cable, Layout, ip, kernel, wait_for_carrier};

/// A named network, which exists until it is taken down: a namespace `tidewire-lab-NAME` with the sending ends, and
/// `tidewire-lab-NAME-rx` with the receiving ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    name: String,
}

/// Folder in which `ip netns` keeps namespaces.
const FOLDER: &str = "/run/netns";
const RECEIVER: &str = "-rx";

impl Named {
    /// A network's name: letters, digits and `-`, at most 32, not ending in `-rx`.
    ///
    /// # Errors
    /// It is not.
    pub fn new(name: &str) -> Result<Self, Error> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if name.is_empty() || name.len() > 32 || !name.chars().all(fits) || name.ends_with(RECEIVER) {
            let text = format!("'{name}' cannot name a network: letters, digits and -, at most 32, not ending in -rx");
            return Err(Error::Setting(text));
        }
        Ok(Self { name: name.into() })
    }

    /// All networks.
    ///
    /// # Errors
    /// Their folder cannot be read.
    pub fn all() -> Result<Vec<Self>, Error> {
        let entries = match fs::read_dir(FOLDER) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(kernel(format!("reading {FOLDER}"), source)),
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        // A receiving end without a sending one is left over as well.
        let name = |full: String| {
            let name = full.strip_prefix(ALIAS)?.strip_prefix('-')?;
            Some(Self { name: name.strip_suffix(RECEIVER).unwrap_or(name).into() })
        };
        let mut all: Vec<Self> = names.filter_map(name).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all.dedup();
        Ok(all)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its namespaces' names: the sending ends', the receiving ends'.
    #[must_use]
    pub fn namespaces(&self) -> [String; 2] {
        [format!("{ALIAS}-{}", self.name), format!("{ALIAS}-{}{RECEIVER}", self.name)]
    }

    fn paths(&self) -> [PathBuf; 2] {
        self.namespaces().map(|name| PathBuf::from(FOLDER).join(name))
    }

    /// Builds it.
    ///
    /// # Errors
    /// It exists already, or cannot be built; then nothing is left behind.
    pub fn up(&self, layout: &Layout) -> Result<Vec<Cable>, Error> {
        layout.check()?;
        if self.paths().iter().any(|path| path.exists()) {
            let name = &self.name;
            return Err(Error::Setting(format!(
                "there is a network {name}; take it down: tidewire lab net down {name}"
            )));
        }
        let made = self.make(layout);
        if made.is_err() {
            let _ = self.down();
        }
        made
    }

    fn make(&self, layout: &Layout) -> Result<Vec<Cable>, Error> {
        let [sender, receiver] = self.namespaces();
        ip(&format!("netns add {sender}"))?;
        ip(&format!("netns add {receiver}"))?;
        let [sender_path, receiver_path] = self.paths();
        within(receiver_path, || Ok(()))?;
        within(sender_path.clone(), || layout.make(Some(&receiver)))?;
        let [_, receiver_path] = self.paths();
        within(receiver_path, || layout.set_up(true))?;
        within(sender_path, || {
            layout.set_up(false)?;
            wait_for_carrier(&layout.names().into_iter().map(|cable| cable.tx).collect::<Vec<_>>())
        })?;
        Ok(layout.names())
    }

    /// Takes it down; returns whether there was anything to remove.
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn down(&self) -> Result<bool, Error> {
        let mut found = false;
        for (name, path) in self.namespaces().iter().zip(self.paths()) {
            if path.exists() {
                ip(&format!("netns del {name}"))?;
                found = true;
            }
        }
        Ok(found)
    }
}

/// Runs a function in a namespace, on a new thread.
fn within<T: Send>(path: PathBuf, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    std::thread::scope(|scope| {
        let inside = scope.spawn(move || {
            enter(&path).map_err(|source| kernel(format!("entering {}", path.display()), source))?;
            work()
        });
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
