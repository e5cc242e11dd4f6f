//! Events, and waiting for them.
//!
//! JUSTIFICATION: `eventfd(2)`, `epoll(7)` and `ppoll(2)` have no wrapper in the standard library.

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    ptr,
    time::Duration,
};

/// An event as a descriptor that is readable while it is set.
pub struct Event(OwnedFd);

impl Event {
    /// Creates an event that is not set.
    ///
    /// # Errors
    /// The process has no more descriptors.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and has no other owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Sets the event. Safe in a signal handler.
    pub fn set(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: a signal handler must leave `errno` as it was; the location is this thread's.
        unsafe {
            let number = *libc::__errno_location();
            // A full counter means set.
            let _ = libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len());
            *libc::__errno_location() = number;
        }
    }

    /// Clears the event.
    pub fn clear(&self) {
        let mut value = [0_u8; 8];
        // SAFETY: the buffer has the length given. Fails where it was not set.
        let _ = unsafe { libc::read(self.0.as_raw_fd(), value.as_mut_ptr().cast(), value.len()) };
    }
}

impl AsRawFd for Event {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// A descriptor that is readable while any of several descriptors is.
pub struct Gathered(OwnedFd);

impl Gathered {
    /// Combines these descriptors.
    ///
    /// # Errors
    /// The process has no more descriptors.
    pub fn new(descriptors: &[RawFd]) -> io::Result<Self> {
        // SAFETY: no pointers.
        let descriptor = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and has no other owner.
        let gathered = Self(unsafe { OwnedFd::from_raw_fd(descriptor) });
        for descriptor in descriptors {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            // SAFETY: the structure lives throughout the call.
            let result =
                unsafe { libc::epoll_ctl(gathered.as_raw_fd(), libc::EPOLL_CTL_ADD, *descriptor, &raw mut event) };
            if result < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(gathered)
    }
}

impl AsRawFd for Gathered {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Waits until one of the descriptors is readable or in error, at most `most` (`None`: forever). A signal ends the wait.
pub fn wait(descriptors: &[RawFd], most: Option<Duration>) {
    let entry = |fd: &RawFd| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 };
    let mut entries: Vec<_> = descriptors.iter().map(entry).collect();
    let most = most.map(|most| libc::timespec {
        tv_sec: most.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: most.subsec_nanos().into(),
    });
    let most = most.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the pointers are to a slice with its length beside it, and to a local or null; there is no signal mask. Whatever
    // it returns, the caller looks at what there is.
    let _ = unsafe { libc::ppoll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, most, ptr::null()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn is_readable(descriptor: RawFd) -> bool {
        let mut entry = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
        // SAFETY: the pointer is to one entry.
        unsafe { libc::poll(&raw mut entry, 1, 0) == 1 }
    }

    #[test]
    fn events_are_seen_through_what_gathers_them() {
        let (one, other) = (Event::new().unwrap(), Event::new().unwrap());
        let gathered = Gathered::new(&[one.as_raw_fd(), other.as_raw_fd()]).unwrap();
        assert!(!is_readable(gathered.as_raw_fd()));
        other.set();
        other.set();
        assert!(is_readable(gathered.as_raw_fd()) && !is_readable(one.as_raw_fd()));
        wait(&[gathered.as_raw_fd()], None);
        other.clear();
        assert!(!is_readable(gathered.as_raw_fd()));
    }

    #[test]
    fn waits_end() {
        let (event, begun) = (Event::new().unwrap(), Instant::now());
        wait(&[event.as_raw_fd()], Some(Duration::from_millis(20)));
        assert!(begun.elapsed() >= Duration::from_millis(19));
    }
}
