//! Which lines of a manifest are needed: those of segments that are there.

use std::collections::{BTreeMap, BTreeSet};

use super::line::{Event, Line};
use crate::SegmentName;

/// Removals whose lines stay: a crash may have come before their files went.
pub(crate) const REMOVALS_KEPT: usize = 1000;

/// Takes out lines of segments that were removed, and of recorders that began. What is kept says all that is needed of what is there: its own
/// lines, those of the segment before it, whose index it names, and of each worker's last segment. `removals_kept`: the last
/// removals, whose lines stay. Returns how many segments are not listed any more.
pub(crate) fn keep_living(lines: &mut Vec<Line>, removals_kept: usize) -> u64 {
    let mut is_there: BTreeMap<String, bool> = BTreeMap::new();
    for line in lines.iter().filter(|line| !line.segment.is_empty()) {
        is_there.insert(line.segment.clone(), line.event != Event::Removed);
    }
    let living = |name: &str| is_there.get(name).copied().unwrap_or(false);
    // Segments that the next one of a worker may name as the one before it.
    let mut before: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    let mut named: BTreeSet<String> = BTreeSet::new();
    for line in &*lines {
        let Some(name) = SegmentName::parse(&line.segment) else { continue };
        let before = before.entry(name.worker).or_default();
        match line.event {
            Event::Segment | Event::Repaired => {
                if living(&line.segment) {
                    named.extend(before.iter().map(|&name| name.to_owned()));
                }
                if !line.index_digest.is_empty() {
                    before.clear();
                }
                before.push(&line.segment);
            }
            Event::Indexed => before.push(&line.segment),
            _ => {}
        }
    }
    named.extend(before.into_values().flatten().map(str::to_owned));
    let removals = lines.iter().filter(|line| line.event == Event::Removed).count();
    let (mut removal, mut listed) = (0, BTreeSet::new());
    lines.retain(|line| {
        removal += usize::from(line.event == Event::Removed);
        let is_recent = line.event == Event::Removed && removal + removals_kept > removals;
        let is_kept = living(&line.segment) || named.contains(&line.segment) || is_recent;
        if is_kept {
            listed.insert(line.segment.clone());
        }
        is_kept
    });
    is_there.keys().filter(|name| !listed.contains(*name)).count() as u64
}
