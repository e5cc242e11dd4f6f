//! The configuration is read again beside the supervisor's loop: filters are compiled to check it, which may take a minute.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::{
        Arc,
        mpsc::{Receiver, TryRecvError, sync_channel},
    },
    thread,
};

use super::recipe::{Reread, Rereads};

/// A thread that reads the configuration. It starts no process: those that the supervisor's thread starts end with that thread.
#[derive(Debug)]
pub struct Rereading {
    result: Receiver<Reread>,
    /// Closed at the other end once the result is there.
    done: io::PipeReader,
    /// Whether another signal came since: the file may have changed behind what was read of it.
    pub again: bool,
}

impl Rereading {
    /// Starts it.
    pub fn start(reread: &Arc<Rereads>) -> io::Result<Self> {
        let (done, end) = io::pipe()?;
        let (sender, result) = sync_channel(1);
        let reread = Arc::clone(reread);
        thread::Builder::new().name("configuration".into()).spawn(move || {
            // Dropped in the other order, also by a panic: the pipe is closed when there is a result, or will be none.
            let (_end, sender) = (end, sender);
            // The supervisor ends without waiting for it.
            let _ = sender.send(reread());
        })?;
        Ok(Self { result, done, again: false })
    }

    /// The result, once it is there; `Some(None)`: the thread ended without one.
    pub fn result(&self) -> Option<Option<Reread>> {
        match self.result.try_recv() {
            Ok(result) => Some(Some(result)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(None),
        }
    }
}

impl AsFd for Rereading {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.done.as_fd()
    }
}
