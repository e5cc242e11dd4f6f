//! Results against independent answers.
//!
//! The large corpus (2,737 captures of other projects' test suites, with answers worked out by other programs) is
//! looked for at `../shared/corpus` beside the checkout, or where `TIDEWIRE_CORPUS` points; where it is absent the
//! tests that need it say so and pass. The project's own captures in `tests/corpus/` are always run.
//! See `docs/corpus.md`.

#[path = "../common/mod.rs"]
mod common;
mod conversations;
mod corpus;
mod damage;
mod datagrams;
mod defaults;
mod doubts;
mod expectations;
mod library;
mod matching;
mod merged;
mod oracle;
mod own;
mod protocols;
mod record;
mod robustness;
#[cfg(feature = "live")]
mod secrets;
mod suricata;
mod wrap;
mod zeek;
