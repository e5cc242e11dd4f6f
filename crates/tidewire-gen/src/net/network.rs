use std::{path::PathBuf, sync::mpsc, thread};

use crate::Error;
use tidewire_live::sys::net::{own_namespace, thread_number};

use super::build::{Cable, Layout, kernel, wait_for_carrier};

type Job = Box<dyn FnOnce() + Send>;

/// Veth pairs in namespaces that belong to threads and end with them.
///
/// Functions inside see the sending ends; the receiving ends are in the same namespace, or in that of
/// another thread, which runs the jobs of [`on_receiver`](Self::on_receiver).
pub struct Network {
    /// Names of the interfaces.
    pub cables: Vec<Cable>,
    receiver: Option<(mpsc::Sender<Job>, i32)>,
}

impl Network {
    /// Runs `work` in a namespace with both ends of the veth pairs.
    ///
    /// # Errors
    /// The network cannot be built; the error of `work`.
    pub fn inside<T, E>(layout: &Layout, work: impl FnOnce(&Self) -> Result<T, E> + Send) -> Result<T, E>
    where
        T: Send,
        E: From<Error> + Send,
    {
        in_thread(|| {
            layout.check()?;
            own_namespace().map_err(no_namespace)?;
            layout.make(None)?;
            layout.set_up(true)?;
            layout.set_up(false)?;
            let cables = layout.names();
            wait_for_carrier(
                &cables.iter().flat_map(|cable| [cable.tx.clone(), cable.rx.clone()]).collect::<Vec<_>>(),
            )?;
            work(&Self { cables, receiver: None })
        })
    }

    /// Runs `work` in a namespace with the sending ends; the receiving ones are in another.
    ///
    /// # Errors
    /// As [`inside`](Self::inside).
    pub fn apart<T, E>(layout: &Layout, work: impl FnOnce(&Self) -> Result<T, E> + Send) -> Result<T, E>
    where
        T: Send,
        E: From<Error> + Send,
    {
        in_thread(|| {
            layout.check()?;
            own_namespace().map_err(no_namespace)?;
            thread::scope(|scope| {
                let (jobs, queue) = mpsc::channel::<Job>();
                let (number, numbered) = mpsc::channel();
                scope.spawn(move || {
                    let made = own_namespace().map(|()| thread_number());
                    if number.send(made).is_ok() {
                        queue.into_iter().for_each(|job| job());
                    }
                });
                let gone = || Error::Setting("the receiver's thread is gone".into());
                let receiver = numbered.recv().map_err(|_| gone())?.map_err(no_namespace)?;
                layout.make(Some(&receiver.to_string()))?;
                let network = Self { cables: layout.names(), receiver: Some((jobs, receiver)) };
                let own = layout.clone();
                network.on_receiver(move || own.set_up(true))??;
                layout.set_up(false)?;
                wait_for_carrier(&network.cables.iter().map(|cable| cable.tx.clone()).collect::<Vec<_>>())?;
                work(&network)
            })
        })
    }

    /// Runs a function in the namespace of the receiving ends, and returns its result. Sockets that it opens stay open.
    ///
    /// # Errors
    /// It panicked.
    pub fn on_receiver<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let Some((jobs, _)) = &self.receiver else { return Ok(job()) };
        let (done, result) = mpsc::channel();
        let gone = || Error::Setting("what ran at the receiving end panicked".into());
        jobs.send(Box::new(move || drop(done.send(job())))).map_err(|_| gone())?;
        result.recv().map_err(|_| gone())
    }

    /// The receiving ends' namespace, as `nsenter --net=` takes it; `None` if they are in the namespace of the sending ends.
    #[must_use]
    pub fn receiver(&self) -> Option<PathBuf> {
        let (_, thread) = self.receiver.as_ref()?;
        Some(format!("/proc/{}/task/{thread}/ns/net", std::process::id()).into())
    }
}

fn no_namespace(source: std::io::Error) -> Error {
    kernel("making a network namespace".into(), source)
}

/// A new thread, for a function that changes the thread's namespace.
fn in_thread<T: Send, E: Send>(work: impl FnOnce() -> Result<T, E> + Send) -> Result<T, E> {
    thread::scope(|scope| match scope.spawn(work).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
