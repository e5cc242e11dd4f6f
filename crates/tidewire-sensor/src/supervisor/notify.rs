//! Notifications to a service manager (sd_notify(3), "standalone implementations"): datagrams with lines of `NAME=value`.

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            ffi::OsStrExt as _,
            net::{SocketAddr, UnixDatagram},
        },
    },
    process,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

/// Variables that are not for the parts.
pub const VARIABLES: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

/// The service manager, if there is one.
#[derive(Debug, Default)]
pub struct Notify {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// Interval of the watchdog, half of what the manager waits; and when the last one was sent.
    watchdog: Option<(Duration, Instant)>,
    status: String,
}

impl Notify {
    /// The manager that the environment names.
    pub fn from_environment() -> Self {
        Self::new(env::var_os("NOTIFY_SOCKET"), &|name| env::var(name).ok())
    }

    fn new(socket: Option<OsString>, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let socket = socket.and_then(|path| open(&path).ok());
        let number = |name: &str| variable(name)?.parse::<u64>().ok();
        let is_ours = variable("WATCHDOG_PID").is_none_or(|own| own == process::id().to_string());
        let interval = number("WATCHDOG_USEC").filter(|us| *us > 0 && is_ours).map(|us| Duration::from_micros(us) / 2);
        let watchdog = interval.filter(|_| socket.is_some()).map(|interval| (interval, Instant::now()));
        Self { socket, watchdog, status: String::new() }
    }

    fn send(&self, text: &str) {
        if let Some((socket, to)) = &self.socket {
            // A manager that does not listen cannot be helped.
            let _ = socket.send_to_addr(text.as_bytes(), to);
        }
    }

    /// The sensor captures, and analyzers can attach.
    pub fn ready(&self) {
        self.send(&format!("READY=1\nMAINPID={}\n", process::id()));
    }

    /// The configuration is read again; [`ready`](Self::ready) follows.
    pub fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let us = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={us}\n"));
    }

    /// The sensor ends; `extra`: how long that may take.
    pub fn stopping(&self, extra: Duration) {
        self.send(&format!("STOPPING=1\nEXTEND_TIMEOUT_USEC={}\n", extra.as_micros()));
    }

    /// A line for `systemctl status`, sent when it changed.
    pub fn status(&mut self, text: String) {
        if text != self.status {
            self.send(&format!("STATUS={}\n", text.replace('\n', " ")));
            self.status = text;
        }
    }

    /// When the watchdog's next notification is due.
    pub fn due(&self) -> Option<Instant> {
        self.watchdog.map(|(interval, last)| last + interval / 2)
    }

    /// Notifies the watchdog that this process is alive, when that is due.
    pub fn alive(&mut self, now: Instant) {
        let due = self.watchdog.filter(|(interval, last)| now.duration_since(*last) >= *interval / 2);
        if let Some((interval, _)) = due {
            self.send("WATCHDOG=1\n");
            self.watchdog = Some((interval, now));
        }
    }
}

/// The manager's socket: a path, or with `@` a name in the abstract namespace.
fn open(path: &OsStr) -> io::Result<(UnixDatagram, SocketAddr)> {
    let to = match path.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        [b'/', ..] => SocketAddr::from_pathname(path)?,
        // vsock of virtual machines, or nothing that sd_notify(3) knows.
        _ => return Err(io::ErrorKind::Unsupported.into()),
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    Ok((socket, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(socket: &UnixDatagram) -> String {
        let mut room = [0; 512];
        let bytes = socket.recv(&mut room).expect("a datagram");
        String::from_utf8_lossy(&room[..bytes]).into_owned()
    }

    #[test]
    fn managers_hear_everything_by_paths_and_abstract_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notify");
        let name = format!("tidewire-test-{}", process::id());
        let sockets = [
            (UnixDatagram::bind(&path).expect("a socket"), path.clone().into_os_string()),
            (
                UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).expect("a name")).expect("a socket"),
                format!("@{name}").into(),
            ),
        ];
        for (socket, address) in sockets {
            socket.set_read_timeout(Some(tidewire_testing::PATIENCE)).expect("a limit");
            let variable = |name: &str| (name == "WATCHDOG_USEC").then(|| "1000".to_owned());
            let mut notify = Notify::new(Some(address), &variable);
            notify.ready();
            assert_eq!(received(&socket), format!("READY=1\nMAINPID={}\n", process::id()));
            notify.reloading();
            assert!(received(&socket).starts_with("RELOADING=1\nMONOTONIC_USEC="));
            notify.status("a\nb".into());
            notify.status("a\nb".into());
            assert_eq!(received(&socket), "STATUS=a b\n");
            notify.alive(Instant::now() + Duration::from_secs(1));
            assert_eq!(received(&socket), "WATCHDOG=1\n");
            notify.stopping(Duration::from_secs(1));
            assert_eq!(received(&socket), "STOPPING=1\nEXTEND_TIMEOUT_USEC=1000000\n");
        }
    }

    #[test]
    fn without_a_manager_nothing_happens() {
        let of_another = |name: &str| Some(if name == "WATCHDOG_PID" { "1" } else { "1000" }.to_owned());
        for address in [None, Some("".into()), Some("relative".into()), Some("/no/such/socket".into())] {
            let mut notify = Notify::new(address, &of_another);
            notify.ready();
            notify.alive(Instant::now() + Duration::from_secs(9));
            assert!(notify.watchdog.is_none());
        }
    }
}
