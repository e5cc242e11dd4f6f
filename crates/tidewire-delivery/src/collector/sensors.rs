//! The sensors: the store of each, and which connection it has.

use std::{
    collections::HashMap,
    fs,
    net::{Shutdown, TcpStream},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tidewire_event_store::{Batch, Error, KeyId, Limits, Now, Row, Store};
use tidewire_types::{clock::wall_ns, hex};

use super::{
    bounds::Rate,
    log::{About, Log},
    status::SensorFigures,
};
use crate::{limits::is_sensor_name, protocol::StoreId};

/// The store in a sensor's folder.
const STORE: &str = "events.db";
/// Stores of a sensor whose positions are kept: it has one, and another one after damage.
const PRODUCERS_MAX: usize = 64;
/// Stores of sensors that are away are looked at when nothing was written to them for so long.
const QUIET: Duration = Duration::from_secs(86_400);
/// Between two looks at age and size of a store.
const RETAIN_EVERY: Duration = Duration::from_secs(1);

/// All sensors that connected since the collector began.
pub(super) struct Sensors {
    folder: PathBuf,
    limits: Limits,
    rate_bytes: Option<u64>,
    sensors_max: usize,
    all: Mutex<HashMap<String, Arc<Sensor>>>,
}

/// The connection of a sensor.
struct Current {
    number: u64,
    store: StoreId,
    connection: TcpStream,
}

/// One sensor.
pub(super) struct Sensor {
    pub(super) name: String,
    folder: PathBuf,
    limits: Limits,
    /// Its connection, of which it has one.
    current: Mutex<Option<Current>>,
    stored: Mutex<Stored>,
    figures: Mutex<SensorFigures>,
}

/// State that one connection uses at a time.
struct Stored {
    store: Option<Store>,
    retained: Instant,
    rate: Rate,
}

/// Why a batch is not stored.
pub(super) enum Refusal {
    /// Another connection of the sensor began.
    Replaced,
    /// It does not follow what is stored.
    Order(String),
    /// The store fails.
    Failed(String),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether there is a store to which nothing was written for a day. Who reads it makes a log without a byte.
fn is_quiet(folder: &Path) -> bool {
    let written = |name: &str| fs::metadata(folder.join(name)).ok().filter(|file| file.len() > 0);
    let age = |name: &str| written(name)?.modified().ok()?.elapsed().ok();
    let is_old = |name: &str| age(name).is_none_or(|age| age >= QUIET);
    folder.join(STORE).exists() && is_old(STORE) && is_old(&format!("{STORE}-wal"))
}

/// The name of a producer: a store of the sensor.
fn producer(store: &StoreId) -> String {
    hex::encode(store)
}

/// Producers that give way to a new one: those stored longest ago.
fn forgotten(store: &Store) -> Vec<String> {
    let all = store.producers().unwrap_or_default();
    let more = (all.len() + 1).saturating_sub(PRODUCERS_MAX);
    all.into_iter().take(more).map(|producer| producer.name).collect()
}

impl Sensors {
    pub(super) fn new(folder: PathBuf, limits: Limits, rate_bytes: Option<u64>, sensors_max: usize) -> Self {
        Self { folder, limits, rate_bytes, sensors_max, all: Mutex::default() }
    }

    /// The sensor of this name, which was checked.
    pub(super) fn get(&self, name: &str) -> Result<Arc<Sensor>, String> {
        let mut all = lock(&self.all);
        if let Some(sensor) = all.get(name) {
            return Ok(Arc::clone(sensor));
        }
        let folder = self.folder.join(name);
        if !folder.exists() && self.count() >= self.sensors_max {
            return Err(format!("there are {} sensors, the limit", self.sensors_max));
        }
        let sensor = Arc::new(self.sensor(name));
        all.insert(name.to_owned(), Arc::clone(&sensor));
        Ok(sensor)
    }

    /// A sensor that is not connected.
    fn sensor(&self, name: &str) -> Sensor {
        let stored = Stored { store: None, retained: Instant::now(), rate: Rate::new(self.rate_bytes, Instant::now()) };
        Sensor {
            name: name.to_owned(),
            folder: self.folder.join(name),
            limits: self.limits,
            current: Mutex::new(None),
            stored: Mutex::new(stored),
            figures: Mutex::new(SensorFigures { name: name.to_owned(), ..SensorFigures::default() }),
        }
    }

    /// How many sensors have a folder.
    fn count(&self) -> usize {
        fs::read_dir(&self.folder).map_or(0, |entries| entries.count())
    }

    /// Figures of all.
    pub(super) fn figures(&self) -> Vec<SensorFigures> {
        let mut all: Vec<SensorFigures> = lock(&self.all).values().map(|sensor| sensor.figures()).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// Removes what is too old of sensors that are open, and closes stores of those that are not connected: each takes descriptors.
    pub(super) fn tidy(&self, log: &Log) {
        let all: Vec<Arc<Sensor>> = lock(&self.all).values().cloned().collect();
        for sensor in all {
            sensor.tidy(log);
        }
    }

    /// Removes what is too old of sensors that have not been here since the collector began. To open a store is to read all of it:
    /// only those are that nothing was written to for a day.
    pub(super) fn retain_all(&self, log: &Log) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
            let is_known = lock(&self.all).contains_key(&name);
            if !is_known && is_sensor_name(&name) && is_quiet(&self.folder.join(&name)) {
                self.sensor(&name).open_and_tidy(log);
            }
        }
    }

    /// Ends every connection behind what has arrived.
    pub(super) fn disconnect(&self) {
        for sensor in lock(&self.all).values() {
            if let Some(current) = &*lock(&sensor.current) {
                let _ = current.connection.shutdown(Shutdown::Read);
            }
        }
    }
}

impl Sensor {
    fn figures(&self) -> SensorFigures {
        let mut figures = lock(&self.figures).clone();
        figures.connected = lock(&self.current).is_some();
        figures
    }

    /// Makes this connection the sensor's. One that it had before ends; whether there was one.
    ///
    /// # Errors
    /// The other connection is for another store: two sensors have one name, and would end each other's connections for ever. (A store
    /// that was created again waits until the old connection has ended, or is silent for too long.)
    pub(super) fn begin(&self, number: u64, store: StoreId, connection: TcpStream) -> Result<bool, String> {
        let mut current = lock(&self.current);
        if current.as_ref().is_some_and(|current| current.store != store) {
            return Err(format!(
                "another sensor named '{}' is connected, with another store; give each sensor a name of its own ('tidewire keys sensor NAME')",
                self.name
            ));
        }
        let before = current.replace(Current { number, store, connection });
        drop(current);
        if let Some(before) = &before {
            let _ = before.connection.shutdown(Shutdown::Both);
        }
        lock(&self.figures).connections += 1;
        Ok(before.is_some())
    }

    /// The connection has ended.
    pub(super) fn end(&self, number: u64) {
        let mut current = lock(&self.current);
        if current.as_ref().is_some_and(|current| current.number == number) {
            *current = None;
        }
    }

    fn is_current(&self, number: u64) -> bool {
        lock(&self.current).as_ref().is_some_and(|current| current.number == number)
    }

    fn open(&self, log: &Log) -> Result<Store, String> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&self.folder).map_err(|error| format!("{}: {error}", self.folder.display()))?;
        let opened = Store::open(&self.folder.join(STORE)).map_err(|error| error.to_string())?;
        if let Some(recovery) = opened.1 {
            let (path, kept, what) = (opened.0.path().display(), recovery.kept_aside.display(), &recovery.damage);
            let account = recovery.account();
            log.line(format_args!("{path} was damaged: {what}; {account}; the damaged file is {kept}"));
        }
        Ok(opened.0)
    }

    /// The last record of a store of the sensor that is durable here; `None`: it is not known.
    pub(super) fn position(&self, store: &StoreId, log: &Log) -> Result<Option<u64>, String> {
        let mut stored = lock(&self.stored);
        if stored.store.is_none() {
            stored.store = Some(self.open(log)?);
        }
        let Some(opened) = &stored.store else { return Ok(None) };
        let position = opened.producer(&producer(store));
        position.map_err(|error| self.failed(&mut stored, &error, log))
    }

    /// Handles an error of the store and returns its text. A damaged store is closed: it is recovered when it is opened again, for
    /// the next connection. Whether a batch is stored after all, the sensor learns then.
    fn failed(&self, stored: &mut Stored, error: &Error, log: &Log) -> String {
        if error.is_damage() {
            log.limited(About::Sensors, format_args!("sensor {}: {error}; the store is recovered", self.name));
            stored.store = None;
        } else if stored.store.as_mut().is_some_and(|store| store.reconnect().is_err()) {
            stored.store = None;
        }
        error.to_string()
    }

    /// Stores a batch, if it is the next one. It is durable when this returns.
    pub(super) fn append(
        &self,
        number: u64,
        store: &StoreId,
        (after, through): (u64, u64),
        (rows, keys): (Vec<Row>, Vec<(KeyId, Vec<u8>)>),
        log: &Log,
    ) -> Result<(), Refusal> {
        let mut stored = lock(&self.stored);
        // Under the lock: what this connection stores, no later one has to know.
        if !self.is_current(number) {
            return Err(Refusal::Replaced);
        }
        let Some(opened) = &mut stored.store else { return Err(Refusal::Replaced) };
        let producer = producer(store);
        let position = match opened.producer(&producer) {
            Ok(position) => position,
            Err(error) => return Err(self.refuse(&mut stored, &error, log)),
        };
        if let Some(position) = position.filter(|position| *position != after) {
            return Err(Refusal::Order(format!(
                "a batch follows record {after}, and record {position} is the last here"
            )));
        }
        // A store that never had a record needs no position: names of stores cost a sensor nothing.
        if position.is_none() && rows.is_empty() {
            return Ok(());
        }
        let forgotten = if position.is_none() { forgotten(opened) } else { Vec::new() };
        let (records, events) = (rows.len() as u64, rows.iter().map(|row| row.events).fold(0, u64::saturating_add));
        let batch = Batch { rows, keys, producers: vec![(producer, through)], forgotten, ..Batch::default() };
        if let Err(error) = opened.append(&batch) {
            return Err(self.refuse(&mut stored, &error, log));
        }
        {
            let mut figures = lock(&self.figures);
            (figures.records, figures.events) = (figures.records + records, figures.events.saturating_add(events));
            figures.position = through;
            figures.last_ns = wall_ns();
        }
        if stored.retained.elapsed() >= RETAIN_EVERY {
            self.retain(&mut stored, log);
        }
        Ok(())
    }

    /// A batch that could not be stored.
    fn refuse(&self, stored: &mut Stored, error: &Error, log: &Log) -> Refusal {
        if error.is_full() {
            // Removed records make room in the file.
            self.retain(stored, log);
        }
        lock(&self.figures).failures += 1;
        Refusal::Failed(self.failed(stored, error, log))
    }

    fn retain(&self, stored: &mut Stored, log: &Log) {
        stored.retained = Instant::now();
        let Some(store) = &mut stored.store else { return };
        match store.retain(&self.limits, Now::read()) {
            Ok(0) => {}
            Ok(removed) => lock(&self.figures).removed += removed,
            Err(error) if error.is_damage() => {
                self.failed(stored, &error, log);
            }
            Err(error) => log.limited(About::Sensors, format_args!("sensor {}: {error}", self.name)),
        }
    }

    fn tidy(&self, log: &Log) {
        let mut stored = lock(&self.stored);
        self.retain(&mut stored, log);
        if lock(&self.current).is_none() {
            stored.store = None;
        }
    }

    fn open_and_tidy(&self, log: &Log) {
        {
            let mut stored = lock(&self.stored);
            if stored.store.is_none() {
                match self.open(log) {
                    Ok(opened) => stored.store = Some(opened),
                    Err(error) => return log.limited(About::Sensors, format_args!("sensor {}: {error}", self.name)),
                }
            }
        }
        self.tidy(log);
    }

    /// Counts bytes. Returns how long the sensor has to wait.
    pub(super) fn take(&self, bytes: usize) -> Duration {
        lock(&self.figures).bytes += bytes as u64;
        lock(&self.stored).rate.take(bytes, Instant::now())
    }
}
