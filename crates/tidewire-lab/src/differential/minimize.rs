//! Minimizes scripts while their results differ (delta debugging): removes steps, then gives fields their ordinary values.
//!
//! Every round tries all smaller forms of all scripts concurrently, because a round takes as long for one as for
//! many.

use std::io;

use super::{
    judge::{Outcome, Verdict, judge},
    player::Player,
    script::{Script, Segment, Step, Sum, WINDOW},
};
use crate::craft::{ACK, PSH, SYN};

/// Greatest number of rounds; each makes every script smaller if possible.
const ROUNDS: usize = 40;
/// Scripts tried in one batch.
const BATCH: usize = 4000;

/// A script and its verdict.
#[derive(Clone, Debug)]
pub struct Small {
    /// The script.
    pub script: Script,
    /// Its verdict.
    pub verdict: Verdict,
}

/// Minimizes scripts as long as their results differ. A reported difference may become a silent one: then
/// the report was about another part of the script.
///
/// # Errors
/// The error of the kernel.
pub fn minimize(player: &mut Player<'_>, scripts: Vec<Small>) -> io::Result<Vec<Small>> {
    let mut all: Vec<(Small, bool)> = scripts.into_iter().map(|small| (small, true)).collect();
    for _ in 0..ROUNDS {
        let mut tried: Vec<(usize, Script)> = Vec::new();
        for (at, (small, is_open)) in all.iter().enumerate() {
            if *is_open {
                tried.extend(smaller(&small.script).into_iter().map(|script| (at, script)));
            }
        }
        if tried.is_empty() {
            break;
        }
        all.iter_mut().for_each(|one| one.1 = false);
        for part in tried.chunks(BATCH) {
            let scripts: Vec<Script> = part.iter().map(|(_, script)| script.clone()).collect();
            let (played, packets) = player.play(&scripts)?;
            for ((at, script), verdict) in part.iter().zip(judge(&scripts, played, &packets)) {
                let (small, is_open) = &mut all[*at];
                // The first in the list removes most; a silent difference is preferred to any other.
                let adds_nothing = verdict.kinds.is_subset(&small.verdict.kinds);
                let is_better = match (verdict.outcome(), small.verdict.outcome()) {
                    (Outcome::Reported, Outcome::Reported) if !adds_nothing => false,
                    (Outcome::Silent, Outcome::Reported) => true,
                    (Outcome::Reported, Outcome::Silent) | (Outcome::Agreed, _) => false,
                    _ => !*is_open,
                };
                if is_better {
                    (*small, *is_open) = (Small { script: script.clone(), verdict }, true);
                }
            }
        }
    }
    Ok(all.into_iter().map(|one| one.0).collect())
}

/// Smaller forms of a script, those first that remove most.
fn smaller(script: &Script) -> Vec<Script> {
    let mut found = Vec::new();
    let count = script.steps.len();
    let mut length = count / 2;
    while length >= 1 {
        for from in (0..count).step_by(length) {
            let mut steps = script.steps.clone();
            steps.drain(from..(from + length).min(count));
            found.push(Script { steps, ..script.clone() });
        }
        length /= 2;
    }
    for (at, step) in script.steps.iter().enumerate() {
        let forms = match step {
            Step::Send(segment) => plainer(segment).into_iter().map(Step::Send).collect(),
            Step::Wait(ms) if *ms > 1 => vec![Step::Wait(ms / 2)],
            Step::Write(bytes) if *bytes > 1 => vec![Step::Write(1), Step::Write(bytes / 2)],
            _ => Vec::new(),
        };
        for form in forms {
            let mut steps = script.steps.clone();
            steps[at] = form;
            found.push(Script { steps, ..script.clone() });
        }
    }
    if script.is_ipv6 {
        found.push(Script { is_ipv6: false, ..script.clone() });
    }
    found
}

/// Forms of a segment with one field set to its ordinary value.
fn plainer(segment: &Segment) -> Vec<Segment> {
    let mut found = Vec::new();
    let mut with = |change: &dyn Fn(&mut Segment)| {
        let mut one = segment.clone();
        change(&mut one);
        if one != *segment {
            found.push(one);
        }
    };
    with(&|one| one.wraps.clear());
    with(&|one| one.options.clear());
    with(&|one| one.window = WINDOW);
    with(&|one| one.urgent = 0);
    with(&|one| one.sum = Sum::Right);
    with(&|one| one.words = None);
    with(&|one| one.ack = 0);
    with(&|one| one.flags &= !PSH);
    if segment.flags & SYN == 0 {
        with(&|one| one.flags |= ACK);
    }
    for bit in 0..8 {
        if 1 << bit != ACK {
            with(&|one| one.flags &= !(1 << bit));
        }
    }
    with(&|one| one.length = 0);
    with(&|one| one.length = one.length.min(4));
    with(&|one| one.length /= 2);
    with(&|one| one.version = 0);
    for at in 0..segment.options.len() {
        with(&|one| drop(one.options.remove(at)));
    }
    for at in 0..segment.wraps.len() {
        with(&|one| drop(one.wraps.remove(at)));
    }
    found
}
