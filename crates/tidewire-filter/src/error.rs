use std::borrow::Cow;

use tidewire_ebpf::{TranslateError, classic::ProgramError};

/// A filter that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The expression is not valid, or not for this link type.
    #[error("filter \"{}\" cannot be used on link type {link}: {message}", beginning(expression))]
    Expression {
        /// The expression.
        expression: String,
        /// The link type's name and number.
        link: String,
        /// The message of libpcap, or why it cannot run in the kernel.
        message: String,
    },
    /// An invalid program.
    #[error("the filter program cannot be used: {0}")]
    Program(ProgramError),
    /// A program that cannot run in the kernel.
    #[error("the filter program cannot be used: {0}")]
    Kernel(TranslateError),
}

impl From<ProgramError> for Error {
    fn from(error: ProgramError) -> Self {
        Self::Program(error)
    }
}

impl From<TranslateError> for Error {
    fn from(error: TranslateError) -> Self {
        Self::Kernel(error)
    }
}

/// The first 200 characters of a long text, which says enough of an expression that a program made.
fn beginning(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(200) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}
