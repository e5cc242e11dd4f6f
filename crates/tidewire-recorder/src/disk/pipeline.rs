//! The stages of a worker behind its capture.

use std::{
    sync::Arc,
    thread::{self, JoinHandle},
};

use crossbeam_channel::{Sender, bounded, unbounded};

use super::{
    CLOSINGS_MAX, Targets,
    attempts::{Attempts, Deadline},
    closer::Closer,
    cores::Cores,
    digester::Digester,
    reserver,
    writer::{Job, Writer},
};
use crate::{RecordSettings, Status, buffer::Pool};

/// A digester, a writer and a closer for each directory.
#[derive(Debug)]
pub(crate) struct Pipeline {
    jobs: Vec<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    deadline: Arc<Deadline>,
}

impl Pipeline {
    /// Starts the threads.
    pub fn start(
        targets: &Arc<Targets>,
        settings: &RecordSettings,
        pool: &Arc<Pool>,
        status: &Arc<Status>,
    ) -> std::io::Result<Self> {
        let deadline = Arc::new(Deadline::new(settings.is_live, settings.patience));
        let mut pipeline = Self { jobs: Vec::new(), threads: Vec::new(), deadline: Arc::clone(&deadline) };
        for (target, directory) in targets.directories.iter().enumerate() {
            let attempts = || Attempts { targets: Arc::clone(targets), target, deadline: Arc::clone(&deadline) };
            // Buffers are bounded by their pool.
            let (jobs, to_digest) = unbounded();
            let (writer, to_write) = unbounded();
            let (closer, to_close) = bounded(CLOSINGS_MAX);
            let settings = directory.settings();
            let (compression, is_plain) = (settings.compression, settings.is_plain());
            let digester = Digester { jobs: to_digest, writer, compression, is_plain };
            let (supply, reserver) = reserver::supply(targets, target).unzip();
            let writer = Writer {
                attempts: attempts(),
                jobs: to_write,
                closer,
                pool: Arc::clone(pool),
                status: Arc::clone(status),
                supply,
                durable: directory.settings().durable,
            };
            let closer = Closer { attempts: attempts(), jobs: to_close, status: Arc::clone(status) };
            pipeline.threads.push(start("record-digest", targets.cores, move || digester.run())?);
            pipeline.threads.push(start("record-write", targets.cores, move || writer.run())?);
            if let Some(reserver) = reserver {
                pipeline.threads.push(start("record-reserve", targets.cores, move || reserver.run())?);
            }
            pipeline.threads.push(start("record-close", targets.cores, move || closer.run())?);
            pipeline.jobs.push(jobs);
        }
        Ok(pipeline)
    }

    /// Hands a job to the threads of a directory.
    pub fn send(&self, target: usize, job: Job) {
        if let Some(jobs) = self.jobs.get(target) {
            // They outlive their sender.
            let _ = jobs.send(job);
        }
    }

    /// Little more comes: what a disk refuses is soon abandoned, so that nothing waits for its buffers forever.
    pub fn end_soon(&self) {
        self.deadline.begin();
    }

    /// Nothing more comes: waits until all is on disk, or was abandoned. Whether its threads ended in order.
    #[must_use]
    pub fn finish(self) -> bool {
        drop(self.jobs);
        self.threads.into_iter().map(JoinHandle::join).filter(Result::is_err).count() == 0
    }
}

fn start(name: &str, cores: Cores, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.into()).spawn(move || {
        cores.allow();
        run();
    })
}
