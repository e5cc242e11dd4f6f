//! The file of packets: pcapng with a hidden name until it is complete, or a pipe.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs::File,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::stdio::dup2_stdout;
use tidewire::{LinkType, Stop, Timestamp, legible::legible};
use tidewire_files::{
    Supplement, Supplements,
    encode::{self, Interface, Packet, Statistics, Writer},
};
use tidewire_outputs::place::{Pipes, streams};

use crate::{
    error::{self, CliError},
    place::{
        self, OutputPath, Standard,
        folder::{self, Folder},
    },
    units::counted,
};

/// Bytes that are collected before they are written.
const GATHERED_BYTES: usize = 256 << 10;

/// A packet to write.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    pub interface: u16,
    pub link: LinkType,
    pub timestamp_ns: u64,
    pub wire_bytes: u32,
    pub bytes: &'a [u8],
}

/// A file of packets that workers share. Blocks stay whole.
pub struct PacketFile {
    inner: Mutex<Inner>,
    /// Ends the run when the reader of a pipe closes it.
    stop: Stop,
}

struct Inner {
    /// For messages.
    name: String,
    file: File,
    hidden: Option<Hidden>,
    gathered: Vec<u8>,
    /// Packets that are written whole.
    packets: u64,
    written_bytes: u64,
    /// Where each packet in `gathered` ends.
    ends: Vec<usize>,
    /// Names of the capture's interfaces, where they are known.
    names: Vec<String>,
    /// Number of each interface and link type in the file.
    interfaces: HashMap<(u16, u16), u32>,
    /// Writer of the header, as long as there is no packet.
    writer: Option<Writer>,
    supplements: Supplements,
    failure: Option<io::Error>,
}

/// A file that gets its name when it is complete.
struct Hidden {
    folder: Folder,
    hidden: String,
    name: OsString,
}

impl PacketFile {
    /// Opens `path`; `-` is standard output, whose other output then goes to standard error.
    pub fn open(path: &Path, stop: &Stop) -> Result<Self, CliError> {
        let stream = match path.as_os_str() == "-" {
            true => Some(Standard::Output),
            false => place::named(path),
        };
        let name = match stream == Some(Standard::Output) {
            true => "standard output".to_owned(),
            false => legible(&path.to_string_lossy()).into_owned(),
        };
        let cannot = |error: io::Error| CliError::Output(format!("{name}: cannot be written: {error}"));
        let (file, hidden) = if stream == Some(Standard::Output) {
            (own_stdout()?, None)
        } else {
            match place::open(path, Pipes::Wait).map_err(cannot)? {
                OutputPath::Direct(file) => (file, None),
                OutputPath::File(path) => {
                    let file_name = path.file_name().ok_or_else(|| cannot(io::ErrorKind::InvalidFilename.into()))?;
                    let folder = folder::existing_parent(&path).map_err(cannot)?;
                    let hidden = folder.hidden(&file_name.to_string_lossy());
                    let file = folder.create(&hidden).map_err(cannot)?;
                    (file, Some(Hidden { folder, hidden, name: file_name.to_owned() }))
                }
            }
        };
        let mut gathered = Vec::with_capacity(GATHERED_BYTES + (64 << 10));
        let application = concat!("tidewire ", env!("CARGO_PKG_VERSION")).to_owned();
        let writer = Writer { application, ..Writer::default() };
        encode::section_header(&mut gathered, &writer);
        let inner = Inner {
            name,
            file,
            hidden,
            gathered,
            packets: 0,
            written_bytes: 0,
            ends: Vec::new(),
            names: Vec::new(),
            interfaces: HashMap::new(),
            writer: Some(writer),
            supplements: Supplements::default(),
            failure: None,
        };
        Ok(Self { inner: Mutex::new(inner), stop: stop.clone() })
    }

    /// The directory that files are made and renamed in.
    pub fn directory(&self) -> Option<PathBuf> {
        self.lock().hidden.as_ref().map(|hidden| hidden.folder.by_handle())
    }

    /// Sets the names of the capture's interfaces.
    pub fn set_names(&self, names: Vec<String>) {
        self.lock().names = names;
    }

    /// Adds what capture files say beside their packets, before packets that lie behind it: texts of sections as long as nothing else is in
    /// the file, secrets and names.
    pub fn supplement(&self, supplements: &[Supplement]) {
        if supplements.is_empty() {
            return;
        }
        let mut inner = self.lock();
        let sections = supplements.iter().filter_map(|supplement| match supplement {
            Supplement::Section(before) => Some(before),
            _ => None,
        });
        if let Some(writer) = &inner.writer {
            let writer = sections.fold(writer.clone(), |writer, before| writer.again(before));
            inner.gathered.clear();
            encode::section_header(&mut inner.gathered, &writer);
            inner.writer = Some(writer);
        }
        for supplement in supplements.iter().filter(|one| !matches!(one, Supplement::Section(_))) {
            if inner.failure.is_none() && inner.supplements.add(supplement) {
                inner.writer = None;
                encode::supplement(&mut inner.gathered, supplement);
            }
        }
    }

    /// Adds a packet. After a write error nothing is added: [`finish`](Self::finish) returns it.
    pub fn push(&self, packet: &Captured<'_>, comment: &str) {
        let mut inner = self.lock();
        if inner.failure.is_some() {
            return;
        }
        let interface = inner.interface(packet.interface, packet.link, None);
        let block = Packet {
            comment,
            ..Packet::new(interface, Timestamp::from_nanos(packet.timestamp_ns), packet.bytes, packet.wire_bytes)
        };
        encode::enhanced_packet(&mut inner.gathered, &block);
        self.added(&mut inner);
    }

    /// Adds a packet with the interface and the encoded options that it has in an archive.
    pub fn push_recorded(&self, packet: &Captured<'_>, interface: Option<&Interface>, options: &[u8]) {
        let mut inner = self.lock();
        if inner.failure.is_some() {
            return;
        }
        let interface = inner.interface(packet.interface, packet.link, interface);
        let block = Packet::new(interface, Timestamp::from_nanos(packet.timestamp_ns), packet.bytes, packet.wire_bytes);
        encode::enhanced_packet_with(&mut inner.gathered, &block, options);
        self.added(&mut inner);
    }

    /// Adds statistics of an interface, behind its packets; describes the interface where it has none. `number`: the capture's.
    pub fn push_statistics(&self, number: u16, interface: &Interface, statistics: &Statistics) {
        let mut inner = self.lock();
        if inner.failure.is_some() {
            return;
        }
        let interface = inner.interface(number, interface.link, Some(interface));
        encode::interface_statistics(&mut inner.gathered, &Statistics { interface, ..*statistics });
    }

    fn added(&self, inner: &mut Inner) {
        let end = inner.gathered.len();
        inner.ends.push(end);
        if inner.gathered.len() >= GATHERED_BYTES {
            inner.flush(&self.stop);
        }
    }

    /// Writes what was collected.
    pub fn flush(&self) {
        self.lock().flush(&self.stop);
    }

    /// Whether writing failed.
    pub fn has_failed(&self) -> bool {
        self.lock().failure.is_some()
    }

    /// Its name, for messages.
    pub fn name(&self) -> String {
        self.lock().name.clone()
    }

    /// Completes the file of a run that failed, if packets are in it.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn keep_what_is_there(&self) -> Result<(), CliError> {
        let is_empty = {
            let inner = self.lock();
            inner.packets == 0 && inner.ends.is_empty() && inner.failure.is_none()
        };
        if is_empty { Ok(()) } else { self.finish(false) }
    }

    /// Completes the file: it gets its name. `is_whole`: whether it has all that the run was to find; another one replaces no file, and how many
    /// packets are in it is said.
    ///
    /// # Errors
    /// What could not be written, with what is in the file. The file keeps its hidden name then.
    pub fn finish(&self, is_whole: bool) -> Result<(), CliError> {
        let mut inner = self.lock();
        if inner.interfaces.is_empty() {
            // libpcap reads no file without an interface.
            inner.interface(0, LinkType::ETHERNET, None);
        }
        inner.flush(&self.stop);
        if let Some(failure) = inner.failure.take() {
            return Err(inner.failed(&failure));
        }
        let Some(hidden) = inner.hidden.take() else { return Ok(()) };
        let written = inner.written_bytes;
        let checked = inner.file.sync_data().and_then(|()| folder::check_bytes(&inner.file, written));
        let identity = checked.and_then(|()| folder::identity(&inner.file));
        let given = identity.and_then(|identity| hidden.folder.give(&hidden.hidden, identity, &hidden.name, is_whole));
        let is_named = given.map_err(|error| {
            let (name, place) = (&inner.name, hidden.folder.place_of(&hidden.hidden, Some(&inner.file)));
            CliError::Output(format!("{name}: cannot be given its name: {error}; all that was written is {place}"))
        })?;
        if !is_whole {
            inner.say_part(&hidden, is_named);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A worker that panicked leaves whole blocks.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PacketFile {
    /// Removes a file that a run which did not begin left empty.
    fn drop(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(hidden) = inner.hidden.take().filter(|_| inner.packets == 0) {
            let _ = hidden.folder.remove(&hidden.hidden);
        }
    }
}

impl Inner {
    /// The number of an interface in the file; describes it where it is new.
    fn interface(&mut self, interface: u16, link: LinkType, known: Option<&Interface>) -> u32 {
        let next = self.interfaces.len() as u32;
        self.writer = None;
        *self.interfaces.entry((interface, link.0)).or_insert_with(|| {
            match known.filter(|known| known.link == link) {
                Some(known) => encode::interface_description(&mut self.gathered, known),
                None => {
                    let name = self.names.get(usize::from(interface)).cloned().unwrap_or_default();
                    encode::interface_description(&mut self.gathered, &Interface::new(name, link));
                }
            }
            next
        })
    }

    fn flush(&mut self, stop: &Stop) {
        if self.failure.is_some() || self.gathered.is_empty() {
            return;
        }
        self.writer = None;
        let (written, failure) = write_much(&mut self.file, &self.gathered);
        let whole = self.ends.partition_point(|&end| end <= written);
        self.packets += whole as u64;
        // A failed write ends with the last whole packet: what is there can be read.
        self.written_bytes += match failure {
            None => written,
            Some(_) => whole.checked_sub(1).map_or(0, |last| self.ends[last]),
        } as u64;
        if let Some(error) = failure {
            if self.hidden.is_some() {
                let _ = self.file.set_len(self.written_bytes);
            }
            if error.kind() == io::ErrorKind::BrokenPipe {
                stop.stop();
            }
            self.failure = Some(error);
        }
        self.ends.clear();
        self.gathered.clear();
    }

    /// Says how many packets are in a file that lacks some, and where it is.
    fn say_part(&self, hidden: &Hidden, is_named: bool) {
        let (name, packets) = (&self.name, counted(self.packets, "packet", "packets"));
        if is_named {
            let are = if self.packets == 1 { "is" } else { "are" };
            error::notify(format_args!("{name} is not whole: {packets} {are} in it"));
        } else if self.packets > 0 {
            error::notify(folder::earlier_stays(name, &packets, &hidden.hidden));
        } else {
            let _ = hidden.folder.remove(&hidden.hidden);
            error::notify(format_args!("{name} stays as an earlier run wrote it: this one wrote no packet"));
        }
    }

    fn failed(&mut self, failure: &io::Error) -> CliError {
        if failure.kind() == io::ErrorKind::BrokenPipe {
            return CliError::ClosedPipe;
        }
        let (name, packets) = (&self.name, counted(self.packets, "packet is", "packets are"));
        let place = match self.hidden.take() {
            Some(hidden) if self.packets == 0 => {
                let _ = hidden.folder.remove(&hidden.hidden);
                "no packet is in it".to_owned()
            }
            Some(hidden) => format!("the first {packets} {}", hidden.folder.place_of(&hidden.hidden, Some(&self.file))),
            None => format!("the first {packets} written"),
        };
        CliError::Output(format!("{name}: packets cannot be written: {failure}; {place}"))
    }
}

/// Writes all bytes; returns how many were written, which a failure may keep from being all.
fn write_much(file: &mut File, bytes: &[u8]) -> (usize, Option<io::Error>) {
    let mut written = 0;
    while written < bytes.len() {
        match streams::write(file, &bytes[written..]) {
            Ok(0) => return (written, Some(io::ErrorKind::WriteZero.into())),
            Ok(more) => written += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Some(error)),
        }
    }
    (written, None)
}

/// Standard output for packets alone: everything else goes to standard error.
fn own_stdout() -> Result<File, CliError> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        return Err(CliError::Usage(
            "-w - writes packets to standard output, which is a terminal; name a file, or a program behind a pipe: | tshark -r -"
                .into(),
        ));
    }
    let moved = place::opened(Standard::Output).and_then(|file| {
        dup2_stdout(io::stderr())?;
        Ok(file)
    });
    moved.map_err(|error| CliError::Output(format!("standard output cannot be used for packets: {error}")))
}
