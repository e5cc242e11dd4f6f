//! The system's error inside of a library's error.

use std::io;

/// The system's error somewhere inside of a library's.
pub(crate) fn system_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a io::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error);
        }
        next = error.source();
    }
    None
}
