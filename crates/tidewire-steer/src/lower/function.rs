//! Lowering of functions: their steps, and the functions that contain others.

use super::lowering::Lowering;
use super::needs;
use super::predicate;
use crate::ir::{Alu, Condition, Label, Operation, Slot};
use crate::language::{Argument, Function, Id, Predicate, SAMPLES_MAX, Term};
use crate::state::cell;
use crate::walk::slot;

impl Lowering<'_> {
    /// Lowers the steps; they jump to `dropped` if one drops.
    pub(super) fn function(&mut self, function: &Function, dropped: Label) {
        for step in &function.steps {
            self.step(step, dropped);
        }
    }

    fn step(&mut self, term: &Term, dropped: Label) {
        use Argument::{Function as F, Number as N, Predicate as P};
        match (term.builtin.id, term.arguments.as_slice()) {
            (Id::When | Id::Unless, [P(predicate), F(function)]) => {
                let [then, after] = [(); 2].map(|()| self.builder.label());
                if term.builtin.id == Id::When {
                    self.predicate(predicate, then, after);
                } else {
                    self.predicate(predicate, after, then);
                }
                self.builder.place(then);
                self.function(function, dropped);
                self.builder.place(after);
            }
            (Id::Conditional, [P(predicate), F(first), F(second)]) => {
                let [then, other, after] = [(); 3].map(|()| self.builder.label());
                self.predicate(predicate, then, other);
                self.builder.place(then);
                self.function(first, dropped);
                self.builder.goto(after);
                self.builder.place(other);
                self.function(second, dropped);
                self.builder.place(after);
            }
            (Id::Par, [F(first), F(second)]) => self.par(first, second, dropped),
            (Id::Inv, [F(function)]) => self.inv(function, dropped),
            (Id::Filter, [P(predicate)]) => self.filter(predicate, dropped),
            (Id::Unit, _) => {}
            (Id::Drop, _) => self.builder.goto(dropped),
            (Id::Class, [N(number)]) => self.builder.set(slot::CLASS, *number),
            (Id::Mark, [N(number)]) => self.builder.set(slot::MARK, *number),
            (Id::PutState, [N(number)]) => self.builder.set(slot::STATE, *number),
            (Id::Inc | Id::Dec, [N(number)]) => {
                let up = term.builtin.id == Id::Inc;
                self.builder.push(Operation::Count { cell: cell::counter(*number), up });
            }
            (Id::Sample, [N(number)]) => self.sample(*number, dropped),
            _ if self.steer(term, dropped) => {}
            _ => match predicate::twin(term) {
                Some(predicate) => self.filter(&predicate, dropped),
                // The checker rejects everything else.
                None => self.builder.goto(dropped),
            },
        }
    }

    pub(super) fn filter(&mut self, predicate: &Predicate, dropped: Label) {
        let passed = self.builder.label();
        self.predicate(predicate, passed, dropped);
        self.builder.place(passed);
    }

    /// The destination so far, kept in case a function changes it and then drops.
    fn keep(&mut self, function: &Function) -> Option<[Slot; 3]> {
        needs::steers(function).then(|| {
            let kept = [(); 3].map(|()| self.builder.take());
            for (kept, slot) in kept.into_iter().zip([slot::TARGET, slot::FIRST, slot::SECOND]) {
                self.builder.copy(kept, slot);
            }
            kept
        })
    }

    fn restore(&mut self, kept: Option<[Slot; 3]>) {
        if let Some(kept) = kept {
            for (kept, slot) in kept.into_iter().zip([slot::TARGET, slot::FIRST, slot::SECOND]) {
                self.builder.copy(slot, kept);
            }
            self.builder.free(3);
        }
    }

    fn par(&mut self, first: &Function, second: &Function, dropped: Label) {
        let [next, after] = [(); 2].map(|()| self.builder.label());
        let kept = self.keep(first);
        self.function(first, next);
        self.builder.goto(after);
        self.builder.place(next);
        self.restore(kept);
        self.function(second, dropped);
        self.builder.place(after);
    }

    fn inv(&mut self, function: &Function, dropped: Label) {
        let passes = self.builder.label();
        let kept = self.keep(function);
        self.function(function, passes);
        self.builder.goto(dropped);
        self.builder.place(passes);
        self.restore(kept);
    }

    /// Passes the first of every `every` packets.
    fn sample(&mut self, every: u64, dropped: Label) {
        let Some(cell) = cell::sample(self.samples) else {
            let message = format!("there are more than {SAMPLES_MAX} steps `sample`, each of which needs a count");
            self.error.get_or_insert(("sample", message, "use fewer"));
            return;
        };
        self.samples += 1;
        self.builder.push(Operation::Next { to: slot::T0, cell });
        self.builder.alu(Alu::Mod, slot::T0, every);
        self.builder.jump(slot::T0, Condition::NotEqual, 0, dropped);
    }
}
