//! Aho-Corasick: one step for each byte; the state is all that is kept between pieces.

use aho_corasick::{Anchored, MatchKind, StartKind, automaton::StateID, dfa::DFA, nfa::contiguous::NFA};

use super::{Hit, MATCHES_AT_MAX, Pattern, PatternError};

/// Most bytes of all patterns for a full transition table; each state takes up to 1 KiB, so that it has 32 MiB at most.
const DFA_BYTES_MAX: usize = 32 << 10;

/// A state for each part.
pub(super) type States = [Option<StateID>; 2];

/// Patterns as automata: those with exact case, and those that ignore it.
pub struct Automaton {
    parts: Vec<Part>,
}

/// Patterns with the same rule for case.
struct Part {
    steps: Steps,
    /// Of each pattern, its index among all.
    indexes: Vec<u32>,
}

/// The patterns of a part.
enum Steps {
    /// With a full transition table.
    Dfa(DFA),
    /// Compact: follows failure transitions.
    Nfa(NFA),
}

impl Automaton {
    pub(super) fn new(patterns: &[Pattern], ignore_case: bool) -> Result<Self, PatternError> {
        let mut parts = Vec::new();
        for folded in [false, true] {
            let of_part =
                patterns.iter().zip(0..).filter(|(pattern, _)| (ignore_case || pattern.ignore_case) == folded);
            let (patterns, indexes): (Vec<&Pattern>, Vec<u32>) = of_part.unzip();
            if !patterns.is_empty() {
                parts.push(Part { steps: Steps::new(&patterns, folded)?, indexes });
            }
        }
        Ok(Self { parts })
    }

    /// Returns how many matches were left out: of each part, at one byte, all but the longest [`MATCHES_AT_MAX`].
    pub(super) fn find(&self, states: &mut States, piece: &[u8], found: &mut impl FnMut(Hit)) -> u64 {
        let parts = self.parts.iter().zip(states);
        let left_out = parts.map(|(Part { steps, indexes }, state)| match steps {
            Steps::Dfa(automaton) => step_through(automaton, state, indexes, piece, found),
            Steps::Nfa(automaton) => step_through(automaton, state, indexes, piece, found),
        });
        left_out.sum()
    }
}

impl Steps {
    fn new(patterns: &[&Pattern], ignore_case: bool) -> Result<Self, PatternError> {
        let bytes = || patterns.iter().map(|pattern| &pattern.bytes);
        // Without a prefilter only matches are special states: the loop has one condition to test.
        let built = if bytes().map(Vec::len).sum::<usize>() <= DFA_BYTES_MAX {
            let mut builder = DFA::builder();
            builder.match_kind(MatchKind::Standard).start_kind(StartKind::Unanchored).prefilter(false);
            builder.ascii_case_insensitive(ignore_case).build(bytes()).map(Self::Dfa)
        } else {
            let mut builder = NFA::builder();
            builder.match_kind(MatchKind::Standard).prefilter(false);
            builder.ascii_case_insensitive(ignore_case).build(bytes()).map(Self::Nfa)
        };
        built.map_err(PatternError::TooMany)
    }
}

#[inline]
fn step_through<A: aho_corasick::automaton::Automaton>(
    automaton: &A,
    kept: &mut Option<StateID>,
    indexes: &[u32],
    piece: &[u8],
    found: &mut impl FnMut(Hit),
) -> u64 {
    let start = kept.or_else(|| automaton.start_state(Anchored::No).ok());
    let Some(mut state) = start else { return 0 };
    let mut left_out = 0;
    for (index, &byte) in piece.iter().enumerate() {
        state = automaton.next_state(Anchored::No, state, byte);
        if automaton.is_special(state) && automaton.is_match(state) {
            // A state has its matches in the order of their lengths: its own, then those of the states behind its failure link.
            let matches = automaton.match_len(state);
            left_out += matches.saturating_sub(MATCHES_AT_MAX) as u64;
            for at in 0..matches.min(MATCHES_AT_MAX) {
                let pattern = indexes[automaton.match_pattern(state, at).as_usize()];
                found(Hit { end: index + 1, pattern });
            }
        }
    }
    *kept = Some(state);
    left_out
}
