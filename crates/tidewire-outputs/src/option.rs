//! Options that only some outputs have.

use crate::target::{Format, OutputDestination, Target};

/// An option of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputOption {
    /// Types of EVE's records.
    EveTypes,
    /// The private enterprise number of our elements.
    Enterprise,
    /// The interval between records of a stream that continues.
    ActiveTimeout,
    /// Messages a second.
    UdpRate,
    /// Limits of a file, after which the next one begins.
    Rotate,
    /// Bounds of the files that are complete.
    Keep,
}

impl OutputOption {
    /// The outputs that have it, for messages.
    #[must_use]
    pub fn outputs(self) -> &'static str {
        match self {
            Self::EveTypes => "EVE",
            Self::Enterprise => "IPFIX",
            Self::ActiveTimeout => "IPFIX and NetFlow",
            Self::UdpRate => "UDP",
            Self::Rotate | Self::Keep => "files",
        }
    }

    /// Whether an output has it.
    #[must_use]
    pub fn applies_to(self, target: &Target) -> bool {
        match self {
            Self::EveTypes => target.format == Format::Eve,
            Self::Enterprise => target.format.is_ipfix(),
            Self::ActiveTimeout => target.format.is_messages(),
            Self::UdpRate => matches!(target.place, OutputDestination::Udp(_)),
            Self::Rotate | Self::Keep => matches!(target.place, OutputDestination::Path(_)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OutputOption::{ActiveTimeout, Enterprise, EveTypes, Keep, Rotate, UdpRate};
    use super::*;

    #[test]
    fn outputs_have_the_options_of_their_format_and_place() {
        for (target, expected) in [
            ("eve:eve.json", &[EveTypes, Rotate, Keep][..]),
            ("eve:-", &[EveTypes]),
            ("json:flows.json", &[Rotate, Keep]),
            ("parquet:flows", &[Rotate, Keep]),
            ("ipfix:flows.ipfix", &[Enterprise, ActiveTimeout, Rotate, Keep]),
            ("ipfix-uniflow:tcp://192.0.2.1", &[Enterprise, ActiveTimeout]),
            ("netflow9:udp://192.0.2.1", &[ActiveTimeout, UdpRate]),
        ] {
            let target: Target = target.parse().unwrap();
            let found: Vec<_> = [EveTypes, Enterprise, ActiveTimeout, UdpRate, Rotate, Keep]
                .into_iter()
                .filter(|option| option.applies_to(&target))
                .collect();
            assert_eq!(found, expected, "{target}");
        }
    }
}
