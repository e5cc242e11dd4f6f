//! Asking a server for a queue.

use std::{
    env, io,
    os::fd::{AsFd as _, OwnedFd},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
    sockopt::{Timeout, set_socket_timeout},
};

use crate::{
    error::Error,
    page::Page,
    protocol::{Answer, MESSAGE_BYTES_MAX, NAME_RULE, Refusal, Request, is_name},
    ring::Member,
    socket::{receive, send},
    sys::refuse_descriptors,
};

/// How long a server may take to answer.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// Request of a reader to a server. Names are 1 to 64 letters, digits, `.`, `-` and `_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// The queue.
    pub queue: String,
    /// Name that the reader chose.
    pub name: String,
    /// Its group: each stream goes to exactly one of a group's members. `None`: the reader gets every record.
    pub group: Option<String>,
}

impl Attach {
    /// Asks for every record of a queue.
    #[must_use]
    pub fn new(queue: &str, name: &str) -> Self {
        Self { queue: queue.to_owned(), name: name.to_owned(), group: None }
    }

    /// As a member of this group.
    #[must_use]
    pub fn in_group(self, group: &str) -> Self {
        Self { group: Some(group.to_owned()), ..self }
    }

    /// Settings of the environment: the socket by `TIDEWIRE_SOCKET`, and `TIDEWIRE_QUEUE`, `TIDEWIRE_NAME` and (optional)
    /// `TIDEWIRE_GROUP`.
    ///
    /// # Errors
    /// [`Error::Environment`].
    pub fn from_environment() -> Result<(PathBuf, Self), Error> {
        let name = |variable: &'static str| {
            let text = env::var(variable).ok().filter(|text| is_name(text));
            text.ok_or(Error::Environment { variable, what: "a name of 1 to 64 letters, digits, '.', '-' and '_'" })
        };
        let socket = env::var_os("TIDEWIRE_SOCKET").filter(|path| !path.is_empty());
        let socket = socket.ok_or(Error::Environment { variable: "TIDEWIRE_SOCKET", what: "the path of a socket" })?;
        let group = match env::var_os("TIDEWIRE_GROUP").is_some_and(|group| !group.is_empty()) {
            true => Some(name("TIDEWIRE_GROUP")?),
            false => None,
        };
        Ok((socket.into(), Self { queue: name("TIDEWIRE_QUEUE")?, name: name("TIDEWIRE_NAME")?, group }))
    }
}

/// Answer of a server to a reader.
#[derive(Debug)]
pub(crate) struct Attachment {
    pub path: PathBuf,
    pub request: Attach,
    pub socket: OwnedFd,
    pub page: Page,
}

/// Where a reader begins that attached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begin {
    pub epoch: u64,
    pub first: u64,
    pub position: u64,
    pub member: Option<Member>,
}

/// Asks the server at `path`. Returns what it gave, where to begin, and the queue's file.
pub(crate) fn attach(path: &Path, request: &Attach) -> Result<(Attachment, Begin, OwnedFd), Error> {
    let server = |source: io::Error| Error::Server { path: path.to_owned(), source };
    let Attach { queue, name, group } = request.clone();
    if ![Some(&queue), Some(&name), group.as_ref()].into_iter().flatten().all(|name| is_name(name)) {
        return Err(Refusal::Request(NAME_RULE.into()).into());
    }
    let message = Request { queue, name, group }.write();
    let (answer, mut descriptors, socket) = ask(path, &message).map_err(server)?;
    let begin = match Answer::parse(&answer) {
        Some(Answer::Attached { epoch, first, position, place, generation }) => {
            let member = request.group.as_ref().map(|_| Member { place, generation });
            Begin { epoch, first, position, member }
        }
        Some(Answer::Refused(why)) => return Err(why.into()),
        None => return Err(server(io::Error::other("its answer cannot be understood: another version?"))),
    };
    let (Some(page), Some(file), None) = (descriptors.pop(), descriptors.pop(), descriptors.pop()) else {
        return Err(server(io::Error::other("its answer has not the two descriptors of a queue and a page")));
    };
    let page = Page::open(page).map_err(server)?;
    Ok((Attachment { path: path.to_owned(), request: request.clone(), socket, page }, begin, file))
}

/// Sends a request, and waits for its answer.
fn ask(path: &Path, request: &[u8]) -> io::Result<(Vec<u8>, Vec<OwnedFd>, OwnedFd)> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    let (address, until) = (SocketAddrUnix::new(path)?, Instant::now() + ANSWER_TIME);
    within(&socket, Timeout::Send, until, || Ok(connect(&socket, &address)?))?;
    within(&socket, Timeout::Send, until, || send(socket.as_fd(), request, &[]))?;
    let mut answer = vec![0; MESSAGE_BYTES_MAX];
    let (bytes, descriptors) = within(&socket, Timeout::Recv, until, || receive(&socket, &mut answer))?;
    // Wake-ups have none. Older kernels do not know this.
    let _ = refuse_descriptors(socket.as_fd());
    answer.truncate(bytes);
    Ok((answer, descriptors, socket))
}

/// Calls again what a signal interrupts, for the rest of the time: the kernel does not do so by itself where a timeout is set.
fn within<T>(
    socket: &OwnedFd,
    timeout: Timeout,
    until: Instant,
    mut call: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        set_socket_timeout(socket, timeout, Some(left.max(Duration::from_millis(1))))?;
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted && !left.is_zero() => {}
            result => return result,
        }
    }
}
