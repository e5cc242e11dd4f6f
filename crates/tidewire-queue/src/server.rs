//! The server: hands queues to readers, notices their ends, and wakes those that sleep. It belongs on a thread that does not
//! capture, in the publisher's process.

use std::{
    fs, io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen, recv,
        socket_with, sockopt::socket_peercred,
    },
};

use crate::{
    page::{Page, Progress},
    protocol::{Answer, MESSAGE_BYTES_MAX, Refusal, Request, is_name},
    publisher::Offer,
    socket::send,
};

/// Readers of one queue, at most.
pub const READERS_MAX: usize = 32;
/// Connections that have not asked for a queue yet, at most; the oldest goes first.
const PENDING_MAX: usize = 32;
/// How long a connection may take to ask for a queue.
const PENDING_TIME: Duration = Duration::from_secs(2);

/// Who a reader is, and how far it came by its own account.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReaderStatus {
    /// The queue.
    pub queue: String,
    /// What it calls itself.
    pub name: String,
    /// Its process.
    pub process: i32,
    /// Its user.
    pub user: u32,
    /// The first record it could read.
    pub first: u64,
    /// What it says of itself; not to be trusted.
    pub progress: Progress,
}

/// What happened in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A reader was attached.
    Attached(ReaderStatus),
    /// A reader ended or detached itself; its place is free again.
    Detached(ReaderStatus),
    /// A reader was turned away, or was another user's than those allowed.
    Refused {
        /// Why.
        why: Refusal,
        /// Its user.
        user: u32,
    },
}

#[derive(Debug)]
struct Reader {
    socket: OwnedFd,
    page: Page,
    status: ReaderStatus,
}

impl Reader {
    fn status(&self) -> ReaderStatus {
        ReaderStatus { progress: self.page.progress(), ..self.status.clone() }
    }
}

#[derive(Debug)]
struct Served {
    name: String,
    offer: Offer,
    readers: Vec<Reader>,
    /// Records published when readers were woken last.
    woken_at: u64,
}

#[derive(Debug)]
struct Pending {
    socket: OwnedFd,
    since: Instant,
}

/// Serves queues at a path of the file system.
#[derive(Debug)]
pub struct Server {
    listener: OwnedFd,
    path: PathBuf,
    /// Device and inode of the socket, so that only ours is removed.
    identity: (u64, u64),
    users: Vec<u32>,
    queues: Vec<Served>,
    pending: Vec<Pending>,
}

impl Server {
    /// Listens at `path`, which only this user can connect to. A socket that nobody listens at any more is replaced.
    ///
    /// # Errors
    /// `AddrInUse`: another server listens there, or something that is no socket is there; and what the kernel says.
    pub fn bind(path: &Path) -> io::Result<Self> {
        remove_stale(path)?;
        let listener = socket()?;
        bind(&listener, &SocketAddrUnix::new(path)?)?;
        // Nobody can connect before `listen`.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        let metadata = fs::symlink_metadata(path)?;
        listen(&listener, 64)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            identity: (metadata.dev(), metadata.ino()),
            users: Vec::new(),
            queues: Vec::new(),
            pending: Vec::new(),
        })
    }

    /// Lets these users attach and no others (root and the server's own user always may), and changes the permissions of the
    /// socket so that everybody can ask.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn allow_users(&mut self, users: &[u32]) -> io::Result<()> {
        self.users = users.to_vec();
        fs::set_permissions(&self.path, fs::Permissions::from_mode(0o666))
    }

    /// Offers a queue under a name.
    ///
    /// # Errors
    /// `InvalidInput`: the name is none (see [`is_name`]) or there already.
    pub fn offer(&mut self, name: &str, offer: Offer) -> io::Result<()> {
        if !is_name(name) || self.queues.iter().any(|queue| queue.name == name) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.queues.push(Served { name: name.to_owned(), offer, readers: Vec::new(), woken_at: 0 });
        Ok(())
    }

    /// The readers of every queue.
    #[must_use]
    pub fn readers(&self) -> Vec<ReaderStatus> {
        self.queues.iter().flat_map(|queue| queue.readers.iter().map(Reader::status)).collect()
    }

    /// Waits up to `timeout` for readers that come or go, answers them, and wakes those that sleep while records are there. Call it
    /// again and again: `timeout` is also how late a sleeping reader is woken.
    ///
    /// # Errors
    /// What the kernel says of the listening socket. No reader can cause one.
    pub fn turn(&mut self, timeout: Duration) -> io::Result<Vec<Event>> {
        let mut events = Vec::new();
        let (mut is_listener, mut ready) = (false, Vec::new());
        {
            let fds = std::iter::once(self.listener.as_fd())
                .chain(self.pending.iter().map(|pending| pending.socket.as_fd()))
                .chain(self.queues.iter().flat_map(|queue| queue.readers.iter().map(|reader| reader.socket.as_fd())));
            let mut fds: Vec<PollFd<'_>> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
            let timeout = Timespec {
                tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(timeout.subsec_nanos()),
            };
            match poll(&mut fds, Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for (index, _) in fds.iter().enumerate().filter(|(_, fd)| !fd.revents().is_empty()) {
                if index == 0 { is_listener = true } else { ready.push(index - 1) }
            }
        }
        // From the last to the first, so that indexes stay what they were.
        for index in ready.into_iter().rev() {
            match index.checked_sub(self.pending.len()) {
                Some(reader) => events.extend(self.heard(reader)),
                None => events.extend(self.asked(index)),
            }
        }
        self.pending.retain(|pending| pending.since.elapsed() < PENDING_TIME);
        if is_listener {
            self.accept()?;
        }
        self.wake();
        Ok(events)
    }

    fn accept(&mut self) -> io::Result<()> {
        match accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(socket) => {
                if self.pending.len() >= PENDING_MAX {
                    self.pending.remove(0);
                }
                self.pending.push(Pending { socket, since: Instant::now() });
            }
            // Who connected has gone again, or there is no descriptor for it: it waits, and others end meanwhile.
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => {}
            Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// A reader said something or ended. There is nothing that it may say.
    fn heard(&mut self, index: usize) -> Option<Event> {
        let mut index = index;
        for queue in &mut self.queues {
            if index < queue.readers.len() {
                return Some(Event::Detached(queue.readers.remove(index).status()));
            }
            index -= queue.readers.len();
        }
        None
    }

    /// A connection asks for a queue, or has ended.
    fn asked(&mut self, index: usize) -> Option<Event> {
        let Pending { socket, .. } = self.pending.remove(index);
        let mut message = [0; MESSAGE_BYTES_MAX + 1];
        let bytes = match recv(&socket, &mut message, RecvFlags::DONTWAIT) {
            Ok((0, _)) | Err(_) => return None,
            Ok((bytes, _)) => bytes.min(message.len()),
        };
        let credentials = socket_peercred(&socket).ok()?;
        let (process, user) = (credentials.pid.as_raw_nonzero().get(), credentials.uid.as_raw());
        match Request::parse(&message[..bytes]).and_then(|request| self.attach(socket.as_fd(), request, process, user))
        {
            Ok((at, page, status)) => {
                let event = Event::Attached(status.clone());
                self.queues[at].readers.push(Reader { socket, page, status });
                Some(event)
            }
            Err(why) => {
                let _ = send(socket.as_fd(), &Answer::Refused(why.clone()).write(), &[]);
                Some(Event::Refused { why, user })
            }
        }
    }

    fn attach(
        &self,
        socket: BorrowedFd<'_>,
        request: Request,
        process: i32,
        user: u32,
    ) -> Result<(usize, Page, ReaderStatus), Refusal> {
        let own = rustix::process::geteuid().as_raw();
        if user != own && user != 0 && !self.users.contains(&user) {
            return Err(Refusal::Request(format!("user {user} may not attach")));
        }
        let Some(at) = self.queues.iter().position(|queue| queue.name == request.queue) else {
            let known = self.queues.iter().map(|queue| queue.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(Refusal::NoQueue { asked: request.queue, known });
        };
        let queue = &self.queues[at];
        if queue.readers.len() >= READERS_MAX {
            return Err(Refusal::Full { max: READERS_MAX });
        }
        let resources = |error: io::Error| Refusal::Resources(error.to_string());
        let page = Page::new().map_err(resources)?;
        let first = queue.offer.published();
        let answer = Answer::Attached { epoch: queue.offer.epoch(), first };
        send(socket, &answer.write(), &[queue.offer.file(), page.file()]).map_err(resources)?;
        let Request { queue, name } = request;
        Ok((at, page, ReaderStatus { queue, name, process, user, first, progress: Progress::default() }))
    }

    /// Wakes the readers of queues that have records which they did not see when they went to sleep.
    fn wake(&mut self) {
        for queue in &mut self.queues {
            let published = queue.offer.published();
            if published != queue.woken_at && queue.readers.iter().any(|reader| reader.page.is_waiting()) {
                queue.woken_at = published;
                let _ = queue.offer.wake();
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let is_ours = |metadata: fs::Metadata| (metadata.dev(), metadata.ino()) == self.identity;
        if fs::symlink_metadata(&self.path).is_ok_and(is_ours) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

/// Removes a socket that nobody listens at any more.
fn remove_stale(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt as _;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(metadata) if !metadata.file_type().is_socket() => Err(io::ErrorKind::AddrInUse.into()),
        Ok(_) => match connect(&socket()?, &SocketAddrUnix::new(path)?) {
            Err(Errno::CONNREFUSED) => fs::remove_file(path),
            Ok(()) | Err(Errno::AGAIN) => Err(io::ErrorKind::AddrInUse.into()),
            Err(error) => Err(error.into()),
        },
    }
}
