//! Interface of destinations to the spooler. Each type of destination is one file or folder that implements it.

use std::{collections::BTreeMap, fmt, time::Duration};

use tidewire_event_store::{KeyId, Row};

use crate::protocol::StoreId;

/// Records that follow each other, on their way to a destination.
#[derive(Debug)]
pub struct Parcel<'a> {
    /// All records up to this one were sent before, or are not meant for this destination.
    pub after: u64,
    /// So are those up to this one, with this parcel.
    pub through: u64,
    /// The records, in order; none where none of these numbers is meant for this destination.
    pub rows: &'a [Row],
    /// The data keys that sealed ones need, wrapped for their recipients.
    pub keys: &'a BTreeMap<KeyId, Vec<u8>>,
}

/// Where a destination begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The sensor's store.
    pub store: StoreId,
    /// The last record that is known to be delivered there; 0: none.
    pub delivered: u64,
}

/// Why something was not delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The failure, with the address or path.
    pub text: String,
    /// A remedy.
    pub hint: Option<&'static str>,
}

impl Failure {
    /// Something that happened.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), hint: None }
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.hint.map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

/// A place where events go. It has a thread of its own, which may wait; the waits have an end.
///
/// After a failure it is closed, and opened again after a pause. What was sent and not acknowledged is sent again then, unless `open`
/// says that it is there.
pub trait Destination: Send {
    /// Its type: `collector`, `folder` …
    fn kind(&self) -> &'static str;

    /// Opens it. Returns the last record of this store that is durable there; `None`: it does not know, and sending goes on behind
    /// [`Start::delivered`].
    ///
    /// # Errors
    /// It cannot be reached, or refuses.
    fn open(&mut self, start: Start) -> Result<Option<u64>, Failure>;

    /// Sends a parcel. It need not be durable when this returns.
    ///
    /// # Errors
    /// It cannot be sent.
    fn send(&mut self, parcel: &Parcel<'_>) -> Result<(), Failure>;

    /// The last record up to which everything is durable there, as far as that is known within this time. Where it is the
    /// destination's own decision (a file that is full or old enough), it is made here when it is due.
    ///
    /// # Errors
    /// The connection is lost, or what is acknowledged was never sent.
    fn acknowledged(&mut self, wait: Duration) -> Result<u64, Failure>;

    /// Makes everything durable that was sent, where that is its own decision.
    ///
    /// # Errors
    /// It cannot.
    fn flush(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Ends a connection in good order. Called before a pause after a failure as well.
    fn close(&mut self) {}

    /// How many parcels may be sent before the first of them is acknowledged.
    fn window(&self) -> usize {
        crate::limits::WINDOW
    }

    /// Bytes sent so far, as they are on the network or in files.
    fn bytes(&self) -> u64;

    /// Records that cannot be sent in its form and were left out since the last call.
    fn left_out(&mut self) -> u64 {
        0
    }

    /// A warning for the operator, returned once: a certificate that expires soon.
    fn warning(&mut self) -> Option<String> {
        None
    }
}
