//! Advice behind errors of live captures, with the options of this command.

use std::fmt;

use tidewire::live::{InterfaceReport, LiveError};
use tidewire_live::{Operation, SettingError};

/// A remedy for an error.
pub fn hint(error: &LiveError) -> Option<String> {
    let hint = match error {
        LiveError::Kernel(error) if *error.operation() == Operation::Confine => "--no-sandbox runs without confinement",
        LiveError::Privilege { capabilities, .. } if capabilities.contains("cap_perfmon") => {
            return error.hint().map(|hint| hint + " (--engine packet, no --steer)");
        }
        LiveError::Setting(SettingError::CutoffsWithDuplicates) => {
            "leave cutoffs to the engine (--kernel-flows 0), or steer to one worker"
        }
        LiveError::Setting(SettingError::XdpOnHost { .. }) => "use --tap on a mirror port, or packet sockets",
        error => return error.hint(),
    };
    Some(hint.to_owned())
}

/// Prints an error and, where there is one, its hint.
pub struct WithHint<'a>(pub &'a LiveError);

impl fmt::Display for WithHint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match hint(self.0) {
            Some(hint) => write!(f, "{}; {hint}", self.0),
            None => self.0.fmt(f),
        }
    }
}

/// How an interface's frames are captured, and which option makes it faster.
pub fn described(interface: &InterfaceReport) -> String {
    const HOST: &str = "AF_XDP would divert host traffic";
    interface.description.replace(HOST, &format!("{HOST}; use --tap on a mirror port"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_options() {
        let advice = |error: SettingError| WithHint(&error.into()).to_string();
        assert!(advice(SettingError::CutoffsWithDuplicates).contains("(--kernel-flows 0)"));
        assert!(
            advice(SettingError::XdpOnHost { interface: "lo".into() })
                .ends_with("; use --tap on a mirror port, or packet sockets")
        );
        assert!(advice(SettingError::FilterTwice).ends_with("; leave one of them out"));
        let capabilities = "cap_bpf,cap_perfmon".to_owned();
        let hint = hint(&LiveError::Privilege { what: "programs".into(), capabilities });
        assert!(hint.is_some_and(|hint| hint.ends_with(" (--engine packet, no --steer)")));
    }
}
