//! A recorder as small as can be, and a reader that needs no index.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use tidewire_archive::{
    Archive, Directory, Folder, Identities, IndexResult, Query, SegmentName, SegmentWriter, Settings, Storage as _,
    block::{Interface, Packet, Writer, enhanced_packet, interface_description, section_header},
};
use tidewire_files::{Block, Error, Reader, Source};
use tidewire_wire::{Frame, Timestamp};

/// A packet, as captures and archives have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub timestamp_ns: u64,
    pub wire_bytes: u32,
    pub link: u16,
    pub bytes: Vec<u8>,
}

impl Seen {
    pub fn of(frame: &Frame, bytes: &[u8]) -> Self {
        Self {
            timestamp_ns: frame.timestamp.as_nanos(),
            wire_bytes: frame.wire_bytes,
            link: frame.link.0,
            bytes: bytes.to_vec(),
        }
    }
}

/// All packets of a source, and what was wrong with it.
pub fn drain(source: &mut dyn Source) -> (Vec<Seen>, Vec<Error>) {
    let (mut seen, mut errors, mut block) = (Vec::new(), Vec::new(), Block::new());
    loop {
        match source.fill(&mut block) {
            Ok(true) => {
                let batch = block.batch();
                seen.extend(batch.frames.iter().map(|frame| Seen::of(frame, batch.bytes(frame))));
            }
            Ok(false) => return (seen, errors),
            Err(error) => errors.push(error),
        }
    }
}

/// The packets of a capture file, up to any damage.
pub fn read(path: &Path) -> Vec<Seen> {
    match Reader::open(path) {
        Ok(mut reader) => drain(&mut reader).0,
        Err(_) => Vec::new(),
    }
}

/// The packets that a query finds. No error may occur.
pub fn recall(folder: &Path, query: &Query) -> Vec<Seen> {
    let archive = Archive::open([folder], Identities::default()).expect("an archive");
    let mut recall = archive.recall(query).expect("a query");
    let (seen, errors) = drain(&mut recall);
    assert!(errors.is_empty(), "{errors:?}");
    assert!(recall.notes().is_empty(), "{:?}", recall.notes());
    seen
}

/// Captures of the tests, and those of a corpus beside the checkout if it is there; the smaller ones of that.
pub fn captures() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let beside = env::var_os("TIDEWIRE_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/captures"),
        |path| PathBuf::from(path).join("captures"),
    );
    let (mut found, mut others) = (Vec::new(), Vec::new());
    collect(&here, &mut found);
    if beside.is_dir() {
        collect(&beside, &mut others);
        others.sort();
        let step = if env::var_os("TIDEWIRE_WHOLE_CORPUS").is_some() { 1 } else { SHARE };
        found.extend(others.into_iter().step_by(step));
    } else {
        println!("no corpus at {}: the captures of the tests only", beside.display());
    }
    found.sort();
    found
}

/// Bytes of a capture of the corpus that tests take.
const CAPTURE_BYTES_MAX: u64 = 2 << 20;
/// One of so many captures beside the checkout is taken, unless `TIDEWIRE_WHOLE_CORPUS` is set: all of them take minutes.
const SHARE: usize = 10;

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if entry.metadata().is_ok_and(|metadata| metadata.len() <= CAPTURE_BYTES_MAX) && is_capture(&path) {
            found.push(path);
        }
    }
}

fn is_capture(path: &Path) -> bool {
    path.extension().is_some_and(|ending| {
        ["pcap", "pcapng", "cap", "dmp", "gz"].iter().any(|known| ending.eq_ignore_ascii_case(known))
    }) && Reader::open(path).is_ok()
}

/// A recorder in a directory. Each of its segments is indexed as what a crash left: by reading it.
pub struct Recorder {
    pub directory: Directory,
    pub now_ns: u64,
}

impl Recorder {
    pub fn new(path: &Path, settings: &Settings) -> Self {
        let now_ns = 1_700_000_000_000_000_000;
        Self { directory: Directory::open(path, settings, now_ns).expect("a directory"), now_ns }
    }

    /// Writes packets as a segment, under its hidden name.
    pub fn write(&mut self, packets: &[Seen]) -> SegmentName {
        self.now_ns += 1_000_000_000;
        let name = self.directory.begin(self.now_ns, 0);
        let storage: &Folder = self.directory.storage();
        let recipients = self.directory.settings().recipients.as_ref();
        let mut writer = SegmentWriter::create(storage, &name, recipients).expect("a file");
        writer.write(&encoded(packets)).expect("written");
        writer.finish().expect("completed");
        name
    }

    /// Writes packets as a complete segment.
    pub fn segment(&mut self, packets: &[Seen], identities: &Identities) -> SegmentName {
        let name = self.write(packets);
        self.directory.repair(identities, self.now_ns).expect("indexed");
        assert!(self.directory.storage().path(&name.to_string()).exists(), "{name}");
        name
    }
}

/// Packets as a pcapng file; an interface for each link type.
pub fn encoded(packets: &[Seen]) -> Vec<u8> {
    let mut bytes = Vec::new();
    section_header(&mut bytes, &Writer { application: "tidewire tests".into(), ..Writer::default() });
    let mut links: Vec<u16> = Vec::new();
    for seen in packets {
        let interface = links.iter().position(|&link| link == seen.link).unwrap_or_else(|| {
            links.push(seen.link);
            let name = format!("test{}", links.len());
            interface_description(&mut bytes, &Interface::new(name, tidewire_wire::LinkType(seen.link)));
            links.len() - 1
        });
        let packet =
            Packet::new(interface as u32, Timestamp::from_nanos(seen.timestamp_ns), &seen.bytes, seen.wire_bytes);
        enhanced_packet(&mut bytes, &packet);
    }
    bytes
}

/// Makes the indexes of a folder's captures.
pub fn index(folder: &Path) -> Vec<IndexResult> {
    let directory = Directory::open(folder, &Settings::default(), 1).expect("a directory");
    let mut results = Vec::new();
    directory.index_only(&Identities::default(), false, 2, |result| results.push(result)).expect("indexed");
    results
}

/// A random number generator with a seed, to repeat failures.
pub use tidewire_testing::filters::Numbers;
