//! Names and types: a tree becomes a program, or an error says what is missing where.

use super::ast::{Argument, Comparator, Function, Predicate, Term, address_bits};
use super::builtin::{ABSENT, ALIASES, BUILTINS, Builtin, BuiltinKind, Group, Id, OFFSET_MAX, Parameter, key};
use super::lexer::Operator;
use super::literal;
use super::parser::{Node, Tree};
use crate::error::{Error, Position};

/// Terms in one program, at most: enough for any use, and few enough to compile.
const TERMS_MAX: usize = 1000;

type Places = Vec<(&'static str, Position)>;

/// The checked program, and where each name was used first.
pub(crate) fn check(tree: &Tree) -> Result<(Function, Places), Error> {
    let mut checker = Checker { places: Vec::new(), terms: 0 };
    let main = checker.function(tree)?;
    Ok((main, checker.places))
}

struct Checker {
    places: Places,
    terms: usize,
}

impl Checker {
    fn function(&mut self, tree: &Tree) -> Result<Function, Error> {
        match &tree.node {
            Node::Steps(steps) => {
                let mut flat = Function::default();
                for step in steps {
                    flat.steps.append(&mut self.function(step)?.steps);
                }
                Ok(flat)
            }
            Node::Name(name, arguments) => {
                let term = self.term(name, arguments, tree.at, BuiltinKind::Function)?;
                Ok(Function { steps: vec![term] })
            }
            _ => Err(mismatch(
                tree,
                "a function",
                "a function is `steer_flow`, `tcp`, `when (has_port 53) (steer_to 0)`",
            )),
        }
    }

    fn predicate(&mut self, tree: &Tree) -> Result<Predicate, Error> {
        match &tree.node {
            Node::Infix(Operator::Compare(comparator), left, right) => self.comparison(*comparator, left, right),
            Node::Infix(operator, left, right) => {
                let (left, right) = (Box::new(self.predicate(left)?), Box::new(self.predicate(right)?));
                Ok(match operator {
                    Operator::And => Predicate::And(left, right),
                    Operator::Or => Predicate::Or(left, right),
                    _ => Predicate::Xor(left, right),
                })
            }
            Node::Name(name, arguments) => self.named_predicate(name, arguments, tree.at),
            _ => Err(mismatch(
                tree,
                "a predicate",
                "a predicate is `is_tcp`, `has_port 53`, `ip_ttl < 5`, `not is_frag`",
            )),
        }
    }

    fn named_predicate(&mut self, name: &str, arguments: &[Tree], at: Position) -> Result<Predicate, Error> {
        if let (Some(comparator), [property, number]) = (Comparator::named(name), arguments) {
            return self.comparison(comparator, property, number);
        }
        let mut term = self.term(name, arguments, at, BuiltinKind::Predicate)?;
        Ok(match (term.builtin.id, term.arguments.pop()) {
            (Id::Not, Some(Argument::Predicate(inner))) => Predicate::Not(Box::new(inner)),
            (_, last) => {
                term.arguments.extend(last);
                Predicate::Term(term)
            }
        })
    }

    /// A property and a number, in either order.
    fn comparison(&mut self, comparator: Comparator, left: &Tree, right: &Tree) -> Result<Predicate, Error> {
        let (comparator, property, number) = match (&left.node, &right.node) {
            (Node::Number(_), Node::Name(..)) => (comparator.turned(), right, left),
            _ => (comparator, left, right),
        };
        let Node::Name(name, arguments) = &property.node else {
            return Err(mismatch(property, "a property", "a property is `ip_ttl`, `tcp_dest`, `get_mark`"));
        };
        let term = self.term(name, arguments, property.at, BuiltinKind::Property)?;
        let Node::Number(number) = number.node else {
            return Err(mismatch(number, "a number", "a property is compared with a number: `ip_ttl < 5`"));
        };
        Ok(Predicate::Compare(comparator, term, number))
    }

    /// A name of this kind, with its arguments.
    fn term(&mut self, name: &str, given: &[Tree], at: Position, wanted: BuiltinKind) -> Result<Term, Error> {
        let name = ALIASES.iter().find(|alias| alias.0 == name).map_or(name, |alias| alias.1);
        let builtin = Builtin::named(name).ok_or_else(|| unknown(name, at))?;
        self.terms += 1;
        if self.terms > TERMS_MAX {
            return Err(Error::new(at, format!("the program has more than {TERMS_MAX} names"), "make it smaller"));
        }
        if !self.places.iter().any(|place| place.0 == builtin.name) {
            self.places.push((builtin.name, at));
        }
        if builtin.kind != wanted {
            return Err(wrong_kind(builtin, wanted, at));
        }
        let parameters = builtin.parameters;
        if let Some(extra) = given.get(parameters.len()) {
            if let Some(error) = given.iter().find_map(without_parentheses) {
                return Err(error);
            }
            let message = format!("`{name}` takes {}, and this is one more", count(parameters.len()));
            return Err(Error::new(extra.at, message, usage(builtin)));
        }
        if given.len() < parameters.len() {
            let message = format!("`{name}` takes {}, and {} given", count(parameters.len()), given_count(given.len()));
            return Err(Error::new(at, message, usage(builtin)));
        }
        let arguments = parameters.iter().zip(given).map(|(parameter, tree)| self.argument(*parameter, tree, builtin));
        let term = Term { builtin, arguments: arguments.collect::<Result<_, _>>()? };
        limits(&term, given)?;
        Ok(term)
    }

    fn argument(&mut self, parameter: Parameter, tree: &Tree, of: &Builtin) -> Result<Argument, Error> {
        let wrong = |what: &str| Err(mismatch(tree, what, &usage(of)));
        Ok(match (parameter, &tree.node) {
            (Parameter::Function, _) => Argument::Function(self.function(tree)?),
            (Parameter::Predicate, _) => Argument::Predicate(self.predicate(tree)?),
            (Parameter::Number(most), _) => Argument::Number(number(tree, 0, most, of)?),
            (Parameter::Positive(most), _) => Argument::Number(number(tree, 1, most, of)?),
            (Parameter::Numbers(most), Node::List(items)) if !items.is_empty() => {
                Argument::Numbers(items.iter().map(|item| number(item, 0, most, of)).collect::<Result<_, _>>()?)
            }
            (Parameter::Numbers(_), _) => return wrong("a list of numbers, as [1, 2, 3],"),
            (Parameter::Network, Node::Address(text)) => match literal::network(text) {
                Some(network) => Argument::Network(network),
                None => return wrong("a network, as 192.168.0.0/16 or 2001:db8::/32,"),
            },
            (Parameter::Network, _) => return wrong("a network, as 192.168.0.0/16 or 2001:db8::/32,"),
            (Parameter::Address, Node::Address(text)) => match text.parse() {
                Ok(address) => Argument::Address(address),
                Err(_) => return wrong("an address, as 192.168.0.0 or 2001:db8::,"),
            },
            (Parameter::Address, _) => return wrong("an address, as 192.168.0.0 or 2001:db8::,"),
            (Parameter::Mac, Node::Address(text)) => match literal::mac(text) {
                Some(mac) => Argument::Mac(mac),
                None => return wrong("a MAC, as 4c:60:de:86:55:46,"),
            },
            (Parameter::Mac, _) => return wrong("a MAC, as 4c:60:de:86:55:46,"),
            (Parameter::Key, _) => Argument::Key(key_of(tree, of)?),
            (Parameter::Property, _) => return wrong("a property"),
        })
    }
}

/// An argument that takes arguments itself but has none, because parentheses are missing.
fn without_parentheses(tree: &Tree) -> Option<Error> {
    let Node::Name(name, arguments) = &tree.node else { return None };
    let builtin = Builtin::named(name).filter(|b| arguments.is_empty() && !b.parameters.is_empty())?;
    let message = format!("`{name}` takes {}, and none is given", count(builtin.parameters.len()));
    Some(Error::new(tree.at, message, format!("{}; put it in parentheses with its arguments", usage(builtin))))
}

/// Rules that types do not express.
fn limits(term: &Term, given: &[Tree]) -> Result<(), Error> {
    use Argument::{Address, Number};
    let at = |index: usize| given.get(index).map_or_else(Position::default, |tree| tree.at);
    match (term.builtin.id, term.arguments.as_slice()) {
        (Id::SteerLocalNet, [Address(address), Number(prefix), Number(sub)]) => {
            let bits = u64::from(address_bits(*address));
            if *prefix > bits || *sub > bits {
                let index = if *prefix > bits { 1 } else { 2 };
                return Err(Error::new(at(index), format!("this address has {bits} bits"), "give prefixes up to that"));
            }
            if sub < prefix {
                let message = format!("the subnetwork's prefix {sub} is shorter than the network's {prefix}");
                return Err(Error::new(
                    at(2),
                    message,
                    "first the network's prefix, then that of the subnetworks in it",
                ));
            }
            Ok(())
        }
        (Id::SteerField, [Number(offset), Number(bytes)]) => field(*offset, *bytes, at(0)),
        (Id::SteerFieldSymmetric | Id::DoubleSteerField, [Number(first), Number(second), Number(bytes)]) => {
            field(*first, *bytes, at(0))?;
            field(*second, *bytes, at(1))
        }
        _ => Ok(()),
    }
}

/// The index of the outermost VLAN tag, which the network card may have removed from the frame.
const TAG_AT: u64 = 12;

fn field(offset: u64, bytes: u64, at: Position) -> Result<(), Error> {
    if offset < TAG_AT && offset + bytes > TAG_AT {
        let message = format!(
            "a field of {bytes} bytes at {offset} lies on both sides of byte {TAG_AT}, where a VLAN tag may stand"
        );
        return Err(Error::new(
            at,
            message,
            "the outermost tag does not count: take the part before byte 12 or that from 12 on",
        ));
    }
    if offset + bytes > OFFSET_MAX {
        return Err(Error::new(
            at,
            format!("the field ends behind byte {OFFSET_MAX}"),
            "fields lie in a frame's first bytes",
        ));
    }
    Ok(())
}

fn number(tree: &Tree, least: u64, most: u64, of: &Builtin) -> Result<u64, Error> {
    let Node::Number(number) = tree.node else { return Err(mismatch(tree, "a number", &usage(of))) };
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    let message = format!("{number} is no argument of `{}`: from {least} to {most}", of.name);
    Err(Error::new(tree.at, message, usage(of)))
}

/// A key's fields: one name, or a list of names.
fn key_of(tree: &Tree, of: &Builtin) -> Result<u16, Error> {
    match &tree.node {
        Node::Name(name, arguments) if arguments.is_empty() => {
            key::NAMES.iter().find(|known| known.0 == name).map(|known| known.1).ok_or_else(|| {
                let names: Vec<_> = key::NAMES.iter().map(|known| known.0).collect();
                Error::new(
                    tree.at,
                    format!("`{name}` is no field of a key"),
                    format!("fields are {}", names.join(", ")),
                )
            })
        }
        Node::List(items) if !items.is_empty() => {
            items.iter().try_fold(0, |fields, item| Ok(fields | key_of(item, of)?))
        }
        _ => Err(mismatch(tree, "a key, as key_5tuple or [key_ip_src, key_ip_proto],", &usage(of))),
    }
}

/// Describes a tree, for errors.
fn describe(tree: &Tree) -> String {
    match &tree.node {
        Node::Name(name, _) => match Builtin::named(name) {
            Some(builtin) => format!("`{name}` is {}", builtin.kind.text()),
            None => format!("`{name}` is not a name of the language"),
        },
        Node::Number(number) => format!("{number} is a number"),
        Node::Address(text) => format!("`{text}` is an address or text"),
        Node::List(_) => "this is a list".into(),
        Node::Infix(operator, ..) => format!("`{}` makes a predicate", operator.text()),
        Node::Steps(_) => "these are steps, a function".into(),
    }
}

fn mismatch(tree: &Tree, wanted: &str, hint: &str) -> Error {
    Error::new(tree.at, format!("{wanted} is expected here, and {}", describe(tree)), hint)
}

fn wrong_kind(builtin: &Builtin, wanted: BuiltinKind, at: Position) -> Error {
    let message = format!("{} is expected here, and `{}` is {}", wanted.text(), builtin.name, builtin.kind.text());
    let hint = match (builtin.kind, wanted) {
        (BuiltinKind::Predicate, BuiltinKind::Function) => {
            format!("make a step of it: `filter ({})`, or use it in `when`", builtin.name)
        }
        (BuiltinKind::Function, BuiltinKind::Predicate) if builtin.group == Group::Filter => {
            let twin = BUILTINS.iter().find(|b| {
                b.kind == BuiltinKind::Predicate
                    && b.name.trim_start_matches("is_").trim_start_matches("has_") == builtin.name
            });
            twin.map_or_else(String::new, |twin| format!("its predicate is `{}`", twin.name))
        }
        (BuiltinKind::Property, _) => format!("compare it: `{} == 1`", builtin.name),
        _ => String::new(),
    };
    Error::new(at, message, hint)
}

/// How a name is used.
fn usage(builtin: &Builtin) -> String {
    let parameters = builtin.parameters.iter().map(|parameter| match parameter {
        Parameter::Number(most) => format!(" (number up to {most})"),
        Parameter::Positive(most) => format!(" (number from 1 to {most})"),
        Parameter::Numbers(most) => format!(" [numbers up to {most}]"),
        Parameter::Network => " (network)".into(),
        Parameter::Address => " (address)".into(),
        Parameter::Mac => " (MAC)".into(),
        Parameter::Key => " (key)".into(),
        Parameter::Function => " (function)".into(),
        Parameter::Predicate => " (predicate)".into(),
        Parameter::Property => " (property)".into(),
    });
    format!("it is written: {}{}", builtin.name, parameters.collect::<String>())
}

fn count(arguments: usize) -> String {
    match arguments {
        0 => "no argument".into(),
        1 => "one argument".into(),
        more => format!("{more} arguments"),
    }
}

fn given_count(arguments: usize) -> String {
    match arguments {
        0 => "none is".into(),
        1 => "one is".into(),
        more => format!("{more} are"),
    }
}

fn unknown(name: &str, at: Position) -> Error {
    if let Some((_, hint)) = ABSENT.iter().find(|absent| absent.0 == name) {
        return Error::new(at, format!("`{name}` is not part of this language"), *hint);
    }
    let message = format!("`{name}` is not a name of the language");
    let near = BUILTINS.iter().map(|builtin| (distance(name, builtin.name), builtin.name)).min();
    let hint = match near {
        Some((steps, near)) if steps <= 1 + name.len() / 4 => format!("did you mean `{near}`?"),
        _ => "docs/steering.md lists the names".to_owned(),
    };
    Error::new(at, message, hint)
}

/// Edit distance: letters to add, remove or change.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (y, cell) in b.bytes().zip(row.iter_mut().skip(1)) {
            let best = (diagonal + usize::from(x != y)).min(*cell + 1).min(left + 1);
            diagonal = *cell;
            *cell = best;
            left = best;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}
