//! Whether an archive is what was written: every segment and index against its digest, and all of them against the manifest.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crate::{
    Error, Identities, SegmentName,
    beside::{Beside, is_own_name, look},
    index_of,
    listing::names,
    lock::is_locked,
    manifest::{self, Event, Line, MANIFEST_NAME},
    name::{INDEX, SEALED, indexed_by, shown},
    recall::{need_archive, open_index},
    repair::digest_of,
};

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// The manifest lists a segment that is not there, and was not removed by retention.
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file is not what the manifest says.
    Changed {
        /// The file.
        path: PathBuf,
        /// The difference.
        what: &'static str,
    },
    /// A segment that the manifest does not list.
    Added {
        /// The file.
        path: PathBuf,
    },
    /// A capture of another program that the manifest does not list: it was added, and not indexed.
    Capture {
        /// The file.
        path: PathBuf,
    },
    /// A capture of another program that cannot be indexed as it is: it was added.
    Unsearched {
        /// The file.
        path: PathBuf,
        /// The kind of file, and a remedy.
        why: &'static str,
    },
    /// A line of the manifest was changed, or does not name the line before it: lines were changed, added or taken out.
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
    },
    /// The manifest ends with what is no whole line: a recorder did not end in order, or the file was cut.
    Unfinished {
        /// The manifest.
        path: PathBuf,
        /// Bytes behind its last whole line.
        bytes: u64,
    },
    /// The disk changed something of a segment before its repair: packets were taken out.
    Damaged {
        /// The segment.
        path: PathBuf,
        /// The damage, as far as it is known.
        why: String,
    },
    /// A segment has no index.
    NoIndex {
        /// The segment.
        path: PathBuf,
    },
    /// An index names another one than the manifest as that of the segment before it, of the same worker.
    Predecessor {
        /// The index.
        path: PathBuf,
    },
    /// A segment was removed by retention, and is there all the same.
    Returned {
        /// The file.
        path: PathBuf,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { path } => {
                write!(f, "{}: missing: it was completed, and not removed by retention", path.display())
            }
            Self::Changed { path, what } => write!(f, "{}: changed: {what}", path.display()),
            Self::Added { path } => write!(f, "{}: added: no recorder wrote it here", path.display()),
            Self::Capture { path } => {
                let folder = path.parent().unwrap_or(path).display();
                write!(
                    f,
                    "{}: added: a capture that no recorder wrote here, and without an index (tidewire record --index-only {folder} \
                     makes it)",
                    path.display()
                )
            }
            Self::Unsearched { path, why } => {
                write!(f, "{}: added: a capture that no recorder wrote here, {why}", path.display())
            }
            Self::Manifest { path, line } => {
                write!(
                    f,
                    "{}: line {line} was changed, or does not follow the line before it: the manifest was changed",
                    path.display()
                )
            }
            Self::Unfinished { path, bytes } => {
                write!(
                    f,
                    "{}: its last {bytes} bytes are no whole line: a recorder did not end in order, or the manifest was cut (the \
                     next recorder in the directory takes them out)",
                    path.display()
                )
            }
            Self::Damaged { path, why } => {
                write!(f, "{}: damaged before it was repaired, and has not all of its packets: {why}", path.display())
            }
            Self::NoIndex { path } => {
                write!(f, "{}: has no index (tidewire record --index-only makes it)", path.display())
            }
            Self::Predecessor { path } => {
                let path = path.display();
                write!(
                    f,
                    "{path}: names another segment before it than the manifest: one of both was changed, or one is missing"
                )
            }
            Self::Returned { path } => write!(f, "{}: was removed by retention, and is there again", path.display()),
        }
    }
}

/// The result of [`verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Differences from what was written, in the order of names.
    pub findings: Vec<Finding>,
    /// Segments and other captures that are as they were written.
    pub intact: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Segments that retention removed.
    pub removed: u64,
    /// Segments without their name: a recorder is writing them, or did not end in order. They are not compared.
    pub open: Vec<PathBuf>,
    /// Whether a recorder has the directory.
    pub is_recorded: bool,
    /// Indexes that are encrypted: what they name as their predecessor was not compared, without an identity that opens them.
    pub sealed: u64,
}

/// Verifies the archive in a directory, without an identity: see [`verify_with`].
///
/// # Errors
/// As there.
pub fn verify(folder: &Path) -> Result<Verification, Error> {
    verify_with(folder, &Identities::default())
}

/// Verifies the archive in a directory; `identities` open encrypted indexes. The last lines of a manifest may be taken out unnoticed, with their segments: compare the last
/// line with one that is kept elsewhere.
///
/// A recorder may be writing meanwhile: what changes between the manifest and the files is compared again.
///
/// # Errors
/// The directory holds no archive, a file cannot be read, or the manifest is of another version.
pub fn verify_with(folder: &Path, identities: &Identities) -> Result<Verification, Error> {
    need_archive(folder)?;
    let (mut known, mut rounds, mut before) = (Intact::new(), 0, None);
    loop {
        let is_recorded = is_locked(folder);
        let found = Verification { is_recorded, ..verify_once(folder, identities, &mut known)? };
        // A segment gets its name before its line is written, and loses its line before its file.
        let is_same = before.as_ref() == Some(&found.findings);
        rounds = if is_same { rounds + 1 } else { 1 };
        let most = if is_recorded { ROUNDS_RECORDED } else { 2 };
        if found.findings.is_empty() || rounds >= most {
            return Ok(found);
        }
        before = Some(found.findings);
        if is_recorded {
            thread::sleep(PAUSE);
        }
    }
}

/// Findings are true once so many rounds, with this pause between, had the same: a recorder writes the line of a segment within that
/// time.
const ROUNDS_RECORDED: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Segments that were compared, and are intact: with the digests that they and their indexes have.
type Intact = BTreeMap<String, (String, String)>;

fn verify_once(folder: &Path, identities: &Identities, known: &mut Intact) -> Result<Verification, Error> {
    let read = manifest::read(folder)?;
    let mut verification = Verification::default();
    let path_of_manifest = folder.join(MANIFEST_NAME);
    for &line in &read.broken {
        verification.findings.push(Finding::Manifest { path: path_of_manifest.clone(), line });
    }
    if read.tail_bytes > 0 {
        verification.findings.push(Finding::Unfinished { path: path_of_manifest, bytes: read.tail_bytes });
    }
    let (mut listed, mut removed) = (BTreeMap::<String, Line>::new(), BTreeSet::new());
    let mut predecessors = Predecessors::default();
    for line in read.lines {
        predecessors.add(&line);
        match line.event {
            Event::Segment | Event::Repaired => {
                removed.remove(&line.segment);
                listed.insert(line.segment.clone(), line);
            }
            Event::Indexed => {
                // The digest of a segment stays that of its first line: a new index makes no other segment right.
                match listed.get_mut(&line.segment) {
                    Some(known) => known.index_digest = line.index_digest,
                    None => {
                        listed.insert(line.segment.clone(), line);
                    }
                }
            }
            Event::Removed => {
                listed.remove(&line.segment);
                removed.insert(line.segment);
            }
            Event::Started | Event::Compacted | Event::Other => {}
        }
    }
    verification.removed = read.removed + removed.len() as u64;
    for (name, line) in &listed {
        let digests = (line.digest.clone(), line.index_digest.clone());
        if known.get(name) == Some(&digests) && folder.join(name).exists() {
            verification.intact += 1;
            verification.bytes += line.bytes;
        } else if check(folder, name, line, &mut verification)? {
            known.insert(name.clone(), digests);
        } else {
            continue;
        }
        if let Some(possible) = predecessors.of.get(name) {
            check_predecessor(folder, name, possible, identities, &mut verification)?;
        }
    }
    for name in names(folder)? {
        let path = folder.join(&name);
        if removed.contains(&name) {
            verification.findings.push(Finding::Returned { path });
        } else if SegmentName::parse(&name).is_some() && !listed.contains_key(&name) {
            verification.findings.push(Finding::Added { path });
        } else if shown(&name).and_then(SegmentName::parse).is_some() {
            verification.open.push(path);
        } else if name.trim_end_matches(SEALED).ends_with(INDEX) && !name.starts_with('.') {
            if !indexed_by(&name).is_some_and(|segment| listed.contains_key(&segment)) {
                verification.findings.push(Finding::Added { path });
            }
        } else if !is_own_name(&name) && !listed.contains_key(&name) {
            match look(&path)? {
                Beside::Capture => verification.findings.push(Finding::Capture { path }),
                Beside::Unsearched(why) => verification.findings.push(Finding::Unsearched { path, why }),
                Beside::Other(_) => {}
            }
        }
    }
    Ok(verification)
}

/// Digests that indexes may name as that of the segment before theirs.
#[derive(Default)]
struct Predecessors {
    /// By segment; none for those whose index was made later.
    of: BTreeMap<String, Vec<String>>,
    /// Digests of the index of each worker's last segment: one that was made again has several.
    last: BTreeMap<u16, Vec<String>>,
}

impl Predecessors {
    fn add(&mut self, line: &Line) {
        let Some(name) = SegmentName::parse(&line.segment) else { return };
        let last = self.last.entry(name.worker).or_insert_with(|| vec![String::new()]);
        match line.event {
            Event::Segment | Event::Repaired => {
                self.of.insert(line.segment.clone(), last.clone());
                // One without an index is followed by what follows the one before.
                if line.index_digest.is_empty() {
                    last.push(String::new());
                } else {
                    *last = vec![line.index_digest.clone()];
                }
            }
            Event::Indexed => {
                self.of.remove(&line.segment);
                last.push(line.index_digest.clone());
            }
            Event::Removed | Event::Started | Event::Compacted | Event::Other => {}
        }
    }
}

/// Compares what an index names as its predecessor with the manifest.
fn check_predecessor(
    folder: &Path,
    name: &str,
    possible: &[String],
    identities: &Identities,
    verification: &mut Verification,
) -> Result<(), Error> {
    let path = folder.join(index_of(name));
    match open_index(&path, identities) {
        Ok(Some(sidecar)) if possible.contains(&sidecar.summary().previous) => {}
        Ok(Some(_)) => verification.findings.push(Finding::Predecessor { path }),
        Err(Error::Sealed { .. }) => verification.sealed += 1,
        // That it is not there, or was changed, was found before.
        Ok(None) | Err(Error::Damaged { .. }) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Compares a segment and its index with the manifest. Returns whether both are as they were written.
fn check(folder: &Path, name: &str, line: &Line, verification: &mut Verification) -> Result<bool, Error> {
    let (path, index) = (folder.join(name), folder.join(index_of(name)));
    // The manifest may be anybody's: it names files of this directory only.
    if name.contains('/') || name == ".." {
        verification.findings.push(Finding::Missing { path: folder.join(MANIFEST_NAME) });
        return Ok(false);
    }
    let found = verification.findings.len();
    let mut find = |finding| verification.findings.push(finding);
    match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            find(Finding::Missing { path });
            return Ok(false);
        }
        Err(error) => return Err(Error::io(&path, "opening")(error)),
        // A link is not followed.
        Ok(metadata) if !metadata.is_file() => find(Finding::Changed { path, what: NO_FILE }),
        Ok(metadata) if metadata.len() != line.bytes => find(Finding::Changed { path, what: "its length" }),
        Ok(_) if is_changed(&path, &line.digest)? => find(Finding::Changed { path, what: "its content" }),
        Ok(_) if line.damaged_bytes > 0 => find(Finding::Damaged { path, why: line.why.clone() }),
        Ok(_) => {}
    }
    match fs::symlink_metadata(&index) {
        Ok(metadata) if !metadata.is_file() => find(Finding::Changed { path: index, what: NO_FILE }),
        Err(_) => find(Finding::NoIndex { path: folder.join(name) }),
        Ok(_) if line.index_digest.is_empty() => find(Finding::Added { path: index }),
        Ok(_) if is_changed(&index, &line.index_digest)? => {
            find(Finding::Changed { path: index, what: "the content of the index" });
        }
        Ok(_) => {}
    }
    if verification.findings.len() == found {
        verification.intact += 1;
        verification.bytes += line.bytes;
    }
    Ok(verification.findings.len() == found)
}

/// Whether a file has another digest, or was removed meanwhile.
fn is_changed(path: &Path, digest: &str) -> Result<bool, Error> {
    match digest_of(path) {
        Err(Error::Io { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => Ok(true),
        found => Ok(found? != digest),
    }
}

const NO_FILE: &str = "it is no regular file; links are not followed";
