//! Aho-Corasick: one step for each byte; the state is all that is kept between pieces.

use aho_corasick::{Anchored, MatchKind, StartKind, automaton::StateID, dfa::DFA, nfa::contiguous::NFA};

use super::{Hit, Pattern};

/// Most bytes of all patterns for a full transition table; each state takes up to 1 KiB.
const DFA_BYTES_MAX: usize = 256 << 10;

/// The patterns as an automaton.
pub enum Automaton {
    /// With a full transition table.
    Dfa(DFA),
    /// Compact: follows failure transitions.
    Nfa(NFA),
}

impl Automaton {
    pub(super) fn new(patterns: &[Pattern], ignore_case: bool) -> Result<Self, String> {
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
        built.map_err(|error| format!("too many patterns: {error}"))
    }

    pub(super) fn find(&self, state: &mut Option<StateID>, piece: &[u8], found: &mut impl FnMut(Hit)) {
        match self {
            Self::Dfa(automaton) => step_through(automaton, state, piece, found),
            Self::Nfa(automaton) => step_through(automaton, state, piece, found),
        }
    }
}

#[inline]
fn step_through<A: aho_corasick::automaton::Automaton>(
    automaton: &A,
    kept: &mut Option<StateID>,
    piece: &[u8],
    found: &mut impl FnMut(Hit),
) {
    let start = kept.or_else(|| automaton.start_state(Anchored::No).ok());
    let Some(mut state) = start else { return };
    for (index, &byte) in piece.iter().enumerate() {
        state = automaton.next_state(Anchored::No, state, byte);
        if automaton.is_special(state) && automaton.is_match(state) {
            for at in 0..automaton.match_len(state) {
                let pattern = automaton.match_pattern(state, at).as_u32();
                found(Hit { end: index + 1, pattern });
            }
        }
    }
    *kept = Some(state);
}
