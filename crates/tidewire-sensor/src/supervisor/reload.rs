//! SIGHUP: the configuration is read again. What changed of the analyzers, of folding and of destinations is applied; the capture goes
//! on as it is.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{
    part::{Part, State},
    plan::{Plan, applied, events_settings, pending, plans, spool_settings},
    recipe::Reread,
    reporting::{Reporting, Which},
    rereading::Rereading,
    run::{Member, Phase, Supervisor},
};
use crate::config::SensorConfig;

impl Supervisor<'_> {
    /// Begins to read the configuration again.
    pub fn reload(&mut self) {
        if self.phase != Phase::Running {
            return;
        }
        if let Some(rereading) = &mut self.rereading {
            rereading.again = true;
            return;
        }
        self.notify.reloading();
        self.reread();
    }

    fn reread(&mut self) {
        match Rereading::start(&self.recipe.reread) {
            Ok(rereading) => self.rereading = Some(rereading),
            Err(error) => {
                self.log(format!("the configuration cannot be read again: {error}"));
                self.reloaded();
            }
        }
    }

    /// Applies the configuration once it is read, or says what is wrong with it.
    pub fn look_at_rereading(&mut self, now: Instant) {
        let Some(result) = self.rereading.as_ref().and_then(Rereading::result) else { return };
        let is_outdated = self.rereading.take().is_some_and(|rereading| rereading.again);
        if self.phase != Phase::Running {
            return;
        }
        match result {
            _ if is_outdated => return self.reread(),
            Some(result) => self.apply(result, now),
            None => self.log("the configuration could not be read again: the thread that reads it panicked"),
        }
        self.reloaded();
    }

    fn reloaded(&mut self) {
        self.changed = true;
        if self.is_known {
            self.notify.ready();
        }
    }

    fn apply(&mut self, result: Reread, now: Instant) {
        match result {
            Ok((new, warnings)) => {
                warnings.iter().for_each(|warning| self.log(format!("warning: {warning}")));
                self.pending = pending(&self.config, &new);
                let (config, left_out) = applied(&self.config, &new);
                let wanted = plans(&config);
                let old = std::mem::replace(&mut self.config, config);
                self.change_helpers(&old, now);
                let (started, stopped) = self.change(wanted, now);
                self.log(format!("configuration read again: {started} analyzers to start, {stopped} to end"));
                if !self.pending.is_empty() {
                    let all = self.pending.join(", ");
                    self.log(format!("the capture goes on as it is; after a restart of the sensor: {all}"));
                }
                if !left_out.is_empty() {
                    let all = left_out.join(", ");
                    self.log(format!("not started before a restart of the sensor, which they need: {all}"));
                }
            }
            Err(mistakes) => {
                self.log("the configuration has mistakes; the old one runs on:");
                mistakes.iter().for_each(|mistake| self.log(mistake.to_string()));
            }
        }
    }

    /// Ends the event processor and the spooler where their settings changed, to start them with these; no event is lost by it.
    /// A spooler whose settings are the same reads its keys again.
    fn change_helpers(&mut self, old: &SensorConfig, now: Instant) {
        let most = self.config.stop;
        if let Some(events) = self.events.as_mut().filter(|_| events_settings(old) != events_settings(&self.config)) {
            events.again = events.part.process().is_some().then_some(NEW_SETTINGS);
            restart(&mut events.part, now, most);
            self.log.line("the event processor is started again with its new settings");
        }
        let (before, after) = (spool_settings(old), spool_settings(&self.config));
        match (&mut self.spool, &after) {
            (Some(spool), Some(_)) if before == after => spool.part.signal(Signal::HUP),
            (Some(spool), Some(_)) => {
                spool.again = spool.part.process().is_some().then_some(NEW_SETTINGS);
                restart(&mut spool.part, now, most);
                self.log.line("the spooler is started again with its new settings");
            }
            (Some(spool), None) => {
                spool.part.stop(now, most);
                self.log.line("the spooler ends: there is no destination any more");
                if spool.part.process().is_none() {
                    self.spool = None;
                }
            }
            (None, Some(_)) => self.spool = Some(Reporting::new(Which::Spool)),
            (None, None) => {}
        }
    }

    /// Starts the event processor again, which recovers its store when it opens it: who reads it found damage.
    pub fn recover(&mut self, now: Instant) {
        let most = self.config.stop;
        let is_late = self.recovered.is_some_and(|at| now.duration_since(at) < RECOVER_EVERY);
        let Some(events) = self.events.as_mut().filter(|events| events.ready && !is_late) else { return };
        if self.phase != Phase::Running {
            return;
        }
        self.recovered = Some(now);
        events.again = events.part.process().is_some().then_some(RECOVER);
        restart(&mut events.part, now, most);
    }

    /// Ends what is not wanted any more, and adds what is new. Returns how many of each.
    fn change(&mut self, wanted: Vec<Plan>, now: Instant) -> (usize, usize) {
        let most = self.config.stop;
        let (mut started, mut stopped) = (0, 0);
        let mut left = wanted;
        for member in &mut self.members {
            let next = left.iter().position(|plan| plan.name == member.plan.name).map(|at| left.swap_remove(at));
            if next.as_ref() == Some(&member.plan) && member.leaves.is_none() {
                continue;
            }
            started += usize::from(next.is_some());
            stopped += 1;
            member.part.stop(now, most);
            match (member.part.process(), next) {
                // It follows when the old one has ended.
                (Some(_), next) => member.leaves = Some(next),
                (None, Some(plan)) => *member = Member::new(plan),
                (None, None) => member.leaves = Some(None),
            }
        }
        started += left.len();
        self.members.extend(left.into_iter().map(Member::new));
        self.members.sort_by(|one, other| one.plan.name.cmp(&other.plan.name));
        (started, stopped)
    }
}

/// Why a part is started again.
const NEW_SETTINGS: &str = "with its new settings";
/// See [`NEW_SETTINGS`].
const RECOVER: &str = "to recover its store";
/// Between two starts of the event processor for the sake of its store.
const RECOVER_EVERY: Duration = Duration::from_secs(60);

/// Asks a part to end; one that does not run is started as soon as it may be.
fn restart(part: &mut Part, now: Instant, most: Duration) {
    match part.process() {
        Some(_) => part.stop(now, most),
        None => part.state = State::Waiting,
    }
}
