//! `[sensor]`

use std::{path::PathBuf, time::Duration};
use tidewire_config::Value;

use toml::de::DeValue;

use super::common::Sections;

/// Its keys.
pub const SENSOR: &[&str] = &["directory", "metrics", "users", "stop"];

/// `[sensor]`
#[derive(Default)]
pub struct Sensor {
    pub directory: Option<PathBuf>,
    pub metrics: Option<String>,
    pub users: Vec<u32>,
    pub stop: Option<Duration>,
}

impl Sections<'_, '_> {
    /// Reads `[sensor]`.
    pub fn sensor(&mut self, value: &Value<'_>) -> Sensor {
        let mut sensor = Sensor::default();
        let Some(table) = self.document.table(value, "sensor", "write [sensor]") else { return sensor };
        self.keys("sensor", table, SENSOR, |this, key, value| match key {
            "directory" => sensor.directory = this.absolute(key, value, "\"/run/tidewire\""),
            "metrics" => sensor.metrics = this.document.string(key, value, "\"127.0.0.1:9600\""),
            "users" => {
                let items: Vec<&Value<'_>> = match value.get_ref() {
                    DeValue::Array(items) => items.iter().collect(),
                    _ => vec![value],
                };
                for item in items {
                    let word = this.user_word(key, item);
                    let user = word.and_then(|(name, span)| this.user(&name, &span));
                    sensor.users.extend(user.map(|(user, _)| user));
                }
            }
            _ => sensor.stop = this.time(key, value, Duration::from_millis(100)),
        });
        sensor
    }
}
