//! The environment that settings are read from.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    error::{Error, Source},
    text::Text,
};

/// The system's configuration file, read if no other one is named.
pub const SYSTEM_FILE: &str = "/etc/pcap.conf";
/// The user's configuration file, in the home directory.
const HOME_FILE: &str = ".pcap.conf";

/// The environment as a value, so that tests need no global state.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    variable: &'a dyn Fn(&str) -> Option<OsString>,
    system_file: &'a Path,
}

impl<'a> Environment<'a> {
    /// Creates it from a lookup of variables, and the file that is read if they name none.
    pub fn new(variable: &'a dyn Fn(&str) -> Option<OsString>, system_file: &'a Path) -> Self {
        Self { variable, system_file }
    }

    /// The value of a variable; an empty one counts as unset.
    pub fn text(&self, name: &str) -> Result<Option<Text>, Error> {
        let Some(value) = (self.variable)(name) else { return Ok(None) };
        let source = Arc::new(Source::Variable(name.to_owned()));
        let Some(value) = value.to_str() else {
            return Err(Error::whole(Source::Variable(name.to_owned()), "is not UTF-8", "write it in UTF-8"));
        };
        let text = Text::new(source, 1, 1, value);
        Ok((!text.text.is_empty()).then_some(text))
    }

    /// The first of these variables that is set; the second name and those after it are aliases.
    pub fn first(&self, names: &[&str]) -> Result<Option<Text>, Error> {
        for name in names {
            if let Some(text) = self.text(name)? {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    /// The path of the configuration file, and whether a variable names it, so that it must exist. Empty or `/dev/null`: none.
    pub fn file(&self) -> Option<(PathBuf, bool)> {
        for name in ["PCAP_CONFIG", "PFQ_CONFIG"] {
            match (self.variable)(name) {
                Some(path) if path.is_empty() || path == "/dev/null" => return None,
                Some(path) => return Some((path.into(), true)),
                None => {}
            }
        }
        let home = (self.variable)("HOME").filter(|home| Path::new(home).is_absolute());
        let own = home.map(|home| Path::new(&home).join(HOME_FILE)).filter(|path| path.exists());
        let system = || self.system_file.exists().then(|| self.system_file.to_owned());
        own.or_else(system).map(|path| (path, false))
    }
}
