//! The library that a program runs over, its settings, and the number of instances.

use super::options::Options;
use crate::{peer_output::Format, program::Program};

/// How instances of a program get their packets.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// Its name in tables.
    pub name: String,
    /// Environment, as `NAME=value`; none: the system's library.
    pub variables: Vec<String>,
    /// How many instances share the packets.
    pub instances: usize,
}

/// The command line and the report format of the instance with a number.
pub(super) type Words<'w> = &'w (dyn Fn(usize) -> (Vec<String>, Format) + Sync);

impl Way {
    /// Over the system's library.
    pub fn stock() -> Self {
        Self { name: "system's libpcap".into(), variables: Vec::new(), instances: 1 }
    }

    /// Over the drop-in library.
    pub fn ours(options: &Options, name: &str, variables: &[&str], instances: usize) -> Self {
        let preload = format!("LD_PRELOAD={}", options.programs.join("libtidewire_pcap.so").display());
        let variables = std::iter::once(preload).chain(variables.iter().map(|text| (*text).to_owned()));
        Self { name: name.into(), variables: variables.collect(), instances }
    }

    /// Several instances over the drop-in library that share packets by a fan-out mode.
    pub fn group(options: &Options, mode: &str, instances: usize) -> Self {
        let name = format!("{instances} × {mode}");
        Self::ours(options, &name, &[&format!("PCAP_FANOUT={mode}"), "PCAP_GROUP=5"], instances)
    }

    /// One instance with this command line.
    pub fn program(&self, words: &[&str]) -> Program {
        let before = if self.variables.is_empty() { None } else { Some("env") };
        let variables = self.variables.iter().map(String::as_str);
        let command: Vec<&str> = before.into_iter().chain(variables).chain(words.iter().copied()).collect();
        Program::new(&self.name, &command)
    }

    /// All instances: a single one on the receiving core, several on both.
    pub fn programs(&self, words: Words<'_>) -> Vec<Program> {
        let one = |index| {
            let (words, format) = words(index);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let program = self.program(&words).format(format);
            if self.instances > 1 { program.unpinned() } else { program }
        };
        (0..self.instances).map(one).collect()
    }
}
