//! SIGHUP: the configuration is read again. What changed of the analyzers is applied; the capture goes on as it is.

use std::time::Instant;

use super::{
    plan::{Plan, applied, pending, plans},
    run::{Member, Phase, Supervisor},
};

impl Supervisor<'_> {
    /// Reads the configuration again, and applies it or says what is wrong with it.
    pub fn reload(&mut self) {
        if self.phase != Phase::Running {
            return;
        }
        self.notify.reloading();
        match (self.recipe.reread)() {
            Ok((new, warnings)) => {
                warnings.iter().for_each(|warning| self.log(format!("warning: {warning}")));
                self.pending = pending(&self.config, &new);
                let (config, left_out) = applied(&self.config, &new);
                let wanted = plans(&config);
                self.config = config;
                let (started, stopped) = self.change(wanted, Instant::now());
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
        self.changed = true;
        if self.has_begun {
            self.notify.ready();
        }
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
