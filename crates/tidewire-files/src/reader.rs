//! Reads one capture file, pipe or stream, piece by piece, not by `mmap`.
//!
//! Reading 256 KiB at a time costs less than page faults, and pipes and compressed files take the same path.

use crate::{
    Block, Cancel, Damage, Error, Source,
    encode::Interface,
    erf::{self, Erf},
    input::{self, Bytes, InputKind, Pipe, Stop, WithHead, looks_like, read_head},
    limits::{HEAD_BYTES_MIN, LAYERS_MAX, LOOKS_LIKE_BYTES, PIECE_BYTES},
    netmon::{self, Netmon},
    pcap::{self, Pcap},
    pcapng::{self, CaptureLoss, Pcapng},
    record_cursor::{Count, Walk},
    snoop::{self, Snoop},
    supplement::Supplement,
};
use std::{
    fmt,
    io::Read,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tidewire_wire::{Frame, PacketLoss};

/// How long the rest of a record is waited for before [`Source::fill`] comes back without it.
const PATIENCE: Duration = Duration::from_millis(200);

/// One capture: a file, standard input or any stream of bytes, its format and compression recognised by content.
///
/// Bytes are read straight into the caller's block and never copied, except for the record at the end of a block
/// that is only partly there.
pub struct Reader {
    path: PathBuf,
    stream: Box<dyn Bytes>,
    format: Format,
    compressed: bool,
    /// Frames carry an origin: the file is a plain one.
    seekable: bool,
    piece_bytes: usize,
    cancel: Cancel,
    /// The beginning of a record, left over by the last block; at first, what was read to recognise the format.
    rest: Vec<u8>,
    /// Whether `rest` was not walked yet and may have whole records.
    rest_is_new: bool,
    /// Offset of `rest` in the stream.
    offset: u64,
    count: Count,
    /// The error that ends the stream, reported once the frames before it are delivered.
    ending: Option<Error>,
    ended: bool,
    bytes_read: Arc<AtomicU64>,
    bytes_total: Option<u64>,
    /// Losses of captures that were read to their end, behind which another file began.
    losses: Vec<CaptureLoss>,
    /// Losses before the packets that are being read.
    packet_losses: Vec<PacketLoss>,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("path", &self.path).field("offset", &self.offset).finish_non_exhaustive()
    }
}

/// The format, once it is known.
enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
    Snoop(Snoop),
    Netmon(Netmon),
    Erf(Erf),
}

impl Format {
    fn walk(&mut self, bytes: &[u8], origin: u64, count: &mut Count, frames: &mut Vec<Frame>) -> Walk {
        match self {
            Self::Pcap(pcap) => pcap.walk(bytes, origin, count, frames),
            Self::Pcapng(pcapng) => pcapng.walk(bytes, origin, count, frames),
            Self::Snoop(snoop) => snoop.walk(bytes, origin, count, frames),
            Self::Netmon(netmon) => netmon.walk(bytes, origin, count, frames),
            Self::Erf(erf) => erf.walk(bytes, origin, count, frames),
        }
    }

    /// The format of another file behind this one, and the length of its header.
    fn behind(&self, header: &[u8]) -> Result<(Self, usize), String> {
        let interfaces = match self {
            Self::Pcapng(pcapng) => pcapng.interfaces_seen(),
            Self::Pcap(pcap) => pcap.interface.saturating_add(1),
            _ => 1,
        };
        if pcapng::recognised(header) {
            return Ok((Self::Pcapng(Pcapng::behind(interfaces)), 0));
        }
        let mut pcap = Pcap::parse(header)?;
        pcap.interface = interfaces;
        let header_bytes = pcap.header_bytes;
        Ok((Self::Pcap(pcap), header_bytes))
    }

    fn take_described(&mut self) -> Vec<(u16, Interface)> {
        match self {
            Self::Pcapng(pcapng) => pcapng.take_described(),
            _ => Vec::new(),
        }
    }

    fn take_comments(&mut self) -> Vec<(u64, Vec<u8>)> {
        match self {
            Self::Pcapng(pcapng) => pcapng.take_comments(),
            _ => Vec::new(),
        }
    }

    fn take_packet_losses(&mut self) -> Vec<PacketLoss> {
        match self {
            Self::Pcapng(pcapng) => pcapng.take_packet_losses(),
            _ => Vec::new(),
        }
    }

    fn take_supplements(&mut self) -> Vec<Supplement> {
        match self {
            Self::Pcapng(pcapng) => pcapng.take_supplements(),
            _ => Vec::new(),
        }
    }

    fn cut(&self, tail: &[u8]) -> String {
        match self {
            Self::Pcap(pcap) => pcap.cut(tail),
            Self::Pcapng(pcapng) => pcapng.cut(tail),
            Self::Snoop(snoop) => snoop.cut(tail),
            Self::Netmon(netmon) => netmon.cut(tail),
            Self::Erf(erf) => erf.cut(tail),
        }
    }
}

/// State of an input before its format is known.
struct Opening {
    path: PathBuf,
    bytes_read: Arc<AtomicU64>,
    bytes_total: Option<u64>,
    piece_bytes: usize,
    cancel: Cancel,
}

impl Reader {
    /// Opens a capture file; `-` is standard input.
    ///
    /// # Errors
    /// See [`Error`]: missing, a directory, not readable, empty, or no capture. A file header that is cut is damage.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_until(path, &Cancel::default())
    }

    /// As [`Self::open`]; opening and reading end when `cancel` says so.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_until(path: impl AsRef<Path>, cancel: &Cancel) -> Result<Self, Error> {
        Self::open_as(path.as_ref(), true, PIECE_BYTES, cancel)
    }

    /// Reads a capture from a stream; `name` is what messages call it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn from_stream(name: impl Into<PathBuf>, stream: impl Read + Send + 'static) -> Result<Self, Error> {
        let bytes_read = Arc::new(AtomicU64::new(0));
        let stream = Box::new(Pipe::new(Box::new(stream), Arc::clone(&bytes_read)));
        let (bytes_total, piece_bytes, cancel) = (None, PIECE_BYTES, Cancel::default());
        Opening { path: name.into(), bytes_read, bytes_total, piece_bytes, cancel }.recognise(stream)
    }

    pub(crate) fn open_as(path: &Path, keep_open: bool, piece_bytes: usize, cancel: &Cancel) -> Result<Self, Error> {
        let bytes_read = Arc::new(AtomicU64::new(0));
        let (stream, bytes_total): (Box<dyn Bytes>, _) = if path.as_os_str() == "-" {
            (Box::new(Pipe::stdin(Arc::clone(&bytes_read), cancel)), None)
        } else {
            input::open(path, keep_open, Arc::clone(&bytes_read), cancel)?
        };
        Opening { path: path.to_path_buf(), bytes_read, bytes_total, piece_bytes, cancel: cancel.clone() }
            .recognise(stream)
    }

    /// The name it was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is compressed: its packets are not the bytes of the file.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.compressed
    }

    /// Changes how much is read at once.
    pub(crate) fn set_piece_bytes(&mut self, bytes: usize) {
        self.piece_bytes = bytes;
    }

    /// Reads one piece after what is in `block`; false at the end of the stream.
    fn read_piece(&mut self, block: &mut Block) -> bool {
        match self.stream.read(block.room(self.piece_bytes)) {
            Ok(0) => false,
            Ok(bytes) => {
                block.advance(bytes);
                true
            }
            Err(stop) => {
                let at = self.offset + block.bytes().len() as u64;
                self.ending = Some(self.error(stop, at));
                false
            }
        }
    }

    fn error(&self, stop: Stop, offset: u64) -> Error {
        stop_error(stop, &self.path, offset, self.compressed)
    }

    /// Walks what is in `block`, and keeps what is left over for the next one.
    fn walk(&mut self, block: &mut Block) {
        let origin = if self.seekable { self.offset + 1 } else { 0 };
        let (bytes, frames) = block.split();
        let walk = self.format.walk(bytes, origin, &mut self.count, frames);
        self.count.settle(frames);
        self.packet_losses.append(&mut self.format.take_packet_losses());
        let offset = self.offset + walk.taken() as u64;
        if let Walk::Another(at) = walk {
            return self.another(block, at);
        }
        if let Walk::Damaged(_, what) = walk {
            self.ended = true;
            self.ending = Some(self.damaged(offset, what));
        } else if frames.is_empty() {
            // Nothing to hand out yet: the rest stays where it is.
            block.discard_front(walk.taken());
        } else {
            self.rest.clear();
            self.rest.extend_from_slice(bytes.get(walk.taken()..).unwrap_or_default());
        }
        self.offset = offset;
    }

    /// Reads on behind the header of another file, which begins at `at` in `block`: files of one kind or both were
    /// concatenated.
    fn another(&mut self, block: &mut Block, at: usize) {
        let (bytes, frames) = block.split();
        let header = bytes.get(at..).unwrap_or_default();
        self.offset += at as u64;
        match self.format.behind(header) {
            Ok((format, header_bytes)) => {
                self.losses = self.losses();
                self.format = format;
                self.offset += header_bytes as u64;
                let taken = at + header_bytes;
                if frames.is_empty() {
                    block.discard_front(taken);
                } else {
                    self.rest.clear();
                    self.rest.extend_from_slice(bytes.get(taken..).unwrap_or_default());
                }
                self.rest_is_new = true;
            }
            Err(what) => {
                self.ended = true;
                self.ending = Some(self.damaged(self.offset, what));
            }
        }
    }

    fn damaged(&self, offset: u64, what: String) -> Error {
        Error::Damaged(Damage { path: self.path.clone(), offset, compressed: self.compressed, what })
    }

    /// The stream ended with the beginning of a record in `block`, or with nothing.
    fn end(&mut self, block: &mut Block) {
        self.ended = true;
        let tail = block.bytes();
        if self.ending.is_none() && !tail.is_empty() {
            let what = self.format.cut(tail);
            self.ending = Some(self.damaged(self.offset, what));
        }
        if let (None, Some((number, packets))) = (&self.ending, self.count.untimed) {
            self.ending = Some(Error::Times { path: self.path.clone(), number, packets });
        }
    }
}

impl Source for Reader {
    fn fill(&mut self, block: &mut Block) -> Result<bool, Error> {
        block.clear();
        // They are gathered on request only.
        drop(self.format.take_described());
        drop(self.format.take_comments());
        drop(self.format.take_supplements());
        if !self.ended {
            block.begin(&self.rest, self.piece_bytes);
            self.rest.clear();
        }
        let mut was_waited_for = true;
        while !self.ended {
            if let Err(cause) = self.cancel.check() {
                self.ended = true;
                return Err(Error::Read { path: self.path.clone(), offset: self.offset, cause });
            }
            let begun = self.offset;
            let comes = std::mem::take(&mut was_waited_for) || self.rest_is_new || self.stream.wait(PATIENCE);
            if !comes {
                // The rest of a record may never come.
            } else if std::mem::take(&mut self.rest_is_new) || self.read_piece(block) {
                self.walk(block);
            } else {
                self.end(block);
            }
            if !block.frames.is_empty() {
                self.packet_losses.drain(..).for_each(|loss| block.push_loss(loss));
                return Ok(true);
            }
            if !self.ended && (!comes || self.offset > begun) {
                self.rest.extend_from_slice(block.bytes());
                block.clear();
                return Ok(true);
            }
        }
        block.clear();
        self.ending.take().map_or(Ok(false), Err)
    }

    fn described(&mut self) -> Vec<(u16, Interface)> {
        self.format.take_described()
    }

    fn keep_comments(&mut self) {
        if let Format::Pcapng(pcapng) = &mut self.format {
            pcapng.keep_comments();
        }
    }

    fn comments(&mut self) -> Vec<(u64, Vec<u8>)> {
        self.format.take_comments()
    }

    fn supplements(&mut self) -> Vec<Supplement> {
        self.format.take_supplements()
    }

    fn losses(&self) -> Vec<CaptureLoss> {
        let mut losses = self.losses.clone();
        if let Format::Pcapng(pcapng) = &self.format {
            losses.extend(pcapng.losses());
        }
        losses
    }

    /// Pipes that are not compressed can say: elsewhere bytes may lie between the pipe and here.
    fn wait(&mut self, most: Duration) -> bool {
        self.ended || self.rest_is_new || self.stream.wait(most)
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }
}

pub(crate) fn stop_error(stop: Stop, path: &Path, offset: u64, compressed: bool) -> Error {
    let path = path.to_path_buf();
    match stop {
        Stop::Failed(source) => Error::Read { path, offset, cause: source },
        Stop::Changed => Error::Changed { path },
        Stop::Damaged(what) => Error::Damaged(Damage { path, offset, compressed, what }),
    }
}

impl Opening {
    fn recognise(self, mut stream: Box<dyn Bytes>) -> Result<Reader, Error> {
        let mut layers = 0;
        loop {
            let mut head = Vec::new();
            let stop = read_head(&mut *stream, &mut head, HEAD_BYTES_MIN);
            let compressed = layers > 0;
            if head.is_empty() {
                let empty = Error::Empty { path: self.path.clone() };
                return Err(stop.map_or(empty, |stop| stop_error(stop, &self.path, 0, compressed)));
            }
            match InputKind::of(&head) {
                InputKind::Pcap => {
                    let parse = |head: &[u8]| Pcap::parse(head).map(Format::Pcap);
                    let header_bytes = pcap::file_header_bytes(&head);
                    return self.with_header(head, stop, stream, compressed, header_bytes, parse);
                }
                InputKind::Snoop => {
                    let parse = |head: &[u8]| Snoop::parse(head).map(Format::Snoop);
                    return self.with_header(head, stop, stream, compressed, snoop::FILE_HEADER_BYTES, parse);
                }
                InputKind::Netmon => {
                    let parse = |head: &[u8]| Netmon::parse(head).map(Format::Netmon);
                    return self.with_header(head, stop, stream, compressed, netmon::FILE_HEADER_BYTES, parse);
                }
                InputKind::Pcapng => {
                    return Ok(self.reader(Format::Pcapng(Pcapng::new()), &head, stop, stream, compressed));
                }
                InputKind::Other => {
                    // Later bytes may show its format.
                    let stop = stop.or_else(|| read_head(&mut *stream, &mut head, LOOKS_LIKE_BYTES));
                    let stop = match stop {
                        // Too little is left to say what it was.
                        Some(stop) if head.len() < HEAD_BYTES_MIN => {
                            return Err(stop_error(stop, &self.path, head.len() as u64, compressed));
                        }
                        stop => stop,
                    };
                    let (stop, is_erf) = self.is_erf(&mut *stream, &mut head, stop);
                    if is_erf {
                        return Ok(self.reader(Format::Erf(Erf), &head, stop, stream, compressed));
                    }
                    let within = if compressed { "inside its compression, " } else { "" };
                    let looks_like = format!("{within}{}", looks_like(&head));
                    return Err(Error::NotACapture { path: self.path, looks_like });
                }
                kind if input::missing(kind).is_some() => {
                    let name = input::missing(kind).unwrap_or_default();
                    let what =
                        format!("is compressed with {name}, which this program was built without; decompress it first");
                    return Err(Error::Unsupported { path: self.path, what });
                }
                _ if layers == LAYERS_MAX => {
                    let what = format!("is compressed more than {LAYERS_MAX} times over; unpack it first");
                    return Err(Error::Unsupported { path: self.path, what });
                }
                kind => {
                    stream = input::decompressed(kind, WithHead::new(head, stop, stream))
                        .map_err(|stop| stop_error(stop, &self.path, 0, true))?;
                    layers += 1;
                }
            }
        }
    }

    /// Whether it is a file of ERF, which has no magic number: as much is read as its first records need.
    fn is_erf(&self, stream: &mut dyn Bytes, head: &mut Vec<u8>, mut stop: Option<Stop>) -> (Option<Stop>, bool) {
        let mut is_all = head.len() < LOOKS_LIKE_BYTES;
        loop {
            if let Some(is_erf) = erf::recognised(head, is_all || stop.is_some()) {
                return (stop, is_erf);
            }
            let before = head.len();
            stop = read_head(stream, head, before + 1);
            is_all = head.len() == before;
        }
    }

    /// A format whose file header, of this length, has to be there and to be understood.
    fn with_header(
        self,
        mut head: Vec<u8>,
        mut stop: Option<Stop>,
        mut stream: Box<dyn Bytes>,
        compressed: bool,
        header_bytes: usize,
        parse: impl FnOnce(&[u8]) -> Result<Format, String>,
    ) -> Result<Reader, Error> {
        if head.len() < header_bytes && stop.is_none() {
            stop = read_head(&mut *stream, &mut head, header_bytes);
        }
        if head.len() < header_bytes {
            let what = format!("the file ends after {} bytes of its {header_bytes}-byte header", head.len());
            let stop = stop.unwrap_or(Stop::Damaged(what));
            return Err(stop_error(stop, &self.path, 0, compressed));
        }
        match parse(&head) {
            Ok(format) => Ok(self.reader(format, &head, stop, stream, compressed)),
            Err(what) => Err(Error::Unsupported { path: self.path, what }),
        }
    }

    fn reader(
        self,
        format: Format,
        head: &[u8],
        stop: Option<Stop>,
        stream: Box<dyn Bytes>,
        compressed: bool,
    ) -> Reader {
        let taken = match format {
            Format::Pcap(ref pcap) => pcap.header_bytes,
            Format::Pcapng(_) | Format::Erf(_) => 0,
            Format::Snoop(_) => snoop::FILE_HEADER_BYTES,
            Format::Netmon(_) => netmon::FILE_HEADER_BYTES,
        };
        let stream = match stop {
            Some(stop) => Box::new(WithHead::new(Vec::new(), Some(stop), stream)),
            None => stream,
        };
        Reader {
            path: self.path,
            stream,
            format,
            compressed,
            seekable: self.bytes_total.is_some() && !compressed,
            piece_bytes: self.piece_bytes,
            cancel: self.cancel,
            rest: head.get(taken..).unwrap_or_default().to_vec(),
            rest_is_new: true,
            offset: taken as u64,
            count: Count::default(),
            ending: None,
            ended: false,
            bytes_read: self.bytes_read,
            bytes_total: self.bytes_total,
            losses: Vec::new(),
            packet_losses: Vec::new(),
        }
    }
}
