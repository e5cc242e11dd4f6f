//! The syntax tree of a checked program.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::builtin::Builtin;

/// Steps from left to right.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Function {
    /// Each step is a function of the language with its arguments.
    pub steps: Vec<Term>,
}

/// A name of the language with its arguments, which have the right types and number.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Term {
    /// The name.
    pub builtin: &'static Builtin,
    /// Its arguments.
    pub arguments: Vec<Argument>,
}

/// An argument.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Argument {
    /// A number.
    Number(u64),
    /// A list of numbers.
    Numbers(Vec<u64>),
    /// A network.
    Network(Network),
    /// An address.
    Address(IpAddr),
    /// A MAC.
    Mac([u8; 6]),
    /// The fields of `steer_key`, see [`super::key`].
    Key(u16),
    /// A function.
    Function(Function),
    /// A predicate.
    Predicate(Predicate),
}

/// A condition on packets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Predicate {
    /// A predicate of the language.
    Term(Term),
    /// `not`
    Not(Box<Self>),
    /// `.&&.`
    And(Box<Self>, Box<Self>),
    /// `.||.`
    Or(Box<Self>, Box<Self>),
    /// `.^^.`
    Xor(Box<Self>, Box<Self>),
    /// A property compared with a number; false if the packet has no such property.
    Compare(Comparator, Term, u64),
}

/// How a property is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Comparator {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `==`
    Equal,
    /// `/=`
    NotEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// At least one of these bits is set.
    AnyBit,
    /// All of these bits are set.
    AllBit,
}

impl Comparator {
    /// The operator as written.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Equal => "==",
            Self::NotEqual => "/=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::AnyBit => "any_bit",
            Self::AllBit => "all_bit",
        }
    }

    /// The two operators that are names.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "any_bit" => Some(Self::AnyBit),
            "all_bit" => Some(Self::AllBit),
            _ => None,
        }
    }

    /// The operator with its sides exchanged.
    pub(crate) fn turned(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            other => other,
        }
    }
}

/// A network: an address with zeros behind its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// The network of this address; `None` if the prefix is longer than the address.
    #[must_use]
    pub fn new(address: IpAddr, prefix: u8) -> Option<Self> {
        if prefix > address_bits(address) {
            return None;
        }
        let mask = mask(prefix, address_bits(address));
        let address = match address {
            IpAddr::V4(address) => IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask as u32)),
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask)),
        };
        Some(Self { address, prefix })
    }

    /// Its first address.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Number of bits that belong to the network.
    #[must_use]
    pub fn prefix(&self) -> u8 {
        self.prefix
    }
}

/// Number of bits of an address of this family.
pub(crate) fn address_bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The mask of a prefix in an address of this many bits, in the lowest bits.
pub(crate) fn mask(prefix: u8, bits: u8) -> u128 {
    let all = if bits >= 128 { u128::MAX } else { (1 << bits) - 1 };
    let host = u32::from(bits.saturating_sub(prefix));
    all & !(1_u128.checked_shl(host).unwrap_or(0).wrapping_sub(1))
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks() {
        assert_eq!(mask(0, 32), 0);
        assert_eq!(mask(8, 32), 0xff00_0000);
        assert_eq!(mask(32, 32), 0xffff_ffff);
        assert_eq!(mask(0, 128), 0);
        assert_eq!(mask(128, 128), u128::MAX);
        assert_eq!(mask(64, 128), u128::MAX << 64);
    }
}
