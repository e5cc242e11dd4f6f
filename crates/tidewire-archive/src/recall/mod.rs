//! Reading what a query finds, from any number of directories, merged by time.
//!
//! `Recall` (`tidewire-archive/src/recall/`) is a source, too: `plan.rs` says which parts of a capture are read, by its
//! index; `lane.rs` has captures that follow each other, and `mod.rs` merges lanes by time. It gives a frame the number
//! of its packet in the directory (`numbers.rs`), whatever was looked for: so ids of streams are the same in each
//! search. A segment that is not complete has no index: `unindexed.rs` reads it for the streams that are looked for, by
//! the recorder's rules (`trace.rs`), and joins them with those of complete segments; `remains.rs` says how much of it
//! is what was written, to readers and to the repair.

mod companions;
mod cut_off;
mod entry;
mod interfaces;
mod lane;
mod losses;
mod note;
mod numbers;
mod overview;
mod packets;
mod plan;
mod reader;
mod recordings;
mod select;
mod trace;
mod unindexed;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, VecDeque},
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use tidewire_files::{Block, CaptureLoss, Source, Supplement, Supplements, lost_before};
use tidewire_wire::{Frame, PacketClock, PacketLoss};

use crate::{
    Error, Identities,
    block::Interface,
    query::{Exact, Query},
};
use companions::Companions;
use interfaces::Interfaces;
use lane::Lane;
use losses::InterfaceLosses;

pub use cut_off::CutOff;
pub use entry::is_archive;
pub(crate) use entry::{Entries, Entry, entries, modified_ns, need_archive, open_index, plain};
pub(crate) use interfaces::Descriptions;
pub use losses::InterfaceLoss;
pub use note::Note;
pub use overview::{Overview, PAUSE_NS_MIN, PAUSES_MAX, Pause};
pub use trace::CLOSED_NS;

/// Bytes of a block that a recall fills.
const BLOCK_BYTES: usize = 256 << 10;

/// Directories of recorded packets, to be searched.
#[derive(Clone, Debug)]
pub struct Archive {
    folders: Vec<PathBuf>,
    identities: Identities,
}

impl Archive {
    /// Opens archives; nothing is read yet.
    ///
    /// # Errors
    /// A path is no directory, or holds no archive.
    pub fn open<P: AsRef<Path>>(folders: impl IntoIterator<Item = P>, identities: Identities) -> Result<Self, Error> {
        let folders: Vec<PathBuf> = folders.into_iter().map(|folder| folder.as_ref().to_owned()).collect();
        folders.iter().try_for_each(|path| need_archive(path))?;
        Ok(Self { folders, identities })
    }

    /// Begins to read what a query finds.
    ///
    /// # Errors
    /// The query has no meaning, a directory cannot be read, or an index is of another version or for other recipients.
    pub fn recall(&self, query: &Query) -> Result<Recall, Error> {
        let exact = Exact::new(query)?;
        let (mut notes, mut lanes) = (Vec::new(), BTreeMap::new());
        let (mut figures, mut problems, mut companions) = (Figures::default(), VecDeque::new(), Companions::default());
        let streams = query.stream.map(|id| numbers::folder_and_packet(id, self.folders.len()));
        let mut folders = Vec::new();
        for (folder, path) in self.folders.iter().enumerate() {
            let Entries { found: mut entries, denied, notes: of_folder } = entries(path, &self.identities)?;
            of_folder.into_iter().for_each(|note| note.push(&mut notes));
            if denied > 0 {
                let what = format!("{denied} of {} captures cannot be read", denied + entries.len() as u64);
                problems.push_back(Error::Denied { path: path.clone(), what });
            }
            companions.add(path, &entries);
            numbers::assign(&mut entries, folder, &self.identities);
            folders.push(entries);
        }
        let stream = match streams.flatten() {
            Some((of, packet)) => match folders.get(of) {
                Some(entries) => numbers::find_stream(of, entries, packet, &self.identities)?,
                None => None,
            },
            None => None,
        };
        let stream = match streams {
            Some(None) => None,
            _ if !query.is_of_streams() => None,
            _ => unindexed::trace(&mut folders, stream, streams.flatten(), query, &self.identities),
        };
        recordings::assign(&mut folders);
        let interface_losses = InterfaceLosses::of(folders.iter().flatten(), query);
        for ((folder, path), mut entries) in self.folders.iter().enumerate().zip(folders) {
            figures.captures += entries.len() as u64;
            figures.bytes +=
                entries.iter().filter_map(|entry| std::fs::metadata(&entry.path).ok()).map(|it| it.len()).sum::<u64>();
            match streams {
                // The id of no stream finds nothing, as one that no packet has.
                Some(None) => continue,
                Some(Some((of, _))) => numbers::keep_stream(&mut entries, stream.as_ref(), folder, of == folder),
                None => {}
            }
            for (place, entry) in entries.into_iter().enumerate() {
                if entry.summary.as_ref().is_some_and(|summary| !query.may_be_in(summary)) {
                    continue;
                }
                if entry.summary.is_none() {
                    let why = entry.problem.as_ref().map(ToString::to_string).unwrap_or_default();
                    let (folder, names) = (path.clone(), vec![entry.file_name()]);
                    if query.is_of_streams() && entry.trace.is_none() {
                        if entry.is_part {
                            continue;
                        }
                        Note::Skipped { folder, names }.push(&mut notes);
                        continue;
                    }
                    if !entry.is_part {
                        Note::NoIndex { folder, names, why }.push(&mut notes);
                    }
                }
                figures.bytes_wanted += std::fs::metadata(&entry.path).map_or(0, |metadata| metadata.len());
                // Segments of a worker of a recording follow each other, whatever their times are. Other captures are merged by time.
                let lane = match &entry.name {
                    Some(name) => (folder, Some(name.worker), entry.run.number),
                    None => (folder, None, place),
                };
                lanes.entry(lane).or_insert_with(VecDeque::new).push_back(entry);
            }
        }
        let mut ordered = Vec::new();
        for (_, mut entries) in lanes {
            let sequence = |entry: &Entry| entry.name.as_ref().map(|name| (name.sequence, entry.is_part));
            entries.make_contiguous().sort_by_key(sequence);
            ordered.push(Lane::new(entries));
        }
        notes.extend(companions.missing(&self.folders));
        let recall = Recall::begin(exact, ordered, notes, self.identities.clone(), figures);
        Ok(Recall { problems, interface_losses, ..recall })
    }
}

/// A packet that was found.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Recalled<'a> {
    /// Its lengths, times and number; its interface is an index into [`Recall::interfaces`].
    pub frame: Frame,
    /// Its captured bytes.
    pub bytes: &'a [u8],
    /// The options of its block, encoded as pcapng has them, little-endian; empty: it has none, or its capture is not pcapng.
    pub options: &'a [u8],
}

/// Packets that a query finds, in the order of their times. Those of one worker of a recording stay in the order in which they were recorded.
///
/// Frames have the number of their packet among all of the directory, whatever is looked for, and interfaces of all captures together.
/// In a directory that is not the first, 2^40 is added for each before it. As a [`Source`], problems with single captures are errors
/// that others are read after.
pub struct Recall {
    exact: Exact,
    identities: Identities,
    lanes: Vec<Lane>,
    /// Which lane has the packet of which time next.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    interfaces: Interfaces,
    supplements: Supplements,
    notes: Vec<Note>,
    problems: VecDeque<Error>,
    clock: PacketClock,
    figures: Figures,
    shared: Arc<Mutex<Figures>>,
    /// Packets that captures lost before packets that were found, as these say, by interface.
    lost: BTreeMap<u16, u64>,
    interface_losses: Vec<InterfaceLoss>,
}

/// Figures of a recall: how much it read, and how much there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// Captures of the archives.
    pub captures: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// Bytes of those that may hold anything of what is looked for.
    pub bytes_wanted: u64,
    /// Captures that packets were read of.
    pub captures_read: u64,
    /// Captures that retention removed before it was their turn.
    pub captures_gone: u64,
    /// Bytes of packets that were read, decompressed.
    pub bytes_read: u64,
    /// Packets that were found.
    pub packets: u64,
    /// Their captured bytes.
    pub packet_bytes: u64,
}

impl fmt::Debug for Recall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recall").field("query", &self.exact.query).finish_non_exhaustive()
    }
}

impl Recall {
    fn begin(exact: Exact, lanes: Vec<Lane>, notes: Vec<Note>, identities: Identities, figures: Figures) -> Self {
        let heads = lanes.iter().enumerate().map(|(index, lane)| Reverse((lane.due_ns(), index))).collect();
        let (interfaces, problems) = (Interfaces::default(), VecDeque::new());
        let (shared, supplements, clock) = (Arc::default(), Supplements::default(), PacketClock::default());
        let (lost, interface_losses) = (BTreeMap::new(), Vec::new());
        Self {
            exact,
            identities,
            lanes,
            heads,
            interfaces,
            supplements,
            notes,
            problems,
            clock,
            figures,
            shared,
            lost,
            interface_losses,
        }
    }

    /// Notes for the user about this recall.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The interfaces of the packets so far.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces.all
    }

    /// Losses of interfaces in the captures with packets of the searched time, as their indexes say: of the segment that is still written,
    /// this is not known.
    #[must_use]
    pub fn interface_losses(&self) -> &[InterfaceLoss] {
        &self.interface_losses
    }

    /// Texts of sections, secrets and names of the captures since the last call: before the packet that comes next.
    pub fn take_supplements(&mut self) -> Vec<Supplement> {
        self.supplements.take()
    }

    /// Bytes read so far of captures.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.lanes.iter().map(Lane::bytes_read).sum()
    }

    /// Figures so far.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let captures_read = self.lanes.iter().map(|lane| lane.captures_read).sum();
        let captures_gone = self.lanes.iter().map(|lane| lane.captures_gone).sum();
        Figures { captures_read, captures_gone, bytes_read: Self::bytes_read(self), ..self.figures }
    }

    /// The same for who has it no more, because a capture took it as its [`Source`]: after each block.
    #[must_use]
    pub fn shared_figures(&self) -> Arc<Mutex<Figures>> {
        Arc::clone(&self.shared)
    }

    /// The lane that has the next packet, in memory; `None`: there is none.
    fn next_lane(&mut self) -> Option<usize> {
        while let Some(&Reverse((due_ns, index))) = self.heads.peek() {
            let lane = self.lanes.get_mut(index)?;
            match lane.head() {
                Some(frame) if frame.timestamp.as_nanos() <= due_ns => return Some(index),
                _ => {}
            }
            // Its next packet was not read yet, or is of another time than was supposed.
            self.heads.pop();
            if lane.head().is_none() {
                lane.load(due_ns, &mut self.exact, &self.identities, &mut self.interfaces, &mut self.problems);
                self.supplements.add_all(&lane.take_supplements());
            }
            match (lane.head().map(|frame| frame.timestamp.as_nanos()), lane.is_ended()) {
                (Some(time), _) => self.heads.push(Reverse((time, index))),
                (None, false) => self.heads.push(Reverse((lane.due_ns().max(due_ns), index))),
                (None, true) => {}
            }
            if !self.problems.is_empty() {
                return None;
            }
        }
        None
    }

    /// Counts a frame of the whole.
    fn counted(&mut self, frame: &Frame) -> Frame {
        self.figures.packets += 1;
        self.figures.packet_bytes += u64::from(frame.captured_bytes);
        let clock = self.clock.advance(frame.timestamp, self.figures.packets);
        frame.with_clock(clock).with_origin(0)
    }

    /// The next packet; `None`: there is none. Not to be mixed with [`Source::fill`].
    ///
    /// # Errors
    /// A problem with one capture; the next call goes on with the others.
    pub fn next_packet(&mut self) -> Result<Option<Recalled<'_>>, Error> {
        let Some(index) = self.next_lane() else { return self.problems.pop_front().map_or(Ok(None), Err) };
        let Some(frame) = self.lanes.get(index).and_then(Lane::head).copied() else { return Ok(None) };
        let frame = self.counted(&frame);
        let Some(lane) = self.lanes.get_mut(index) else { return Ok(None) };
        self.heads.pop();
        // A packet that is earlier than the one before it is in its place all the same.
        let next = lane.after_head().map_or(frame.timestamp.as_nanos(), |frame| frame.timestamp.as_nanos());
        self.heads.push(Reverse((next, index)));
        Ok(lane.take().map(|(bytes, options)| Recalled { frame, bytes, options }))
    }
}

impl Source for Recall {
    fn fill(&mut self, block: &mut Block) -> Result<bool, tidewire_files::Error> {
        block.clear();
        let before = self.figures.packets;
        let mut filled = 0;
        while filled < BLOCK_BYTES {
            let Some(index) = self.next_lane() else { break };
            self.heads.pop();
            // The lane goes on until another one is due.
            let turn_ends = self.heads.peek().map(|due| due.0);
            while let Some(frame) = self.lanes.get(index).and_then(Lane::head).copied() {
                if turn_ends.is_some_and(|end| (frame.timestamp.as_nanos(), index) > end) || filled >= BLOCK_BYTES {
                    break;
                }
                let counted = self.counted(&frame);
                let Some((bytes, options)) = self.lanes.get_mut(index).and_then(Lane::take) else { break };
                filled += bytes.len() + size_of::<Frame>();
                let packets = if options.is_empty() { 0 } else { lost_before(options) };
                if packets > 0 {
                    block.push_loss(PacketLoss::before(&counted, packets));
                    let sum = self.lost.entry(counted.interface).or_default();
                    *sum = sum.saturating_add(packets);
                }
                if block.push(counted, bytes).is_err() {
                    break;
                }
            }
            if let Some(lane) = self.lanes.get(index) {
                let due = lane.head().map_or(lane.due_ns(), |frame| frame.timestamp.as_nanos());
                self.heads.push(Reverse((due, index)));
            }
        }
        *self.shared.lock().unwrap_or_else(PoisonError::into_inner) = self.figures();
        block.settle(&mut self.clock, before + 1);
        if !block.batch().frames.is_empty() {
            return Ok(true);
        }
        match self.problems.pop_front() {
            Some(Error::File(error)) => Err(error),
            Some(error) => Err(as_file_error(&error)),
            None => Ok(false),
        }
    }

    fn supplements(&mut self) -> Vec<Supplement> {
        self.take_supplements()
    }

    fn losses(&self) -> Vec<CaptureLoss> {
        let of = |(interface, packets): (&u16, &u64)| {
            let mut loss = CaptureLoss::default();
            let found = self.interfaces.all.get(usize::from(*interface));
            loss.interface = found.map(|found| found.name.clone()).unwrap_or_default();
            loss.between_packets = *packets;
            loss
        };
        losses::joined(self.lost.iter().map(of).collect(), &self.interface_losses)
    }

    fn bytes_read(&self) -> u64 {
        Self::bytes_read(self)
    }

    fn bytes_total(&self) -> Option<u64> {
        Some(self.figures.bytes_wanted)
    }
}

/// The same as an error of reading captures.
fn as_file_error(error: &Error) -> tidewire_files::Error {
    let text = error.to_string();
    let path = match error {
        Error::Denied { path, .. }
        | Error::Io { path, .. }
        | Error::Damaged { path, .. }
        | Error::Sealed { path, .. }
        | Error::Version { path, .. } => path.clone(),
        _ => PathBuf::new(),
    };
    let what = text.strip_prefix(&format!("{}: ", path.display())).map_or(text.clone(), ToOwned::to_owned);
    tidewire_files::Error::Unsupported { path, what: format!("{what}; what could be read was processed") }
}
