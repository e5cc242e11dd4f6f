//! Types of option values, and their parsers.

use std::{net::IpAddr, str::FromStr};

use clap::ValueEnum;
use tidewire::Slicing;
use tidewire::{DefragPolicy, Direction, TcpPolicy};

use crate::units::Size;

/// See [`tidewire::Mode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
    Strict,
    Fast,
    Track,
}

/// See [`tidewire::ChecksumMode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ChecksumName {
    Auto,
    Verify,
    Ignore,
}

/// See [`tidewire::LinkAddresses`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LinkAddressesName {
    Compare,
    Ignore,
}

/// See [`tidewire::Duplicates`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DuplicatesName {
    Auto,
    Keep,
    Drop,
}

impl From<DuplicatesName> for tidewire::Duplicates {
    fn from(name: DuplicatesName) -> Self {
        match name {
            DuplicatesName::Auto => Self::Auto,
            DuplicatesName::Keep => Self::Keep,
            DuplicatesName::Drop => Self::Drop,
        }
    }
}

/// Treatment of TCP urgent data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UrgentName {
    Inline,
    Out,
}

/// Format of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatsFormat {
    Text,
    Json,
}

/// A policy that exists for TCP, for fragments, or for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    pub tcp: Option<TcpPolicy>,
    pub defrag: Option<DefragPolicy>,
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let policy = Self { tcp: name.parse().ok(), defrag: name.parse().ok() };
        if policy.tcp.is_none() && policy.defrag.is_none() {
            let (tcp, defrag) = (TcpPolicy::NAMES.join(", "), DefragPolicy::NAMES.join(", "));
            return Err(format!("unknown policy; expected for TCP: {tcp}; for fragments: {defrag}"));
        }
        Ok(policy)
    }
}

/// A network and its policy.
#[derive(Clone, Copy, Debug)]
pub struct TargetPolicy {
    pub network: IpAddr,
    pub prefix: u8,
    pub policy: Policy,
}

impl FromStr for TargetPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (network, policy) = split(text, "NET=POLICY, as in 10.1.0.0/16=windows")?;
        let (address, prefix) = match network.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (network, None),
        };
        let address: IpAddr = address.parse().map_err(|_| format!("invalid IP address '{address}'"))?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => bits,
            Some(text) => match text.parse() {
                Ok(prefix) if prefix <= bits => prefix,
                _ => return Err(format!("prefix length must be 0 to {bits}, got '{text}'")),
            },
        };
        Ok(Self { network: address, prefix, policy: policy.parse()? })
    }
}

/// A direction and its cutoff.
#[derive(Clone, Copy, Debug)]
pub struct DirectionCutoff(pub Direction, pub u64);

impl FromStr for DirectionCutoff {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (direction, size) = split(text, "c2s=SIZE or s2c=SIZE")?;
        Ok(Self(parse_direction(direction)?, size.parse::<Size>()?.0))
    }
}

/// Parses `c2s` or `s2c`, or the sender: `client` or `server`.
pub fn parse_direction(name: &str) -> Result<Direction, String> {
    match name {
        "c2s" | "client" => Ok(Direction::ClientToServer),
        "s2c" | "server" => Ok(Direction::ServerToClient),
        other => Err(format!("unknown direction '{other}'; expected c2s (client to server) or s2c (server to client)")),
    }
}

/// A class and its cutoff.
#[derive(Clone, Debug)]
pub struct ClassCutoff(pub String, pub u64);

impl FromStr for ClassCutoff {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (expression, size) = split(text, "EXPR=SIZE, as in 'port 443=16K'")?;
        Ok(Self(expression.into(), size.parse::<Size>()?.0))
    }
}

/// A class and its priority.
#[derive(Clone, Debug)]
pub struct ClassPriority(pub String, pub u8);

impl FromStr for ClassPriority {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (expression, level) = split(text, "EXPR=LEVEL, as in 'port 53=3'")?;
        match level.trim().parse() {
            Ok(level) if level < 8 => Ok(Self(expression.into(), level)),
            _ => Err(format!("priority must be 0 (lowest) to 7, got '{level}'")),
        }
    }
}

/// Splits at the last equals sign: expressions may hold others.
fn split<'a>(text: &'a str, form: &str) -> Result<(&'a str, &'a str), String> {
    match text.rsplit_once('=') {
        Some((left, right)) if !left.trim().is_empty() && !right.is_empty() => Ok((left.trim(), right)),
        _ => Err(format!("expected {form}")),
    }
}

/// The value of `--sliced`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sliced(pub Slicing);

impl FromStr for Sliced {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(match text {
            "auto" => Slicing::Auto,
            "never" => Slicing::Never,
            _ => Slicing::At(
                text.parse().map_err(|_| format!("invalid {text:?}: expected auto, never or a number of bytes"))?,
            ),
        }))
    }
}

/// Parses a whole number that fits its type.
pub fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("expected a whole number, 0 or more".into());
    }
    let most = u64::MAX >> (64 - 8 * size_of::<T>().min(8));
    let number = text.parse::<u64>().ok().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| format!("must be at most {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        assert_eq!(whole::<u8>("255"), Ok(255));
        assert_eq!(whole::<u64>("18446744073709551615"), Ok(u64::MAX));
        for wrong in ["-1", "1.5", "x", "", "1K"] {
            assert_eq!(whole::<u8>(wrong), Err("expected a whole number, 0 or more".into()));
        }
        assert_eq!(whole::<u8>("256"), Err("must be at most 255".into()));
        assert!(whole::<u64>("18446744073709551616").is_err());
    }
}
