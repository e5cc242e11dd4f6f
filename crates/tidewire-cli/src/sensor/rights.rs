//! `--check`: whether this user could start the sensor. Warnings only, since the one who starts it may be another.

use std::path::Path;

use rustix::{
    fs::{Access, AtFlags, CWD, accessat},
    process::geteuid,
    thread::{CapabilitySet, capabilities},
};
use tidewire::live::{LiveSettings, Role};
use tidewire_sensor::config::{CaptureInput, SensorConfig};

use crate::{advice::WithHint, error::notify};

/// Warns about rights that this user does not have.
pub fn report(config: &SensorConfig) {
    if let CaptureInput::Interfaces(names) = &config.capture.input {
        let mut settings = LiveSettings::new(names.iter().cloned());
        settings.set_role(if config.capture.tap { Role::Tap } else { Role::Host });
        if let Err(error) = tidewire_live::privilege::check(&settings) {
            notify(format_args!("warning: as this user: {}", WithHint(&error)));
        }
    }
    let own = geteuid().as_raw();
    let other = config.analyzers.iter().find(|one| one.user.is_some_and(|(user, _)| user != own));
    if let Some(analyzer) = other.filter(|_| !may_change_user()) {
        let what = format!("analyzer {} cannot run as another user", analyzer.name);
        notify(format_args!(
            "warning: as this user: {what}; run the sensor as root, or with cap_setuid and cap_setgid"
        ));
    }
    if let Some(events) = config.events.as_ref().filter(|events| !events.store.starts_with(&config.directory)) {
        look_at_store(&events.store);
    }
    for directory in config.record.iter().flat_map(|record| &record.options.directories) {
        if let Some(what) = unwritable(directory) {
            notify(format_args!("warning: as this user: {what}, where packets are recorded"));
        }
    }
    if let Some(what) = unwritable(&config.directory) {
        let hint = "run it as root, or use --directory with a directory of yours";
        notify(format_args!("warning: as this user: {what}; {hint}"));
    }
}

/// Warns where the store of events could not be made or written. Its own folder is made, for its owner only.
fn look_at_store(store: &Path) {
    let Some(folder) = store.parent() else { return };
    if let Some(what) = unwritable(folder) {
        let hint = "run it as root, or write another 'store' in [events]";
        notify(format_args!("warning: as this user: {what}, where events are stored; {hint}"));
    }
}

fn may_change_user() -> bool {
    let needed = CapabilitySet::SETUID | CapabilitySet::SETGID;
    capabilities(None).is_ok_and(|now| now.effective.contains(needed))
}

/// Why sockets cannot be made in a directory, or the directory cannot be made.
fn unwritable(directory: &Path) -> Option<String> {
    // All that is missing above it is made, too.
    let path = directory.ancestors().find(|path| path.as_os_str().is_empty() || path.exists())?;
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let error = accessat(CWD, path, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).err()?;
    Some(format!("{} cannot be made or written to: {error}", directory.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_made_with_those_above_it() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(unwritable(&place.path().join("a/b/c")), None);
        let file = place.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(unwritable(&file.join("a/b")).is_some_and(|what| what.contains("cannot be made or written to")));
    }
}
