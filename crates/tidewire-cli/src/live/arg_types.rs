//! Types of option values about interfaces.

use clap::ValueEnum;
use tidewire::live::{Fanout, FanoutMode, LiveEngine};

use crate::error::CliError;

/// See [`LiveEngine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    Auto,
    Packet,
    Xdp,
    XdpGeneric,
}

impl From<EngineName> for LiveEngine {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Auto => Self::Auto,
            EngineName::Packet => Self::Packet,
            EngineName::Xdp => Self::Xdp,
            EngineName::XdpGeneric => Self::XdpGeneric,
        }
    }
}

/// Parses `7` or `any`, then `hash,defrag`.
pub fn fanout(words: &[String]) -> Result<Fanout, CliError> {
    let wrong = |what: String| Err(CliError::Usage(format!("--fanout: {what}")));
    let [group, mode] = words else { return wrong("expected a group and a mode, as in 7 hash".into()) };
    let number = match group.as_str() {
        "any" => None,
        text => match text.parse() {
            Ok(number) => Some(number),
            Err(_) => return wrong(format!("group must be 0 to 65535 or any, got '{text}'")),
        },
    };
    let mut parts = mode.split(',').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let Some(&(_, mode)) = FanoutMode::ALL.iter().find(|(known, _)| *known == name) else {
        let known: Vec<_> = FanoutMode::ALL.iter().map(|(known, _)| *known).collect();
        return wrong(format!("unknown mode '{name}'; expected {}", known.join(", ")));
    };
    let mut fanout = Fanout::new(mode).with_group(number);
    for flag in parts {
        match flag {
            "defrag" => fanout.set_defrag(true),
            "rollover" => fanout.set_rollover(true),
            other => return wrong(format!("unknown flag '{other}'; expected defrag or rollover")),
        }
    }
    Ok(fanout)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(group: &str, mode: &str) -> Result<Fanout, String> {
        fanout(&[group.to_owned(), mode.to_owned()]).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn groups_and_modes() {
        let hash = Fanout::new(FanoutMode::Hash).with_group(7);
        assert_eq!(read("7", "hash"), Ok(hash));
        assert_eq!(read("any", "hash,defrag"), Ok(hash.with_group(None).with_defrag(true)));
        let both = hash.with_mode(FanoutMode::RoundRobin).with_defrag(true).with_rollover(true);
        assert_eq!(read("7", "lb,rollover,defrag"), Ok(both));
        for (group, mode, said) in [
            ("65536", "hash", "65536"),
            ("-1", "hash", "-1"),
            ("7", "hsh", "'hsh'"),
            ("7", "hash,x", "'x'"),
            ("7", "", "mode"),
        ] {
            assert!(read(group, mode).unwrap_err().contains(said), "{group} {mode}");
        }
    }
}
