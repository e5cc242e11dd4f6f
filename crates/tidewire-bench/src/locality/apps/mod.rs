//! Applications with tables of any size.

mod application;
mod flows;
mod ngrams;
mod rules;

pub use application::Application;
pub use flows::Flows;
pub use ngrams::Ngrams;
pub use rules::Rules;

/// Which application, and how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// An intrusion detection system's search: a set of patterns for each service.
    Rules,
    /// A flow probe: a record for each flow.
    Flows,
    /// A detector of unusual content: a Bloom filter of 5-grams for each service (Anagram, RAID 2006).
    Ngrams,
}

impl Kinds {
    /// All.
    pub const ALL: [Self; 3] = [Self::Rules, Self::Flows, Self::Ngrams];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Flows => "flows",
            Self::Ngrams => "ngrams",
        }
    }

    /// Builds it. `size`: patterns of a service, flows already in the table, or KiB of a service's filter.
    #[must_use]
    pub fn build(self, size: u64) -> Box<dyn Application> {
        match self {
            Self::Rules => Box::new(Rules::new(size)),
            Self::Flows => Box::new(Flows::new(size)),
            Self::Ngrams => Box::new(Ngrams::new(size)),
        }
    }
}
