//! Positions of destinations, reported to the event processor, which stores them. No delivery waits for that.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tidewire_event_socket::Control;
use tidewire_events::Severity;

use super::backoff::{Backoff, random};

/// Between two messages: positions are stored together, and a lost one costs what is delivered twice to a folder.
const EVERY: Duration = Duration::from_millis(50);
/// The longest pause before it connects again.
const RETRY_MAX: Duration = Duration::from_secs(5);

/// Positions, by destination.
#[derive(Debug, Default)]
pub(super) struct Positions {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    delivered: BTreeMap<String, u64>,
    /// Positions of the last report.
    reported: BTreeMap<String, u64>,
    is_ending: bool,
}

impl Positions {
    /// A destination has everything up to this record.
    pub(super) fn set(&self, destination: &str, id: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.delivered.insert(destination.to_owned(), id);
        self.changed.notify_all();
    }

    /// No further position comes.
    pub(super) fn end(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_ending = true;
        self.changed.notify_all();
    }

    /// Positions that are not reported yet; waits for some. The second value is whether the end has come.
    fn news(&self) -> (Vec<(String, u64)>, bool) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_quiet = |state: &mut State| state.delivered == state.reported && !state.is_ending;
        let waited = self.changed.wait_timeout_while(state, Duration::from_secs(1), is_quiet);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let news = state.delivered.iter().filter(|(name, id)| state.reported.get(*name) != Some(*id));
        (news.map(|(name, id)| (name.clone(), *id)).collect(), state.is_ending)
    }

    fn note_reported(&self, news: Vec<(String, u64)>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).reported.extend(news);
    }

    /// Forgets what was reported: a new event processor may not have stored the reports to its predecessor.
    fn forget(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).reported.clear();
    }
}

/// Names the destinations, each with the least severity that it gets: what is less severe is not lost to it when it is removed.
fn connect(socket: &Path, destinations: &[(String, Severity)]) -> io::Result<Control> {
    let mut control = Control::connect(socket)?;
    let names: Vec<String> = destinations.iter().map(|(name, _)| name.clone()).collect();
    control.register(&names)?;
    for (name, least) in destinations {
        control.severity(name, *least)?;
    }
    Ok(control)
}

/// Reports positions until the end.
pub(super) fn report(
    positions: &Arc<Positions>,
    socket: &Path,
    destinations: &[(String, Severity)],
    warn: &dyn Fn(String),
) {
    let socket: PathBuf = socket.to_owned();
    let mut backoff = Backoff::new(RETRY_MAX);
    let (mut control, mut last_warning) = (None, None::<String>);
    loop {
        let connected = match control.take() {
            Some(connected) => Ok(connected),
            None => connect(&socket, destinations).inspect(|_| positions.forget()),
        };
        let (news, is_ending) = positions.news();
        let reported = connected.and_then(|mut control| {
            control.check()?;
            for (name, id) in &news {
                control.delivered(name, *id)?;
            }
            Ok(control)
        });
        match reported {
            Ok(connected) => {
                positions.note_reported(news);
                backoff.reset();
                last_warning = None;
                control = Some(connected);
                if is_ending {
                    return;
                }
                std::thread::sleep(EVERY);
            }
            Err(_) if is_ending => return,
            Err(error) => {
                // One that is just started again is there in a moment.
                let text = format!("{}: positions cannot be stored: {error}", socket.display());
                let begun = Instant::now();
                let pause = backoff.pause(random());
                if pause >= Duration::from_secs(1) && last_warning.as_ref() != Some(&text) {
                    warn(text.clone());
                    last_warning = Some(text);
                }
                while begun.elapsed() < pause && !positions.news().1 {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        }
    }
}
