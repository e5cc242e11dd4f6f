use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use tidewire_core::Frame;
use tidewire_lab::random::Random;

use super::application::{Application, Groups, decoded, is_transport, payload};
use crate::locality::traffic;

/// A search for patterns, a set of them (a deterministic automaton) for each service.
pub struct Rules {
    groups: Groups,
    automata: Vec<AhoCorasick>,
    matches: u64,
}

impl Rules {
    /// This many patterns for each service, of two or three of its words: traffic often matches their beginning and rarely
    /// all of them.
    #[must_use]
    pub fn new(patterns: u64) -> Self {
        let automata = (0..Groups::COUNT as u64).map(|service| {
            let mut random = Random::new(service ^ 0x0072_756c);
            let patterns = (0..patterns.max(1)).map(|_| {
                let mut pattern = Vec::new();
                for word in 0..2 + random.below(2) {
                    if word > 0 {
                        pattern.push(b' ');
                    }
                    traffic::push_word(service, traffic::any_word(&mut random), &mut pattern);
                }
                pattern
            });
            AhoCorasick::builder()
                .kind(Some(AhoCorasickKind::DFA))
                .match_kind(MatchKind::Standard)
                .prefilter(false)
                .build(patterns)
        });
        // Omits an automaton that cannot be built (it would have too many states); the size shown is that of the others.
        Self { groups: Groups::new(), automata: automata.filter_map(Result::ok).collect(), matches: 0 }
    }
}

impl Application for Rules {
    #[inline(never)]
    fn packet(&mut self, frame: &Frame, bytes: &[u8]) {
        let decoded = decoded(frame, bytes);
        if !is_transport(&decoded) {
            return;
        }
        let group = self.groups.of(bytes, &decoded);
        if let Some(automaton) = self.automata.get(group) {
            self.matches += automaton.find_overlapping_iter(payload(bytes, &decoded)).count() as u64;
        }
    }

    fn found(&self) -> u64 {
        self.matches
    }

    fn table_bytes(&self) -> u64 {
        self.automata.iter().map(|automaton| automaton.memory_usage() as u64).sum()
    }
}
