//! Classes of streams, by the packet that opens them.

use tidewire::FilterError;
use tidewire_filter::Filter;
use tidewire_wire::{Frame, LinkType};

use crate::settings::{RecordClass, RecordSettings};

/// Limits of what is kept of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keep {
    pub cutoff: [u64; 2],
    pub priority: u8,
    pub snap_bytes: u32,
}

/// The classes in their order, compiled.
pub(crate) struct Classes {
    general: Keep,
    compiled: Vec<(Filter, RecordClass)>,
}

impl Classes {
    pub fn compile(settings: &RecordSettings) -> Result<Self, FilterError> {
        let general = Keep { cutoff: settings.cutoff_bytes, priority: 0, snap_bytes: settings.snap_bytes };
        let compile = |class: &RecordClass| Ok((compiled(&class.expression)?, class.clone()));
        let compiled = settings.classes.iter().map(compile).collect::<Result<_, FilterError>>()?;
        Ok(Self { general, compiled })
    }

    /// Limits for packets that belong to no stream.
    pub fn general(&self) -> Keep {
        self.general
    }

    /// The greatest priority.
    pub fn highest(&self) -> u8 {
        self.compiled.iter().filter_map(|(_, class)| class.priority).max().unwrap_or(0)
    }

    /// Limits for the stream that a packet opens.
    pub fn keep(&mut self, frame: &Frame, bytes: &[u8]) -> Keep {
        let (mut cutoff, mut priority, mut snap_bytes) = (None, None, None);
        for (filter, class) in &mut self.compiled {
            let news = cutoff.is_none() && class.cutoff_bytes.is_some()
                || priority.is_none() && class.priority.is_some()
                || snap_bytes.is_none() && class.snap_bytes.is_some();
            // An expression that has no meaning for a link type matches nothing there.
            if news && filter.matches(frame.link, bytes, frame.wire_bytes).unwrap_or(false) {
                cutoff = cutoff.or(class.cutoff_bytes);
                priority = priority.or(class.priority);
                snap_bytes = snap_bytes.or(class.snap_bytes);
            }
        }
        let general = &self.general;
        Keep {
            cutoff: cutoff.unwrap_or(general.cutoff),
            priority: priority.unwrap_or(general.priority),
            snap_bytes: snap_bytes.unwrap_or(u32::MAX).min(general.snap_bytes),
        }
    }
}

/// An expression, compiled now: it may hold host names, which cannot be resolved once privileges are dropped.
pub(crate) fn compiled(expression: &str) -> Result<Filter, FilterError> {
    let mut filter = Filter::new(expression)?;
    // Where it has no meaning for bare IP packets it matches none.
    let _ = filter.prepare(LinkType::RAW);
    Ok(filter)
}
