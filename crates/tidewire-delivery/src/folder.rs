//! Files in a folder as a destination. A file is written under a hidden name, and gets its own when it is whole and durable: that
//! is when its records are delivered. Its name says whose and which they are: `NAME-STORE-FIRST-LAST.jsonl`.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use tidewire_event_store::KeyId;
use tidewire_outputs::place::links::{self, Missing};
use tidewire_types::hex;

use crate::{
    destination::{Destination, Failure, Parcel, Start},
    lines::{put_key, put_row},
    protocol::StoreId,
    settings::FolderSettings,
};

/// Events of a record that have a line each; of a record with more, one line says how many there are and what varies.
const EXPAND_MAX: u64 = 1000;
/// Parcels of a file at most: what is remembered of each is little.
const PARCELS_MAX: usize = 1 << 16;

/// A folder.
pub struct Folder {
    settings: FolderSettings,
    /// Where its path leads.
    path: PathBuf,
    name: String,
    store: StoreId,
    file: Option<Open>,
    /// All records up to this one were given to it; all up to that one are durable.
    sent: u64,
    durable: u64,
    bytes: u64,
    left_out: u64,
    warning: Option<String>,
}

/// A file that is not whole yet.
struct Open {
    to: BufWriter<File>,
    hidden: PathBuf,
    begun: Instant,
    first: u64,
    last: u64,
    bytes: u64,
    /// Data keys that it has: each file can be read without the others.
    keys: BTreeSet<KeyId>,
}

/// The beginning of the names of a destination's files of a store: several destinations may have one folder.
fn prefix(name: &str, store: &StoreId) -> String {
    format!("{name}-{}", hex::encode(&store[..8]))
}

/// The last record in a file of this name.
fn last_of(name: &str, prefix: &str) -> Option<u64> {
    let (_, last) = name.strip_prefix(prefix)?.strip_prefix('-')?.strip_suffix(".jsonl")?.split_once('-')?;
    last.parse().ok()
}

impl Folder {
    /// A folder, for the destination of this name.
    #[must_use]
    pub fn new(settings: FolderSettings, name: &str) -> Self {
        let (name, path) = (name.to_owned(), settings.path.clone());
        Self {
            settings,
            path,
            name,
            store: [0; 16],
            file: None,
            sent: 0,
            durable: 0,
            bytes: 0,
            left_out: 0,
            warning: None,
        }
    }

    fn failed(&self, what: &str, path: &Path) -> impl Fn(io::Error) -> Failure + use<> {
        let text = format!("{}: {what}", path.display());
        move |error| {
            let failure = Failure::new(format!("{text}: {error}"));
            match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => failure.hint("free space there"),
                io::ErrorKind::NotFound => failure.hint("make the folder"),
                io::ErrorKind::PermissionDenied => failure.hint("let the sensor's user write there"),
                _ => failure,
            }
        }
    }

    fn hidden(&self) -> PathBuf {
        self.path.join(format!(".{}.partial", prefix(&self.name, &self.store)))
    }

    /// The file that is being written, begun if there is none.
    fn begin(&mut self, first: u64) -> Result<&mut Open, Failure> {
        let file = match self.file.take() {
            Some(open) => open,
            None => {
                let hidden = self.hidden();
                // A new one: where others may write to the folder, no link is followed.
                drop(fs::remove_file(&hidden));
                let to = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&hidden);
                let to = to.map_err(self.failed("creating", &hidden))?;
                let (begun, keys) = (Instant::now(), BTreeSet::new());
                Open { to: BufWriter::with_capacity(256 << 10, to), hidden, begun, first, last: first, bytes: 0, keys }
            }
        };
        Ok(self.file.insert(file))
    }

    /// Gives the file its name, if there is one and `is_due` says so.
    fn publish(&mut self, is_due: impl FnOnce(&Open) -> bool) -> Result<(), Failure> {
        let Some(mut open) = self.file.take_if(|open| is_due(open)) else {
            if self.file.is_none() {
                self.durable = self.sent;
            }
            return Ok(());
        };
        let name = format!("{}-{:020}-{:020}.jsonl", prefix(&self.name, &self.store), open.first, open.last);
        let path = self.path.join(name);
        let written = open.to.flush().and_then(|()| open.to.get_ref().sync_all());
        written.map_err(self.failed("writing", &open.hidden))?;
        fs::rename(&open.hidden, &path).map_err(self.failed("giving the file its name", &path))?;
        let synced = File::open(&self.path).and_then(|folder| folder.sync_all());
        synced.map_err(self.failed("syncing the folder", &self.path))?;
        self.durable = self.sent;
        Ok(())
    }
}

impl Destination for Folder {
    fn kind(&self) -> &'static str {
        "folder"
    }

    fn open(&mut self, start: Start) -> Result<Option<u64>, Failure> {
        self.file = None;
        self.store = start.store;
        let found = links::folder(&self.settings.path, Missing::Refuse);
        let path = found.map_err(self.failed("opening the folder", &self.settings.path))?.1;
        self.path.clone_from(&path);
        // Records of an incomplete file are sent again.
        match fs::remove_file(self.hidden()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(self.failed("removing what was not whole", &self.hidden())(error));
            }
            _ => {}
        }
        let prefix = prefix(&self.name, &start.store);
        let mut last = start.delivered;
        for entry in fs::read_dir(&path).map_err(self.failed("reading the folder", &path))? {
            let name = entry.map_err(self.failed("reading the folder", &path))?.file_name();
            last = last.max(name.to_str().and_then(|name| last_of(name, &prefix)).unwrap_or(0));
        }
        (self.sent, self.durable) = (last, last);
        Ok(Some(last))
    }

    fn send(&mut self, parcel: &Parcel<'_>) -> Result<(), Failure> {
        let (Some(first), Some(last)) = (parcel.rows.first(), parcel.rows.last()) else {
            self.sent = parcel.through;
            return Ok(());
        };
        let expand = self.settings.expand;
        let mut damaged = None;
        let open = self.begin(first.id)?;
        let hidden = open.hidden.clone();
        let (mut lines, mut bytes, mut left_out, mut written) = (Vec::new(), 0, 0, Ok(()));
        for row in parcel.rows {
            lines.clear();
            if let Some((key, wrapped)) = row.key.and_then(|key| parcel.keys.get_key_value(&key))
                && open.keys.insert(*key)
            {
                put_key(&mut lines, key, wrapped);
            }
            // A flood takes few bytes in a record, and must not take gigabytes here.
            if let Err(error) = put_row(&mut lines, row, expand && row.events <= EXPAND_MAX) {
                left_out += 1;
                damaged = Some(format!("record {} cannot be written as JSON and is left out: {error}", row.id));
            }
            // One record at a time: all of a parcel may be more than there is memory.
            bytes += lines.len() as u64;
            written = open.to.write_all(&lines);
            if written.is_err() {
                break;
            }
        }
        open.last = last.id;
        open.bytes += bytes;
        written.map_err(self.failed("writing", &hidden))?;
        self.bytes += bytes;
        self.sent = parcel.through;
        self.left_out += left_out;
        self.warning = damaged.or(self.warning.take());
        Ok(())
    }

    fn acknowledged(&mut self, wait: Duration) -> Result<u64, Failure> {
        let (bytes, every) = (self.settings.bytes, self.settings.every);
        let is_due = |open: &Open| open.bytes >= bytes || open.begun.elapsed() >= every;
        self.publish(is_due)?;
        std::thread::sleep(wait);
        Ok(self.durable)
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.publish(|_| true)
    }

    fn close(&mut self) {
        if let Some(open) = self.file.take() {
            drop(fs::remove_file(open.hidden));
        }
    }

    fn window(&self) -> usize {
        PARCELS_MAX
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }

    fn warning(&mut self) -> Option<String> {
        self.warning.take()
    }
}
