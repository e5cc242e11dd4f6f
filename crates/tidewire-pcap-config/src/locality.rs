//! Settings of locality buffering.

use std::time::Duration;

use tidewire_locality::{BATCH_FRAMES_MAX, BATCH_FRAMES_MIN, Key, Settings, TIMEOUT_MAX, TIMEOUT_MIN};

use super::{
    environment::Environment,
    error::Error,
    text::{At, Text},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Off,
    Auto,
    By(Key),
}

const KEYS: &[(&str, Key)] = &[("port", Key::Port), ("service", Key::Service), ("flow", Key::Flow)];
const MODES: &[(&str, Mode)] = &[
    ("off", Mode::Off),
    ("port", Mode::By(Key::Port)),
    ("service", Mode::By(Key::Service)),
    ("flow", Mode::By(Key::Flow)),
    ("auto", Mode::Auto),
];

/// The settings of one source.
#[derive(Clone, Debug, Default)]
pub struct LocalityOptions {
    mode: Option<At<Mode>>,
    key: Option<At<Key>>,
    batch: Option<At<u32>>,
    timeout: Option<At<Duration>>,
    thread: Option<At<bool>>,
}

impl LocalityOptions {
    /// Parses one setting: the mode (empty name), `key`, `batch`, `timeout` or `thread`.
    pub fn set(&mut self, what: &str, text: &Text) -> Result<(), Error> {
        match what {
            "key" => self.key = Some(text.at(text.one_of("locality_key", KEYS)?)),
            "batch" => {
                let range = BATCH_FRAMES_MIN.into()..=BATCH_FRAMES_MAX.into();
                self.batch = Some(text.at(text.number("locality_batch", range)? as u32));
            }
            "timeout" => {
                self.timeout = Some(text.at(text.time("locality_timeout", TIMEOUT_MIN..=TIMEOUT_MAX)?));
            }
            "thread" => self.thread = Some(text.at(text.switch("locality_thread")?)),
            _ => self.mode = Some(text.at(text.one_of("locality", MODES)?)),
        }
        Ok(())
    }

    /// Reads the settings of the environment.
    pub fn of(environment: &Environment<'_>) -> Result<Self, Error> {
        let mut given = Self::default();
        for what in ["", "key", "batch", "timeout", "thread"] {
            let name = if what.is_empty() { String::new() } else { format!("_{}", what.to_ascii_uppercase()) };
            if let Some(text) = environment.text(&format!("TIDEWIRE_LOCALITY{name}"))? {
                given.set(what, &text)?;
            }
        }
        Ok(given)
    }

    /// The first setting that has no effect unless locality is on.
    fn detail(&self) -> Option<&Text> {
        let key = self.key.as_ref().map(|at| &at.text);
        let batch = || self.batch.as_ref().map(|at| &at.text);
        let timeout = || self.timeout.as_ref().map(|at| &at.text);
        key.or_else(batch).or_else(timeout).or_else(|| self.thread.as_ref().map(|at| &at.text))
    }
}

/// Resolves the settings of the environment and the file.
pub fn resolve(environment: &LocalityOptions, file: &LocalityOptions) -> Result<Option<Settings>, Error> {
    let both = [environment, file];
    let Some(mode) = both.iter().find_map(|given| given.mode.as_ref()) else {
        let detail = both.iter().find_map(|given| given.detail());
        return detail.map_or(Ok(None), |text| {
            Err(text.error("this setting needs locality", "choose off, port, service, flow or auto"))
        });
    };
    let key = both.iter().find_map(|given| given.key.as_ref());
    let (key, adaptive) = match (mode.value, key) {
        (Mode::Off, _) => return Ok(None),
        (Mode::Auto, key) => (key.map_or_else(Key::default, |key| key.value), true),
        (Mode::By(by), Some(key)) if key.value != by => {
            return Err(key
                .text
                .error("locality names another key", "leave one of them out: locality_key is for auto"));
        }
        (Mode::By(by), _) => (by, false),
    };
    let mut settings = Settings::new(key).with_adaptive(adaptive);
    if let Some(batch) = both.iter().find_map(|given| given.batch.as_ref()) {
        settings.batch_frames = batch.value;
    }
    if let Some(timeout) = both.iter().find_map(|given| given.timeout.as_ref()) {
        settings.timeout = timeout.value;
    }
    settings.thread = both.iter().find_map(|given| given.thread.as_ref()).is_some_and(|thread| thread.value);
    Ok(Some(settings))
}
