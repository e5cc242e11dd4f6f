//! The language: text, tokens, tree, types, and text again.

mod ast;
mod builtin;
mod check;
mod lexer;
mod literal;
mod parser;
mod print;

pub(crate) use ast::mask;
pub use ast::{Argument, Comparator, Function, Network, Predicate, Term};
pub use builtin::{BUILTINS, Builtin, BuiltinKind, COUNTERS, Group, Id, Parameter, SAMPLES_MAX, key};

use crate::error::{Error, Position};

/// A checked program: what every step means is known, and every argument has the right type.
#[derive(Clone, Debug)]
pub struct Program {
    /// The steps, from left to right.
    pub main: Function,
    /// The text that was parsed.
    pub(crate) text: String,
    /// Where each name of the language was used first, for errors that come later.
    pub(crate) places: Vec<(&'static str, Position)>,
}

impl Program {
    /// Parses and checks a program: one expression, steps on separate lines, or `main = do` and steps; lines may have
    /// the leading `>` of a configuration file.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and column and what to write instead.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let parsed = lexer::tokens(text).and_then(|tokens| parser::parse(&tokens)).and_then(|tree| check::check(&tree));
        match parsed {
            Ok((main, places)) => Ok(Self { main, text: text.to_owned(), places }),
            Err(error) => Err(error.with_excerpt(text)),
        }
    }

    /// An error about a function that the program uses, pointing at its first use.
    pub(crate) fn error_at(&self, name: &str, message: String, hint: &str) -> Error {
        let at = self.places.iter().find(|place| place.0 == name).map_or(Position { line: 1, column: 1 }, |p| p.1);
        Error::new(at, message, hint).with_excerpt(&self.text)
    }
}

impl PartialEq for Program {
    /// Programs are equal when they mean the same, however they were written.
    fn eq(&self, other: &Self) -> bool {
        self.main == other.main
    }
}

#[cfg(test)]
mod tests;
