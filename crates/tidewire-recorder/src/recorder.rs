//! Decides what becomes of each packet, and copies what is written into buffers.

mod append;
mod comments;
mod flow;
mod fragment;
mod held;
mod losses;
mod offload;
mod run;
mod texts;

use std::{collections::HashMap, sync::Arc, time::Instant};

use tidewire::{EndReason, FilterError, Shunt};
use tidewire_archive::{
    Fragments, SegmentName,
    block::{Interface, Statistics, Supplements},
};
use tidewire_filter::Filter;

use crate::{
    RecordSettings, Status, Targets, Totals,
    buffer::{Buffer, Pool},
    classes::{Classes, compiled},
    disk::Pipeline,
    flows::{Flows, Walk},
    look_back::{Backlog, LookBack},
    place::FragmentLocation,
    segment::{Lost, OpenSegment},
};
use comments::Comments;
use losses::Losses;
use texts::Texts;

/// Records the frames of one worker: a [`FrameHandler`](tidewire::FrameHandler).
///
/// Its threads begin with the first frames, so that a process can drop privileges before.
pub struct Recorder {
    settings: Arc<RecordSettings>,
    worker: u16,
    targets: Arc<Targets>,
    status: Arc<Status>,
    pool: Arc<Pool>,
    pipeline: Option<Pipeline>,
    look_back: Option<LookBack>,
    /// Destination that decided packets of it wait for.
    backlog: Backlog,
    /// Whether to wait for buffers.
    waits: bool,
    /// Whether there was none in time when one was needed last.
    has_waited: bool,
    classes: Classes,
    /// Whether anything may be cut off.
    cuts: bool,
    filter: Option<Filter>,
    walk: Walk,
    flows: Flows,
    fragments: Fragments<FragmentLocation>,
    /// From which level of the buffers on each priority is shed, in thousandths.
    watermarks: [u32; crate::PRIORITIES_MAX],
    level_permille: u32,
    buffer: Option<Buffer>,
    segment: Option<(OpenSegment, SegmentName)>,
    segments: u64,
    /// Where the last segment went.
    target: usize,
    /// Counts since the last segment ended, and no segment was open.
    between: Totals,
    totals: Totals,
    interfaces: Vec<Interface>,
    texts: Texts,
    statistics: Vec<Statistics>,
    /// Losses of interfaces when the last segment ended.
    lost: Vec<Lost>,
    /// Interfaces of capture files, by number.
    described: HashMap<u16, Interface>,
    comments: Comments,
    losses: Losses,
    /// Texts of sections, secrets and names of capture files.
    supplements: Supplements,
    /// Numbers in segments, by the capture's interface and link type.
    interface_numbers: HashMap<(u16, u16), u32>,
    last_interface: Option<((u16, u16), u32)>,
    shunt: Option<Box<dyn Shunt>>,
    /// Flows with directions that the kernel drops.
    shunted: Vec<(u32, u64)>,
    /// Packets and bytes that the kernel's filter left out, as far as they are counted.
    kernel_filtered: (u64, u64),
    /// Packets that the kernel dropped, and those of them that no packet has reported yet.
    dropped: u64,
    unreported_drops: u64,
    clock_ns: u64,
    flushed: Instant,
    /// When what is due now and then was done.
    looked: Instant,
    ended: Vec<(u32, EndReason)>,
    is_finished: bool,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("worker", &self.worker).finish_non_exhaustive()
    }
}

impl Recorder {
    /// A recorder of a worker, which writes to `targets` and publishes to `status`.
    ///
    /// # Errors
    /// An expression of the settings has no meaning.
    pub fn new(
        settings: &Arc<RecordSettings>,
        worker: u16,
        targets: &Arc<Targets>,
        status: &Arc<Status>,
    ) -> Result<Self, FilterError> {
        let classes = Classes::compile(settings)?;
        let filter = settings.filter.as_deref().map(compiled).transpose()?;
        let depth = targets.directories.first().map_or(8, |directory| directory.settings().index.tunnel_depth);
        let idle_ns = u64::try_from(settings.idle.as_nanos()).unwrap_or(u64::MAX);
        let look_back =
            settings.look_back.as_ref().map(|look_back| LookBack::new(look_back, classes.highest(), worker == 0));
        let (cuts, watermarks) = (settings.cuts(), watermarks(settings, classes.highest()));
        Ok(Self {
            worker,
            targets: Arc::clone(targets),
            status: Arc::clone(status),
            pool: Arc::new(Pool::new(settings.buffer_bytes.max(crate::BUFFER_BYTES_MIN))),
            pipeline: None,
            look_back: look_back.transpose()?,
            backlog: Backlog::None,
            waits: !settings.is_live,
            has_waited: false,
            classes,
            cuts,
            filter,
            walk: Walk::new(depth),
            flows: Flows::new(settings.flows_max, idle_ns),
            fragments: Fragments::default(),
            watermarks,
            level_permille: 0,
            buffer: None,
            segment: None,
            segments: 0,
            target: usize::from(worker),
            between: Totals::default(),
            totals: Totals::default(),
            interfaces: Vec::new(),
            statistics: Vec::new(),
            lost: Vec::new(),
            texts: Texts::default(),
            described: HashMap::new(),
            comments: Comments::default(),
            losses: Losses::default(),
            supplements: Supplements::default(),
            interface_numbers: HashMap::new(),
            last_interface: None,
            shunt: None,
            shunted: Vec::new(),
            kernel_filtered: (0, 0),
            dropped: 0,
            unreported_drops: 0,
            clock_ns: 0,
            flushed: Instant::now(),
            looked: Instant::now(),
            ended: Vec::new(),
            is_finished: false,
            settings: Arc::clone(settings),
        })
    }

    /// Where this recording is.
    #[must_use]
    pub fn status(&self) -> &Arc<Status> {
        &self.status
    }

    fn count(&mut self, priority: u8, fate: crate::ledger::Fate, packets: u64, bytes: u64) {
        self.totals.count(priority, fate, packets, bytes);
        match &mut self.segment {
            Some((segment, _)) => segment.totals.count(priority, fate, packets, bytes),
            None => self.between.count(priority, fate, packets, bytes),
        }
    }
}

/// The greatest priority is shed only where there is no buffer; the others by equal steps from the base on.
fn watermarks(settings: &RecordSettings, highest: u8) -> [u32; crate::PRIORITIES_MAX] {
    let base = settings.base_threshold_permille.min(1000);
    let count = u32::from(highest) + 1;
    let mut marks = [u32::MAX; crate::PRIORITIES_MAX];
    if !settings.is_live {
        return marks;
    }
    for (level, mark) in marks.iter_mut().enumerate().take(usize::from(highest)) {
        *mark = base + (1000 - base) * level as u32 / count;
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_priorities_are_shed_first_and_the_highest_where_nothing_is_free() {
        let settings = RecordSettings { is_live: true, ..RecordSettings::default() };
        assert_eq!(watermarks(&settings, 0)[0], u32::MAX);
        assert_eq!(watermarks(&settings, 2)[..3], [500, 666, u32::MAX]);
        let files = RecordSettings::default();
        assert_eq!(watermarks(&files, 2)[..2], [u32::MAX; 2]);
    }
}
