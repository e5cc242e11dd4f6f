//! The part that workers over files and over interfaces share.

use std::any::Any;

use tidewire_core::Classify;

/// A handler, and what classifies its streams.
pub(crate) type Worker<H> = (H, Option<Box<dyn Classify>>);

/// The message of a panic.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a message").into()
}
