//! Compiled programs, and the engines that can run them.

use crate::bpf::{self, Code, Copy, Hook, Output};
use crate::error::Error;
use crate::evaluate::{Found, Packet, Resolved};
use crate::ir::Operation;
use crate::language::Program;
use crate::lower::{self, Needs};
use crate::settings::Settings;
use crate::state::State;
use crate::verdict::Verdict;

/// The engine that runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// The evaluator, over files.
    File,
    /// A fan-out group of packet sockets.
    Fanout {
        /// Whether there is a second group for the second copy of doubly steered packets.
        second_group: bool,
    },
    /// An XDP program that redirects to AF_XDP sockets.
    Xdp,
}

impl Engine {
    fn text(self) -> &'static str {
        match self {
            Self::File => "files",
            Self::Fanout { .. } => "a fan-out group",
            Self::Xdp => "XDP",
        }
    }
}

/// A program compiled for its settings.
#[derive(Clone, Debug)]
pub struct Compiled {
    program: Program,
    settings: Settings,
    needs: Needs,
    operations: Vec<Operation>,
    resolved: Resolved,
}

impl Compiled {
    /// Compiles a program.
    ///
    /// # Errors
    /// It is too large; with the place that is the cause, if there is one.
    pub fn new(program: &Program, settings: &Settings) -> Result<Self, Error> {
        let needs = Needs::of(program, settings);
        let operations = lower::lower(program, settings, &needs)?;
        let resolved = Resolved::new(&operations);
        Ok(Self { program: program.clone(), settings: settings.clone(), needs, operations, resolved })
    }

    /// The program that was compiled.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Whether some packets may be dropped, so that a fan-out group needs a socket for them.
    #[must_use]
    pub fn may_drop(&self) -> bool {
        self.needs.may_drop
    }

    /// Whether some packets may go to two workers.
    #[must_use]
    pub fn may_double(&self) -> bool {
        self.needs.two_workers.is_some()
    }

    /// Runs the program over a packet.
    #[must_use]
    pub fn evaluate(&self, packet: &Packet<'_>, state: &mut State) -> Verdict {
        self.resolved.run(packet, &self.settings, state)
    }

    /// Findings of the program's walk over a packet.
    #[must_use]
    pub fn found(&self, packet: &Packet<'_>) -> Found {
        self.resolved.found(packet, &self.settings)
    }

    /// Whether an engine with this many workers can run the program.
    ///
    /// # Errors
    /// The first function that the engine cannot run, with its place, the reason, and what to do.
    pub fn check(&self, engine: Engine, workers: u32) -> Result<(), Error> {
        let error = |name: &str, why: String, hint: &str| Err(self.program.error_at(name, why, hint));
        if let Some(worker) = self.needs.worker.filter(|worker| *worker >= u64::from(workers)) {
            let why = format!("`steer_to` names worker {worker}, and there are {workers}, counted from 0");
            return error("steer_to", why, "start more workers, or steer to one of these");
        }
        let on = engine.text();
        if self.needs.rss
            && engine != (Engine::Fanout { second_group: false })
            && engine != (Engine::Fanout { second_group: true })
        {
            let why = format!("`steer_rss` cannot run on {on}: the card's hash is not known there");
            return error("steer_rss", why, "use steer_flow, which computes one, or a fan-out group");
        }
        if self.needs.rx_queue && engine == Engine::File {
            let why = "`steer_rx_queue` cannot run on files: the receive queue is not written there".to_owned();
            return error("steer_rx_queue", why, "use steer_flow");
        }
        let Some(name) = self.needs.two_workers else { return Ok(()) };
        match engine {
            Engine::File => Ok(()),
            Engine::Xdp => {
                let why =
                    format!("`{name}` cannot run on XDP: a frame is redirected to one socket, and this may name two");
                error(name, why, "use packet sockets with two groups")
            }
            Engine::Fanout { second_group: false } => {
                let why = format!(
                    "`{name}` cannot run in one fan-out group: it gives a packet to one socket, and this may name two workers"
                );
                error(name, why, "add a second group for the second worker")
            }
            Engine::Fanout { second_group: true } => match self.needs.counts {
                None => Ok(()),
                Some(counts) => {
                    let why =
                        format!("`{counts}` cannot run beside `{name}`: two groups would count every packet twice");
                    error(counts, why, "take one of them out")
                }
            },
        }
    }

    /// The kernel program, for Ethernet interfaces. Call [`Compiled::check`] first: what a hook does not know counts as
    /// absent.
    ///
    /// # Errors
    /// It is too long for eBPF's jumps.
    pub fn code(&self, hook: Hook, output: Output) -> Result<Code, Error> {
        bpf::emit(&self.operations, hook, output)
    }

    /// The program of a fan-out group's sockets. Dropped packets go to the socket behind the workers', if there are any.
    ///
    /// # Errors
    /// As [`Compiled::check`] and [`Compiled::code`].
    pub fn fanout(&self, workers: u32, copy: Copy) -> Result<Code, Error> {
        self.check(Engine::Fanout { second_group: self.may_double() }, workers)?;
        self.code(Hook::Socket, Output::Fanout { workers, dropped: workers, copy })
    }

    /// The same program with another seed: engines agree where their seeds do.
    ///
    /// # Errors
    /// None that [`Compiled::new`] did not return.
    pub fn with_seed(&self, seed: u64) -> Result<Self, Error> {
        Self::new(&self.program, &Settings { seed, ..self.settings.clone() })
    }

    /// The program of a group with a varying number of members; `members`: their number, if known. Dropped packets, and
    /// a second copy for the first one's worker, are left to the members' filters ([`Compiled::kept`]).
    ///
    /// # Errors
    /// As [`Compiled::check`] and [`Compiled::code`]; also if the program has `sample`, which would count differently
    /// in the group and in each filter.
    pub fn group(&self, members: Option<u32>, copy: Copy) -> Result<Code, Error> {
        self.check(Engine::Fanout { second_group: self.may_double() }, members.unwrap_or(u32::MAX))?;
        if self.needs.samples {
            let why =
                "`sample` cannot run in a group that several processes share: each of them would count for itself";
            return Err(self.program.error_at("sample", why.to_owned(), "take it out, or capture with one process"));
        }
        self.code(Hook::Socket, Output::Group { copy })
    }

    /// The filter of that group's members, if they need one. That of the first copy counts dropped packets.
    ///
    /// # Errors
    /// As [`Compiled::code`].
    pub fn kept(&self, members: Option<u32>, copy: Copy) -> Result<Option<Code>, Error> {
        let needs_one = self.may_drop() || copy == Copy::Second;
        needs_one.then(|| self.code(Hook::Socket, Output::Kept { copy, members })).transpose()
    }
}

#[cfg(test)]
mod tests;
