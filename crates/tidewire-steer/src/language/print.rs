//! A program as text, which parses to the same program.

use std::fmt::{self, Display, Formatter};

use super::ast::{Argument, Function, Predicate, Term};
use super::{Program, key};

impl Display for Program {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.main.fmt(out)
    }
}

impl Display for Function {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            if index > 0 {
                out.write_str(" >-> ")?;
            }
            step.fmt(out)?;
        }
        Ok(())
    }
}

impl Display for Term {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(self.builtin.name)?;
        self.arguments.iter().try_for_each(|argument| write!(out, " {argument}"))
    }
}

impl Display for Argument {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(out),
            Self::Numbers(numbers) => {
                let numbers: Vec<_> = numbers.iter().map(u64::to_string).collect();
                write!(out, "[{}]", numbers.join(", "))
            }
            Self::Network(network) => network.fmt(out),
            Self::Address(address) => address.fmt(out),
            Self::Mac([a, b, c, d, e, f]) => write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}"),
            Self::Key(fields) => key_text(*fields).fmt(out),
            Self::Function(function) => match function.steps.as_slice() {
                [only] if only.arguments.is_empty() => function.fmt(out),
                _ => write!(out, "({function})"),
            },
            Self::Predicate(predicate) => predicate.atom(out),
        }
    }
}

fn key_text(fields: u16) -> String {
    if let Some((name, _)) = key::NAMES.iter().find(|known| known.1 == fields) {
        return (*name).to_owned();
    }
    let single = key::NAMES.iter().filter(|known| known.1.is_power_of_two() && fields & known.1 != 0);
    format!("[{}]", single.map(|known| known.0).collect::<Vec<_>>().join(", "))
}

impl Predicate {
    /// In parentheses where it is more than a name.
    fn atom(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Term(term) if term.arguments.is_empty() => term.fmt(out),
            _ => write!(out, "({self})"),
        }
    }
}

impl Display for Predicate {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let infix = |out: &mut Formatter<'_>, left: &Self, operator: &str, right: &Self| {
            left.atom(out)?;
            write!(out, " {operator} ")?;
            right.atom(out)
        };
        match self {
            Self::Term(term) => term.fmt(out),
            Self::Not(inner) => {
                out.write_str("not ")?;
                inner.atom(out)
            }
            Self::And(left, right) => infix(out, left, ".&&.", right),
            Self::Or(left, right) => infix(out, left, ".||.", right),
            Self::Xor(left, right) => infix(out, left, ".^^.", right),
            Self::Compare(comparator, property, number) if comparator.text().starts_with('a') => {
                write!(out, "{} {property} {number}", comparator.text())
            }
            Self::Compare(comparator, property, number) => write!(out, "{property} {} {number}", comparator.text()),
        }
    }
}
