//! Certificates that a collector refuses although its authority signed them: a list that a person keeps.

use std::{collections::BTreeSet, path::Path};

use super::{certificate::Facts, error::KeyError, files};
use crate::limits::is_sensor_name;

/// The possible forms of a line.
const EXPECTED: &str =
    "expected the name of a sensor, or 'serial' and the serial number of a certificate as 'tidewire keys show' has it";

/// Names of sensors and serial numbers of certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    names: BTreeSet<String>,
    serials: BTreeSet<String>,
}

impl Refused {
    /// Reads a file: a name, or `serial` and a serial number, on each line. Lines that begin with `#` are left out.
    ///
    /// # Errors
    /// It cannot be read, or a line is something else.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let text = files::read(path)?;
        let mut refused = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match line.strip_prefix("serial ").map(|serial| serial.trim().to_ascii_lowercase()) {
                Some(serial) if is_serial(&serial) => refused.serials.insert(serial),
                None if is_sensor_name(line) => refused.names.insert(line.to_owned()),
                _ => return Err(KeyError::content(path, format!("line {number}: {EXPECTED}"))),
            };
        }
        Ok(refused)
    }

    /// Whether a certificate is refused.
    #[must_use]
    pub fn has(&self, facts: &Facts) -> bool {
        self.names.contains(&facts.name) || self.serials.contains(&facts.serial)
    }

    /// How many lines it has.
    #[must_use]
    pub fn count(&self) -> usize {
        self.names.len() + self.serials.len()
    }
}

/// `0a:1b:…`
fn is_serial(text: &str) -> bool {
    let is_byte = |byte: &str| byte.len() == 2 && byte.bytes().all(|digit| digit.is_ascii_hexdigit());
    text.split(':').all(is_byte)
}

#[cfg(test)]
mod tests {
    use std::{fs, time::UNIX_EPOCH};

    use super::*;
    use crate::keys::Role;

    #[test]
    fn names_and_serial_numbers_are_refused_and_other_lines_are_mistakes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("refused");
        let read = |text: &str| {
            fs::write(&path, text).expect("a file");
            Refused::read(&path).map_err(|error| error.to_string())
        };
        let refused = read("# stolen\n\n edge-1 \nserial 0A:1b:ff\n").expect("a list");
        assert_eq!(refused.count(), 2);
        let facts = |name: &str, serial: &str| Facts {
            name: name.into(),
            serial: serial.into(),
            hosts: Vec::new(),
            role: Role::Sensor,
            begins: UNIX_EPOCH,
            ends: UNIX_EPOCH,
        };
        assert!(refused.has(&facts("edge-1", "00")) && refused.has(&facts("edge-2", "0a:1b:ff")));
        assert!(!refused.has(&facts("edge-2", "00")) && !refused.has(&facts("edge-11", "0a:1b")));
        for wrong in ["edge-1\nedge 2", "serial 0a0b", "serial 0g:00", "serial 0:1", "edge-1 # stolen", "../edge-1"] {
            let error = read(wrong).expect_err(wrong);
            assert!(error.contains("line ") && error.contains("refused"), "{wrong}: {error}");
        }
        assert!(Refused::read(&folder.path().join("nowhere")).is_err());
    }
}
