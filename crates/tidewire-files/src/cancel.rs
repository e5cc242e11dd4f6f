use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Ends reading from outside: an input that gives nothing, and one that is not open yet because it has no writer, end as soon as the
/// flag is set. [`Error::Read`](crate::Error::Read) has the cause `Interrupted` then.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Option<Arc<AtomicBool>>);

impl Cancel {
    /// Reading ends once `flag` is set.
    #[must_use]
    pub fn by(flag: &Arc<AtomicBool>) -> Self {
        Self(Some(Arc::clone(flag)))
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// An error where the flag is set.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.is_set() { Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted")) } else { Ok(()) }
    }
}
