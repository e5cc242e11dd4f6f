//! Methods of features that are off: calling one names the feature, instead of whatever else the compiler takes the name for.
//!
//! No type implements the traits, so that no such call compiles. `scripts/parts.sh` checks the messages.
#![allow(unused, missing_docs, reason = "no call of them compiles, and each feature leaves fewer of them")]

use crate::Capture;
#[cfg(not(feature = "filter"))]
use crate::{Application, StreamClass};

#[diagnostic::on_unimplemented(
    message = "this needs the feature `files` of tidewire, which is off",
    label = "the feature `files` is off",
    note = "in Cargo.toml: tidewire = {{ version = \"0.1\", features = [\"files\"] }}"
)]
pub trait FilesFeature: Unimplemented {}

#[diagnostic::on_unimplemented(
    message = "this needs the feature `filter` of tidewire, which is off",
    label = "the feature `filter` is off",
    note = "in Cargo.toml: tidewire = {{ version = \"0.1\", features = [\"filter\"] }}"
)]
pub trait FilterFeature: Unimplemented {}

#[diagnostic::on_unimplemented(
    message = "this needs the feature `live` of tidewire, which is off",
    label = "the feature `live` is off",
    note = "in Cargo.toml: tidewire = {{ version = \"0.1\", features = [\"live\"] }}"
)]
pub trait LiveFeature: Unimplemented {}

#[diagnostic::on_unimplemented(
    message = "this needs the feature `protocols` of tidewire, which is off",
    label = "the feature `protocols` is off",
    note = "in Cargo.toml: tidewire = {{ version = \"0.1\", features = [\"protocols\"] }}"
)]
pub trait ProtocolsFeature: Unimplemented {}

/// Implemented by no type.
pub trait Unimplemented {
    /// The outcome of a call that does not compile.
    fn never<T>(&self) -> T;
}

/// An item of an iterator that does not compile.
pub enum Never {}

#[cfg(not(feature = "filter"))]
#[doc(hidden)]
impl<I> Capture<I> {
    pub fn filter(self, expression: impl FilterFeature) -> Self {
        expression.never()
    }

    pub fn class(self, class: impl FilterFeature) -> Self {
        class.never()
    }
}

#[cfg(not(feature = "filter"))]
#[doc(hidden)]
impl<A> Application<A> {
    pub fn filter(self, expression: impl FilterFeature) -> Self {
        expression.never()
    }

    pub fn class(self, class: impl FilterFeature) -> Self {
        class.never()
    }
}

#[cfg(not(feature = "filter"))]
#[doc(hidden)]
impl StreamClass {
    pub fn matching<E: FilterFeature>(expression: E) -> Self {
        expression.never()
    }
}

#[cfg(all(feature = "live", not(feature = "files")))]
#[doc(hidden)]
impl<'a> Capture<crate::live::Interfaces<'a>> {
    pub fn file(input: impl FilesFeature) -> Self {
        input.never()
    }

    pub fn files(input: impl FilesFeature) -> Self {
        input.never()
    }

    pub fn reader(input: impl FilesFeature) -> Self {
        input.never()
    }

    pub fn source(input: impl FilesFeature) -> Self {
        input.never()
    }
}

#[cfg(not(feature = "protocols"))]
#[doc(hidden)]
impl<I> Capture<I> {
    pub fn transactions(self) -> Result<std::iter::Empty<Never>, crate::Error>
    where
        I: ProtocolsFeature,
    {
        self.input.never()
    }

    pub fn for_each_transaction<F>(self, _: F) -> Result<crate::Outcome<()>, crate::Error>
    where
        I: ProtocolsFeature,
    {
        self.input.never()
    }

    pub fn run_transactions<F>(self, _: F) -> Result<crate::Outcome<()>, crate::Error>
    where
        I: ProtocolsFeature,
    {
        self.input.never()
    }
}
