//! Captures of each kind, made once, for all commands that read them.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{rows::Make, traffic::Made};

/// A capture of a kind, and how many items it holds.
#[derive(Clone, Debug)]
pub(super) struct Capture {
    pub(super) path: PathBuf,
    pub(super) items: f64,
    pub(super) bytes: f64,
}

/// Those made so far.
pub(super) struct Captures {
    folder: PathBuf,
    made: Mutex<Vec<(Make, usize, Capture)>>,
    count: AtomicUsize,
}

impl Captures {
    /// None yet. The folder is removed with them.
    pub(super) fn new(folder: &Path) -> Result<Self, String> {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { folder: folder.to_owned(), made: Mutex::default(), count: AtomicUsize::new(0) })
    }

    /// A capture of a kind with so many packets, about. Two threads may make the same one: each has its own file.
    pub(super) fn of(&self, make: Make, packets: usize) -> Result<Capture, String> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let is_wanted =
            |(kind, size, _): &&(Make, usize, Capture)| std::ptr::fn_addr_eq(*kind, make) && *size == packets;
        let known = made.iter().find(is_wanted).map(|(.., capture)| capture.clone());
        drop(made);
        if let Some(capture) = known {
            return Ok(capture);
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{number}.pcap"));
        let created = Made::create(&path).and_then(|mut made| {
            let items = make(&mut made, packets);
            made.finish()?;
            Ok((items, fs::metadata(&path)?.len()))
        });
        let (items, bytes) = created.map_err(|error| format!("{}: {error}", path.display()))?;
        let capture = Capture { path, items: items as f64, bytes: bytes as f64 };
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push((make, packets, capture.clone()));
        Ok(capture)
    }
}

impl Drop for Captures {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::traffic::http, *};

    #[test]
    fn a_capture_is_made_once() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let captures = Captures::new(&folder.path().join("captures"))?;
        let [one, same, longer] = [(http::body as Make, 3), (http::body, 3), (http::body, 4)]
            .map(|(make, packets)| captures.of(make, packets));
        let (one, longer) = (one?, longer?);
        assert_eq!(one.path, same?.path);
        assert_ne!(one.path, longer.path);
        assert!(longer.bytes > one.bytes && longer.items > one.items);
        Ok(())
    }
}
