//! The collector: listens, and serves each connection in a thread of its own.

use std::{
    fs, io,
    net::{SocketAddr, TcpListener},
    os::unix::fs::DirBuilderExt as _,
    sync::{
        Arc, Condvar, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

use rustix::net::{Shutdown, shutdown};
use rustls::ServerConfig;

use super::{
    bounds::Permits,
    log::{About, Log},
    sensors::Sensors,
    session,
    settings::CollectSettings,
    shared::Shared,
    status::CollectStatus,
};
use crate::{
    keys::{self, Refused},
    tls,
};

/// Large batches that are decoded at once: each takes at most some 16 MiB while it is decoded.
const LARGE_FRAMES_MAX: usize = 16;
/// Between two looks at the age of what sensors sent that send nothing now.
const RETAIN_EVERY: Duration = Duration::from_secs(60);
/// Between two looks at all sensors that ever sent something.
const RETAIN_ALL_EVERY: Duration = Duration::from_secs(86_400);
/// After a failed accept, as without descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long connections have to end.
const END_TIME: Duration = Duration::from_secs(10);

/// Why there is no collector.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// Its keys.
    #[error(transparent)]
    Keys(#[from] keys::KeyError),
    /// The environment's.
    #[error("{what}: {source}")]
    System {
        /// The failed operation.
        what: String,
        /// The kernel's error.
        source: io::Error,
    },
}

fn system(what: impl std::fmt::Display) -> impl FnOnce(io::Error) -> CollectError {
    move |source| CollectError::System { what: what.to_string(), source }
}

/// A running collector. Dropped, it ends.
pub struct Server {
    shared: Arc<Shared>,
    settings: CollectSettings,
    listeners: Vec<(SocketAddr, TcpListener)>,
    threads: Vec<JoinHandle<()>>,
    sessions: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

/// A collector that listens, and serves no connection yet.
pub struct Listening {
    settings: CollectSettings,
    tls: Arc<ServerConfig>,
    refusals: Refused,
    listeners: Vec<(SocketAddr, TcpListener)>,
}

impl Listening {
    /// Reads its keys, makes its folder and listens at its addresses. No thread is started yet, so that the process can give up what it
    /// does not need from here on.
    ///
    /// # Errors
    /// Its keys cannot be used, an address cannot be listened at, or the folder cannot be made.
    pub fn bind(settings: CollectSettings) -> Result<Self, CollectError> {
        let tls = tls::server(settings.places.read()?)?;
        let refusals = refusals(&settings)?;
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&settings.store);
        made.map_err(system(settings.store.display()))?;
        let mut listeners = Vec::new();
        for address in &settings.listen {
            let listener = TcpListener::bind(address).map_err(system(address))?;
            listeners.push((listener.local_addr().map_err(system(address))?, listener));
        }
        Ok(Self { settings, tls, refusals, listeners })
    }

    /// Serves sensors. `log` gets lines about them; it may be called from several threads.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(self, log: impl Fn(&str) + Send + Sync + 'static) -> Result<Server, CollectError> {
        let Self { settings, tls, refusals, listeners } = self;
        let sensors = Sensors::new(settings.store.clone(), settings.limits, settings.rate_bytes, settings.sensors_max);
        let shared = Arc::new(Shared {
            sensors,
            log: Log::new(Box::new(log)),
            places: Permits::new(LARGE_FRAMES_MAX),
            timeout: settings.timeout,
            connections_max: settings.connections_max,
            tls: RwLock::new(tls),
            refusals: RwLock::new(refusals),
            refused: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            next: AtomicU64::new(1),
            pending: Mutex::default(),
            ending: Mutex::new(false),
            ended: Condvar::new(),
        });
        let mut server =
            Server { shared, settings, listeners: Vec::new(), threads: Vec::new(), sessions: Arc::default() };
        for (address, listener) in listeners {
            server.listen(address, listener)?;
        }
        let shared = Arc::clone(&server.shared);
        server.spawn("retain", move || {
            let mut looked = None::<Instant>;
            while !shared.is_ending() {
                if looked.is_none_or(|looked| looked.elapsed() >= RETAIN_ALL_EVERY) {
                    shared.sensors.retain_all(&shared.log);
                    looked = Some(Instant::now());
                }
                shared.pause(RETAIN_EVERY);
                shared.sensors.tidy(&shared.log);
            }
        })?;
        Ok(server)
    }
}

fn refusals(settings: &CollectSettings) -> Result<Refused, CollectError> {
    Ok(settings.refused.as_deref().map(Refused::read).transpose()?.unwrap_or_default())
}

impl Server {
    /// Starts it: [`Listening::bind`] and [`Listening::start`].
    ///
    /// # Errors
    /// As these.
    pub fn start(settings: CollectSettings, log: impl Fn(&str) + Send + Sync + 'static) -> Result<Self, CollectError> {
        Listening::bind(settings)?.start(log)
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), CollectError> {
        let thread = Builder::new().name(name.into()).spawn(run).map_err(system("starting a thread"))?;
        self.threads.push(thread);
        Ok(())
    }

    fn listen(&mut self, address: SocketAddr, listener: TcpListener) -> Result<(), CollectError> {
        let of = listener.try_clone().map_err(system(address))?;
        self.listeners.push((address, listener));
        let (shared, sessions) = (Arc::clone(&self.shared), Arc::clone(&self.sessions));
        self.spawn("listen", move || accept(&shared, &of, &sessions))
    }

    /// Where it listens, with the ports that the kernel chose.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().map(|(address, _)| *address).collect()
    }

    /// Reads key, certificates and the list of those that are refused again. Connections that are there go on with the old ones; those
    /// of sensors that are refused from now on end with their next message.
    ///
    /// # Errors
    /// They cannot be used; the old ones stay in use.
    pub fn reload(&self) -> Result<(), CollectError> {
        let (tls, refusals) = (tls::server(self.settings.places.read()?)?, refusals(&self.settings)?);
        *self.shared.tls.write().unwrap_or_else(PoisonError::into_inner) = tls;
        *self.shared.refusals.write().unwrap_or_else(PoisonError::into_inner) = refusals;
        Ok(())
    }

    /// Counters since the start.
    #[must_use]
    pub fn status(&self) -> CollectStatus {
        CollectStatus {
            connections: self.shared.connections.load(Ordering::Relaxed),
            refused: self.shared.refused.load(Ordering::Relaxed),
            sensors: self.shared.sensors.figures(),
        }
    }

    /// Ends it: batches that arrived are stored and acknowledged, then connections end.
    pub fn finish(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.shared.end();
        for (_, listener) in &self.listeners {
            // Wakes the thread that accepts, which needs no connection of our own.
            let _ = shutdown(listener, Shutdown::Read);
        }
        self.shared.disconnect();
        let until = Instant::now() + END_TIME;
        let sessions = std::mem::take(&mut *self.sessions.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in self.threads.drain(..).chain(sessions) {
            while !thread.is_finished() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(2));
            }
            if thread.is_finished() {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener, sessions: &Mutex<Vec<JoinHandle<()>>>) {
    loop {
        let accepted = listener.accept();
        if shared.is_ending() {
            return;
        }
        let tcp = match accepted {
            Ok((tcp, _)) => tcp,
            Err(error) => {
                shared.log.limited(About::Strangers, format_args!("no connection can be accepted: {error}"));
                shared.pause(ACCEPT_PAUSE);
                continue;
            }
        };
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        shared.pend(number, &tcp);
        let of = Arc::clone(shared);
        let started = Builder::new().name("sensor".into()).spawn(move || {
            session::serve(&of, number, tcp);
            of.settle(number);
        });
        let mut sessions = sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session| !session.is_finished());
        match started {
            Ok(started) => sessions.push(started),
            Err(error) => {
                shared.settle(number);
                shared.log.limited(About::Strangers, format_args!("no connection can be served: {error}"));
            }
        }
    }
}
