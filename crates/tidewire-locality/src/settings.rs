use std::{fmt, str::FromStr, time::Duration};

use crate::{BATCH_FRAMES, BATCH_FRAMES_MAX, BATCH_FRAMES_MIN, Key, SettingError, TIMEOUT, TIMEOUT_MAX, TIMEOUT_MIN};

/// How packets are gathered and handed over.
///
/// As text: a key, then what differs from the default, `key[,batch=N][,timeout=MSms][,thread][,adaptive]`, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The property by which packets are brought together.
    pub key: Key,
    /// Packets of a batch at most, [`BATCH_FRAMES_MIN`] to [`BATCH_FRAMES_MAX`].
    pub batch_frames: u32,
    /// How long a batch is gathered at most, [`TIMEOUT_MIN`] to [`TIMEOUT_MAX`].
    pub timeout: Duration,
    /// Whether a second thread gathers and sorts the next batch while one is delivered.
    pub thread: bool,
    /// Whether sorting turns itself off where it does not pay.
    pub adaptive: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { key: Key::default(), batch_frames: BATCH_FRAMES, timeout: TIMEOUT, thread: false, adaptive: false }
    }
}

impl Settings {
    /// The defaults with this key.
    #[must_use]
    pub fn new(key: Key) -> Self {
        Self { key, ..Self::default() }
    }

    /// Sets [`batch_frames`](Self::batch_frames), in a method chain.
    #[must_use]
    pub fn with_batch_frames(mut self, batch_frames: u32) -> Self {
        self.batch_frames = batch_frames;
        self
    }

    /// Sets [`timeout`](Self::timeout), in a method chain.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets [`thread`](Self::thread), in a method chain.
    #[must_use]
    pub fn with_thread(mut self, thread: bool) -> Self {
        self.thread = thread;
        self
    }

    /// Sets [`adaptive`](Self::adaptive), in a method chain.
    #[must_use]
    pub fn with_adaptive(mut self, adaptive: bool) -> Self {
        self.adaptive = adaptive;
        self
    }

    /// Whether all figures are within their limits.
    ///
    /// # Errors
    /// [`SettingError::BatchFrames`], [`SettingError::Timeout`].
    pub fn check(&self) -> Result<(), SettingError> {
        let Self { batch_frames, timeout, .. } = *self;
        if !(BATCH_FRAMES_MIN..=BATCH_FRAMES_MAX).contains(&batch_frames) {
            return Err(SettingError::BatchFrames { frames: batch_frames });
        }
        if !(TIMEOUT_MIN..=TIMEOUT_MAX).contains(&timeout) {
            return Err(SettingError::Timeout { timeout });
        }
        Ok(())
    }

    fn set(&mut self, word: &str) -> Result<(), SettingError> {
        let (name, value) =
            word.split_once('=').map_or((word, None), |(name, value)| (name.trim(), Some(value.trim())));
        match (name, value) {
            ("key", Some(value)) => self.key = value.parse()?,
            ("batch", Some(value)) => self.batch_frames = number(name, value, value)?,
            ("timeout", Some(value)) => {
                let digits = value.strip_suffix("ms").unwrap_or(value).trim_end();
                self.timeout = Duration::from_millis(number::<u32>(name, digits, value)?.into());
            }
            ("thread", value) => self.thread = yes(name, value)?,
            ("adaptive", value) => self.adaptive = yes(name, value)?,
            ("key" | "batch" | "timeout", None) => return Err(SettingError::NoValue { name: name.into() }),
            (_, None) => self.key = name.parse()?,
            (_, Some(_)) => return Err(SettingError::UnknownSetting { name: name.into() }),
        }
        Ok(())
    }
}

impl FromStr for Settings {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let mut settings = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for word in text.split(',').map(str::trim) {
            if word.is_empty() {
                return Err(SettingError::EmptySetting);
            }
            settings.set(word)?;
            let name = word.split('=').next().unwrap_or(word).trim();
            let name = if Key::ALL.iter().any(|key| key.name() == name) { "key" } else { name };
            if seen.contains(&name) {
                return Err(SettingError::Twice { name: name.into() });
            }
            seen.push(name);
        }
        settings.check()?;
        Ok(settings)
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},batch={},timeout={}ms", self.key, self.batch_frames, self.timeout.as_millis())?;
        f.write_str(if self.thread { ",thread" } else { "" })?;
        f.write_str(if self.adaptive { ",adaptive" } else { "" })
    }
}

fn number<T: FromStr>(name: &str, digits: &str, value: &str) -> Result<T, SettingError> {
    digits.parse().map_err(|_| SettingError::NoNumber { name: name.into(), value: value.into() })
}

fn yes(name: &str, value: Option<&str>) -> Result<bool, SettingError> {
    match value {
        None | Some("yes" | "1" | "on") => Ok(true),
        Some("no" | "0" | "off") => Ok(false),
        Some(value) => Err(SettingError::NoSwitch { name: name.into(), value: value.into() }),
    }
}
