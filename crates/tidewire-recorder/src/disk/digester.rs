//! The thread that computes the digests of segments: on a machine with several cores it does not delay the next write.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};
use tidewire_archive::{Digest, FolderFile, SegmentWriter};

use super::{closer::Closing, slots::Slot, written::Written};
use crate::{
    buffer::{Buffer, Pool},
    segment::Ending,
};

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Digesting {
    /// A segment begins; one before that was not completed was given up.
    Begin(Box<Digest>),
    /// Was written.
    Data(Buffer),
    /// All was written. The digest is in the writer if nothing began.
    End(Box<SegmentWriter<FolderFile>>, Written, Box<Ending>, Slot),
}

pub(crate) struct Digester {
    pub jobs: Receiver<Digesting>,
    pub closer: Sender<Closing>,
    pub pool: Arc<Pool>,
}

impl Digester {
    /// Works until nothing more comes.
    pub fn run(self) {
        let mut current = None;
        for job in &self.jobs {
            match job {
                Digesting::Begin(digest) => current = Some(digest),
                Digesting::Data(buffer) => {
                    if let Some(digest) = &mut current {
                        digest.update(buffer.content());
                    }
                    self.pool.give(buffer);
                }
                Digesting::End(mut writer, written, ending, slot) => {
                    if let Some(digest) = current.take() {
                        writer.give_digest(*digest);
                    }
                    let _ = self.closer.send(Closing::Segment(writer, written, ending, slot));
                }
            }
        }
    }
}
