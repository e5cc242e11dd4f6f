//! The socket at which a recording takes triggers from other processes: one line asks, one line answers.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    os::unix::{
        fs::{FileTypeExt as _, PermissionsExt as _},
        net::{UnixListener, UnixStream},
    },
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use crate::Trigger;

const REQUEST: &str = "trigger";
/// How the answer begins where it fired.
const FIRED: &str = "recording";
/// Bytes of a request or an answer at most.
const LINE_BYTES_MAX: u64 = 64;
/// Clients that are answered at a time.
const CLIENTS_MAX: usize = 64;
/// A client that says nothing is left, and a recorder that does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A control socket, for its owner and root only.
#[derive(Debug)]
pub struct Control(UnixListener);

impl Control {
    /// Makes the socket. One that a recorder left, and no process answers, is replaced.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
        if is_socket && UnixStream::connect(path).is_err() {
            fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        Ok(Self(listener))
    }

    /// Starts the thread that answers; it ends with the process.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn start(self, trigger: &Arc<Trigger>) -> io::Result<()> {
        let trigger = Arc::clone(trigger);
        let clients = Arc::new(AtomicUsize::new(0));
        let serve = move || {
            for client in self.0.incoming().flatten() {
                // One that says nothing keeps no other from being answered.
                if clients.fetch_add(1, Ordering::Relaxed) < CLIENTS_MAX {
                    let (of_this, trigger) = (Arc::clone(&clients), Arc::clone(&trigger));
                    let answer = move || {
                        let _ = answer(&client, &trigger);
                        of_this.fetch_sub(1, Ordering::Relaxed);
                    };
                    if thread::Builder::new().name("trigger".into()).spawn(answer).is_ok() {
                        continue;
                    }
                }
                clients.fetch_sub(1, Ordering::Relaxed);
            }
        };
        thread::Builder::new().name("control".into()).spawn(serve).map(drop)
    }
}

fn answer(client: &UnixStream, trigger: &Trigger) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(client.take(LINE_BYTES_MAX)).read_line(&mut line)?;
    let mut client = client;
    if line.trim_end() == REQUEST {
        trigger.fire();
        writeln!(client, "{FIRED}")
    } else {
        writeln!(client, "unknown request; expected: {REQUEST}")
    }
}

/// Fires the trigger of the recorder that listens at a socket. Returns its answer, and whether it fired.
///
/// # Errors
/// No recorder answers.
pub fn fire(path: &Path) -> io::Result<(String, bool)> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{REQUEST}\n").as_bytes())?;
    let mut said = String::new();
    stream.take(LINE_BYTES_MAX).read_to_string(&mut said)?;
    let has_fired = said.starts_with(FIRED);
    Ok((said.trim_end().to_owned(), has_fired))
}
