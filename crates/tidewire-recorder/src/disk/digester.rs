//! The thread that compresses segments, or computes their digests and checksums, before they are written: on a machine with several cores
//! no write waits for it.

use crossbeam_channel::{Receiver, Sender};
use tidewire_archive::{Compression, Digest};

use super::writer::Job;
use crate::buffer::Buffer;

pub(crate) struct Digester {
    pub jobs: Receiver<Job>,
    pub writer: Sender<Job>,
    pub compression: Compression,
    /// Whether segments hold their blocks as they are; otherwise the writer computes both of what it stores.
    pub is_plain: bool,
}

impl Digester {
    /// Works until nothing more comes.
    pub fn run(self) {
        let mut current = None;
        let mut spare = if self.compression == Compression::None { Vec::new() } else { Buffer::spare() };
        for mut job in &self.jobs {
            match &mut job {
                Job::Begin(_) => current = self.is_plain.then(|| Box::new(Digest::new())),
                Job::Data(buffer) => {
                    if let Some(digest) = &mut current {
                        buffer.compute_checksums();
                        digest.update(buffer.content());
                    }
                    if self.compression != Compression::None {
                        buffer.compress(self.compression, &mut spare);
                    }
                }
                Job::End(ending) => ending.digest = current.take(),
            }
            // It outlives its sender.
            let _ = self.writer.send(job);
        }
    }
}
