//! Merges several inputs by time.
//!
//! `Merge` merges any number of inputs by time. It copies frames into one block, and numbers and clock run over the
//! merged input.

use crate::{
    Block, Cancel, Error, Reader, Source,
    encode::Interface,
    limits::{MERGE_OPEN_FILES_MAX, MERGE_READ_BYTES, PIECE_BYTES, PIECE_BYTES_MIN},
    pcapng::CaptureLoss,
    record_cursor::Count,
    supplement::{Supplement, Supplements},
};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, VecDeque},
    fmt,
    path::{Path, PathBuf},
};
use tidewire_wire::{Frame, PacketLoss, Timestamp};

/// Any number of captures as one, in order of time.
///
/// The frames of one file keep their order; where times are equal, the file named first goes first. Frames are
/// numbered, and the clock runs, over the merged input. Their bytes are copied, once, into the merged block, and can
/// therefore not be read again by `origin`.
///
/// Every file's first frame is read at the start. Of at most 256 files all stay open. Of more, none does: a file is
/// opened when the merge comes to its first frame, and again for each piece that is read of it, so that the number
/// of files is bounded by nothing but the memory of those whose times overlap (16 to 256 KiB each, and what undoing
/// the compression takes).
///
/// A damaged or empty file does not stop the others: errors are reported at the end, file by file.
pub struct Merge {
    /// Files whose first frame is not due yet.
    waiting: BinaryHeap<Reverse<Due>>,
    /// The next frame of every active input.
    heads: BinaryHeap<Reverse<Due>>,
    /// By the order on the command line; `None` before and after.
    active: Vec<Option<Active>>,
    active_count: usize,
    paths: Vec<PathBuf>,
    /// Blocks of inputs that ended.
    spare: Vec<Block>,
    problems: VecDeque<Error>,
    count: Count,
    interfaces_seen: u32,
    described: Vec<(u16, Interface)>,
    comments: Vec<(u64, Vec<u8>)>,
    supplements: Supplements,
    keep_open: bool,
    bytes_read: u64,
    /// Losses of captures that were read to their end.
    losses: Vec<CaptureLoss>,
    bytes_total: Option<u64>,
    cancel: Cancel,
}

impl fmt::Debug for Merge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merge").field("paths", &self.paths).finish_non_exhaustive()
    }
}

/// When an input is next due, and which one it is: the order of merging.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    timestamp: Timestamp,
    index: usize,
}

impl Due {
    /// When a frame of an input is due. One far ahead of its time (an outlier) does not hold up those behind it.
    fn of(frame: &Frame, index: usize) -> Self {
        Self { timestamp: frame.timestamp.min(frame.clock), index }
    }
}

/// An input that is being read.
struct Active {
    reader: Reader,
    block: Block,
    /// The next frame in `block`.
    next: usize,
    /// Interfaces of the merged input by those of this one; filled as they appear.
    interfaces: Vec<Option<u16>>,
    /// Descriptions of this input's interfaces, until their first frame.
    described: HashMap<u16, Interface>,
    /// Comments of packets in `block`, by the numbers of this input.
    comments: HashMap<u64, Vec<u8>>,
    /// Losses before frames of `block`, by the numbers of this input.
    losses: VecDeque<PacketLoss>,
}

impl Merge {
    /// Opens `paths`; `-` is standard input.
    ///
    /// # Errors
    /// The first file that is missing, a directory, not readable or no capture: then nothing was read. Empty and damaged files
    /// are reported at the end.
    pub fn open(paths: &[PathBuf]) -> Result<Self, Error> {
        Self::open_until(paths, &Cancel::default())
    }

    /// As [`Self::open`]; opening and reading end when `cancel` says so.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_until(paths: &[PathBuf], cancel: &Cancel) -> Result<Self, Error> {
        let mut merge = Self {
            waiting: BinaryHeap::new(),
            heads: BinaryHeap::new(),
            active: Vec::new(),
            active_count: 0,
            paths: paths.to_vec(),
            spare: Vec::new(),
            problems: VecDeque::new(),
            count: Count::default(),
            interfaces_seen: 0,
            described: Vec::new(),
            comments: Vec::new(),
            supplements: Supplements::default(),
            keep_open: paths.len() <= MERGE_OPEN_FILES_MAX,
            bytes_read: 0,
            losses: Vec::new(),
            bytes_total: Some(0),
            cancel: cancel.clone(),
        };
        merge.active.resize_with(paths.len(), || None);
        for (index, path) in paths.iter().enumerate() {
            merge.look(index, path)?;
        }
        Ok(merge)
    }

    /// Reads the first frame of an input, and lets go of the file again where there are too many.
    fn look(&mut self, index: usize, path: &Path) -> Result<(), Error> {
        match Reader::open_as(path, self.keep_open, PIECE_BYTES_MIN, &self.cancel) {
            Ok(reader) => {
                self.bytes_total = self.bytes_total.zip(reader.bytes_total()).map(|(sum, bytes)| sum + bytes);
                self.start(index, reader);
            }
            Err(error @ (Error::Empty { .. } | Error::Damaged(_) | Error::Unsupported { .. })) => {
                self.problems.push_back(error);
            }
            Err(error) => return Err(error),
        }
        if self.keep_open || self.is_pipe(index) {
            return Ok(());
        }
        if let Some(active) = self.active.get_mut(index).and_then(Option::take) {
            self.active_count -= 1;
            self.spare.push(active.block);
            let due = self.heads.iter().find(|due| due.0.index == index).copied();
            self.heads.retain(|due| due.0.index != index);
            self.waiting.extend(due);
        }
        Ok(())
    }

    /// Whether an active input can be read only once.
    fn is_pipe(&self, index: usize) -> bool {
        self.active.get(index).and_then(Option::as_ref).is_some_and(|active| active.reader.bytes_total().is_none())
    }

    /// Takes an input among the active ones, unless it has no frame.
    fn start(&mut self, index: usize, mut reader: Reader) {
        // The first blocks are read before anybody can say that comments are wanted.
        reader.keep_comments();
        let block = self.spare.pop().unwrap_or_default();
        let (described, comments, losses) = (HashMap::new(), HashMap::new(), VecDeque::new());
        let active = Active { reader, block, next: 0, interfaces: Vec::new(), described, comments, losses };
        self.active_count += 1;
        self.refill(index, active);
    }

    /// Reads the next block of an input; one that has ended is no longer active.
    fn refill(&mut self, index: usize, mut active: Active) {
        let piece_bytes = MERGE_READ_BYTES / self.active_count.max(1);
        active.reader.set_piece_bytes(piece_bytes.clamp(PIECE_BYTES_MIN, PIECE_BYTES));
        active.next = 0;
        let more = loop {
            let filled = active.reader.fill(&mut active.block);
            active.described.extend(active.reader.described());
            active.comments = active.reader.comments().into_iter().collect();
            active.losses = active.block.losses().iter().copied().collect();
            // Of all inputs before the first packet of any: secrets have to be there in time.
            self.supplements.add_all(&active.reader.supplements());
            match filled {
                // Without its next frame an input has no place in the order.
                Ok(true) if active.block.frames.is_empty() => {}
                Ok(more) => break more,
                Err(error) => self.problems.push_back(error),
            }
        };
        match active.head().filter(|_| more) {
            Some(frame) => {
                self.heads.push(Reverse(Due::of(&frame, index)));
                if let Some(slot) = self.active.get_mut(index) {
                    *slot = Some(active);
                }
            }
            None => {
                self.active_count -= 1;
                self.bytes_read += active.reader.bytes_read();
                self.losses.extend(active.reader.losses());
                active.block.clear();
                self.spare.push(active.block);
            }
        }
    }

    /// Opens the waiting inputs that may be next.
    fn wake(&mut self) {
        while let Some(&Reverse(due)) = self.waiting.peek()
            && self.heads.peek().is_none_or(|&Reverse(head)| due < head)
        {
            self.waiting.pop();
            let Some(path) = self.paths.get(due.index).cloned() else { continue };
            match Reader::open_as(&path, false, PIECE_BYTES_MIN, &self.cancel) {
                Ok(reader) => self.start(due.index, reader),
                Err(error) => self.problems.push_back(error),
            }
        }
    }

    /// The place in the order up to which the first input may go before another has its turn.
    fn turn_ends(&self) -> Option<Due> {
        let (head, waiting) = (self.heads.peek(), self.waiting.peek());
        [head, waiting].into_iter().flatten().map(|due| due.0).min()
    }

    /// Copies frames of the input that is due until another's turn comes or `block` is full.
    fn take_turn(&mut self, block: &mut Block, index: usize) {
        let turn_ends = self.turn_ends();
        let Some(mut active) = self.active.get_mut(index).and_then(Option::take) else { return };
        while let Some(frame) = active.head() {
            let due = Due::of(&frame, index);
            if turn_ends.is_some_and(|end| end < due) || block.bytes().len() >= PIECE_BYTES {
                self.heads.push(Reverse(due));
                if let Some(slot) = self.active.get_mut(index) {
                    *slot = Some(active);
                }
                return;
            }
            let at = block.bytes().len();
            block.append(active.block.batch().bytes(&frame));
            let interface = active.interface(frame.interface, &mut self.interfaces_seen);
            if !active.described.is_empty()
                && let Some(description) = active.described.remove(&frame.interface)
            {
                self.described.push((interface, description));
            }
            self.count.number += 1;
            let number = self.count.number;
            let clock = self.count.clock.advance(frame.timestamp, number);
            if !active.comments.is_empty()
                && let Some(comments) = active.comments.remove(&frame.number)
            {
                self.comments.push((number, comments));
            }
            while let Some(loss) =
                active.losses.pop_front_if(|loss| loss.number.is_none_or(|behind| behind <= frame.number))
            {
                let behind = PacketLoss::between(interface, loss.since, loss.timestamp, loss.packets);
                block.push_loss(behind.with_number(number));
            }
            block.frames.push(
                frame
                    .with_place(at as u32, frame.captured_bytes)
                    .with_interface(interface)
                    .with_clock(clock)
                    .with_number(number)
                    .with_origin(0),
            );
            active.next += 1;
        }
        self.refill(index, active);
    }
}

impl Active {
    fn head(&self) -> Option<Frame> {
        self.block.frames.get(self.next).copied()
    }

    /// The number in the merged input of one of this input's interfaces. There are 65,535 numbers; should so many
    /// files be merged, the rest share the last.
    fn interface(&mut self, own: u16, seen: &mut u32) -> u16 {
        let own = usize::from(own);
        if self.interfaces.len() <= own {
            self.interfaces.resize(own + 1, None);
        }
        let Some(slot) = self.interfaces.get_mut(own) else { return u16::MAX };
        *slot.get_or_insert_with(|| {
            let number = u16::try_from(*seen).unwrap_or(u16::MAX);
            *seen = seen.saturating_add(1);
            number
        })
    }
}

impl Source for Merge {
    fn fill(&mut self, block: &mut Block) -> Result<bool, Error> {
        block.clear();
        self.described.clear();
        self.comments.clear();
        while block.bytes().len() < PIECE_BYTES {
            self.wake();
            let Some(Reverse(due)) = self.heads.pop() else { break };
            self.take_turn(block, due.index);
        }
        if !block.frames.is_empty() {
            self.count.settle(&mut block.frames);
            return Ok(true);
        }
        self.problems.pop_front().map_or(Ok(false), Err)
    }

    fn described(&mut self) -> Vec<(u16, Interface)> {
        std::mem::take(&mut self.described)
    }

    fn comments(&mut self) -> Vec<(u64, Vec<u8>)> {
        std::mem::take(&mut self.comments)
    }

    fn supplements(&mut self) -> Vec<Supplement> {
        self.supplements.take()
    }

    fn losses(&self) -> Vec<CaptureLoss> {
        let active = self.active.iter().flatten().flat_map(|active| active.reader.losses());
        self.losses.iter().cloned().chain(active).collect()
    }

    fn bytes_read(&self) -> u64 {
        let active: u64 = self.active.iter().flatten().map(|active| active.reader.bytes_read()).sum();
        self.bytes_read + active
    }

    fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }
}
