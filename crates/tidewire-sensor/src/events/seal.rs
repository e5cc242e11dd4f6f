//! Encrypts what is stored, where there are recipients.

use std::time::{Duration, Instant};

use tidewire_event_store::{Batch, Recipients, SealError, Sealer};
use tidewire_events::Record;

/// A data key is used for so long: who gets hold of one reads no more than that.
const KEY_TIME: Duration = Duration::from_secs(86_400);

/// Makes rows of records that only recipients can read.
pub(super) struct Seal {
    recipients: Recipients,
    sealer: Sealer,
    made: Instant,
    /// The key is not in a batch yet.
    owes_key: bool,
    is_first: bool,
}

impl Seal {
    pub(super) fn new(recipients: &[String]) -> Result<Self, SealError> {
        let recipients = Recipients::parse(recipients)?;
        let sealer = Sealer::new(&recipients)?;
        Ok(Self { recipients, sealer, made: Instant::now(), owes_key: true, is_first: true })
    }

    /// Puts sealed records into a batch, with their key before them.
    pub(super) fn seal(&mut self, records: &[Record], batch: &mut Batch) -> Result<(), SealError> {
        if self.made.elapsed() >= KEY_TIME {
            self.sealer = Sealer::new(&self.recipients)?;
            (self.made, self.owes_key) = (Instant::now(), true);
        }
        batch.rows = records.iter().map(|record| self.sealer.seal(record)).collect::<Result<_, _>>()?;
        if std::mem::take(&mut self.owes_key) {
            batch.keys.push(self.sealer.key());
        }
        // A state of folding would be plain; one of a process before this one may be there.
        batch.state = std::mem::take(&mut self.is_first).then(Vec::new);
        Ok(())
    }
}
