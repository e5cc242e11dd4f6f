//! Requirements of a program on the engine that runs it, derived from its syntax tree.

use crate::language::{Argument, Function, Group, Id, Predicate, Program, Term};
use crate::settings::{Fragments, Settings, Unsteered};
use crate::walk::Depth;

/// Requirements of a program on an engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// How much of the packet is read.
    pub(crate) depth: Depth,
    /// Whether a path ends without a worker and without a drop.
    pub(crate) may_pass_unsteered: bool,
    /// Whether a path drops.
    pub(crate) may_drop: bool,
    /// Name of a function that may choose two workers.
    pub(crate) two_workers: Option<&'static str>,
    /// Name of a function that counts packets (`steer_rrobin`, `sample`, `inc`, `dec`).
    pub(crate) counts: Option<&'static str>,
    /// `sample`
    pub(crate) samples: bool,
    /// `steer_rss`
    pub(crate) rss: bool,
    /// `steer_rx_queue`
    pub(crate) rx_queue: bool,
    /// The greatest argument of `steer_to`.
    pub(crate) worker: Option<u64>,
    /// Whether datagrams are remembered.
    pub(crate) datagrams: bool,
}

impl Needs {
    pub(crate) fn of(program: &Program, settings: &Settings) -> Self {
        let mut needs = Self { may_pass_unsteered: !always_steers(&program.main), ..Self::default() };
        visit(&program.main, &mut |term| needs.add(term, settings));
        if needs.may_pass_unsteered && settings.unsteered == Unsteered::Flow {
            needs.depth = Depth::Transport;
            needs.datagrams |= settings.fragments == Fragments::FollowFirst;
        }
        needs
    }

    fn add(&mut self, term: &Term, settings: &Settings) {
        let id = term.builtin.id;
        self.depth = self.depth.max(depth(term));
        // Nearly every function can drop packets that it does not apply to; the others only pass on or choose by
        // number.
        self.may_drop |= match term.builtin.group {
            Group::Steering => !matches!(id, Id::SteerRrobin | Id::SteerTo),
            Group::Filter => id != Id::Unit,
            Group::Effect => id == Id::Sample,
            Group::Combinator => id == Id::Inv,
            _ => false,
        };
        self.samples |= id == Id::Sample;
        match id {
            Id::SteerRrobin | Id::Sample | Id::Inc | Id::Dec => self.counts = self.counts.or(Some(term.builtin.name)),
            Id::SteerRss => self.rss = true,
            Id::SteerRxQueue => self.rx_queue = true,
            Id::SteerTo => {
                if let [Argument::Number(worker)] = term.arguments.as_slice() {
                    self.worker = self.worker.max(Some(*worker));
                }
            }
            Id::SteerLocalLink
            | Id::SteerLocalIp
            | Id::SteerLocalNet
            | Id::DoubleSteerMac
            | Id::DoubleSteerIp
            | Id::DoubleSteerField => self.two_workers = self.two_workers.or(Some(term.builtin.name)),
            Id::SteerFlow | Id::SteerKey => {
                self.datagrams |= settings.fragments == Fragments::FollowFirst && id == Id::SteerFlow
            }
            _ => {}
        }
    }
}

fn depth(term: &Term) -> Depth {
    match term.builtin.id {
        Id::SteerRrobin
        | Id::SteerRss
        | Id::SteerRxQueue
        | Id::SteerTo
        | Id::SteerLink
        | Id::SteerLocalLink
        | Id::DoubleSteerMac
        | Id::Unit
        | Id::Drop
        | Id::HasMark
        | Id::HasState
        | Id::GetMark
        | Id::GetState => Depth::Nothing,
        Id::SteerVlan
        | Id::Vlan
        | Id::VlanIdFilter
        | Id::HasVlan
        | Id::HasVid
        | Id::VlanId
        | Id::SteerField
        | Id::SteerFieldSymmetric
        | Id::DoubleSteerField => Depth::Link,
        _ => match term.builtin.group {
            Group::Combinator | Group::Conditional | Group::Effect | Group::Comparator => Depth::Nothing,
            _ if term.builtin.id == Id::Filter => Depth::Nothing,
            _ => Depth::Transport,
        },
    }
}

/// Every term of a function, including those in its arguments.
pub(crate) fn visit(function: &Function, see: &mut impl FnMut(&Term)) {
    for step in &function.steps {
        see(step);
        for argument in &step.arguments {
            match argument {
                Argument::Function(inner) => visit(inner, see),
                Argument::Predicate(inner) => visit_predicate(inner, see),
                _ => {}
            }
        }
    }
}

fn visit_predicate(predicate: &Predicate, see: &mut impl FnMut(&Term)) {
    match predicate {
        Predicate::Term(term) | Predicate::Compare(_, term, _) => see(term),
        Predicate::Not(inner) => visit_predicate(inner, see),
        Predicate::And(left, right) | Predicate::Or(left, right) | Predicate::Xor(left, right) => {
            visit_predicate(left, see);
            visit_predicate(right, see);
        }
    }
}

/// Whether a function may choose a worker.
pub(crate) fn steers(function: &Function) -> bool {
    let mut steers = false;
    visit(function, &mut |term| steers |= term.builtin.group == Group::Steering);
    steers
}

/// Whether every packet that the function passes has a worker afterwards.
fn always_steers(function: &Function) -> bool {
    function.steps.iter().any(|step| match (step.builtin.id, step.arguments.as_slice()) {
        (Id::Drop, _) => true,
        (Id::Conditional, [_, Argument::Function(first), Argument::Function(second)])
        | (Id::Par, [Argument::Function(first), Argument::Function(second)]) => {
            always_steers(first) && always_steers(second)
        }
        _ => step.builtin.group == Group::Steering,
    })
}
