//! The capture's inputs: interfaces and files.

use std::{path::PathBuf, time::Duration};

use tidewire::{
    Capture, Files, Stop,
    live::{Interfaces, LiveSettings, Role},
};

use super::failure::{ENVIRONMENT, Failure};
use crate::config::CaptureConfig;

/// Silence after which a closed connection of a pipe is reported, as for interfaces.
const REPORT_CLOSED: Duration = Duration::from_secs(1);

/// A capture of interfaces.
pub(super) fn interfaces<'a>(config: &CaptureConfig, names: &[String], stop: &Stop) -> Capture<Interfaces<'a>> {
    let mut settings = LiveSettings::new(names.iter().cloned());
    settings.set_role(if config.tap { Role::Tap } else { Role::Host });
    settings.set_promiscuous(config.promiscuous);
    if let Some(bytes) = config.ring_bytes {
        settings.set_ring_bytes(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
    if let Some(bytes) = config.snap_bytes {
        settings.set_snap_bytes(settings.snap_bytes().min(bytes));
    }
    common(Capture::live(settings), config, stop)
}

/// A capture of files; `-` is the standard input.
pub(super) fn files<'a>(config: &CaptureConfig, paths: &[PathBuf], stop: &Stop) -> Result<Capture<Files<'a>>, Failure> {
    for path in paths.iter().filter(|path| path.as_os_str() != "-") {
        // An unreadable file is noticed before analyzers start.
        let found = std::fs::metadata(path);
        found.map_err(|error| Failure::new(ENVIRONMENT, format_args!("{}: {error}", path.display())))?;
    }
    let capture = common(Capture::files(paths), config, stop);
    Ok(if is_unending(paths) { capture.report_closed(REPORT_CLOSED) } else { capture })
}

/// Whether one of these may have no end: the standard input, or a pipe.
pub(super) fn is_unending(paths: &[PathBuf]) -> bool {
    paths.iter().any(|path| path.as_os_str() == "-" || std::fs::metadata(path).is_ok_and(|found| !found.is_file()))
}

fn common<I>(capture: Capture<I>, config: &CaptureConfig, stop: &Stop) -> Capture<I> {
    let mut capture = capture.stop_when(stop);
    if let Some(filter) = &config.filter {
        capture = capture.filter(filter);
    }
    if let Some(bytes) = config.memory_bytes {
        capture = capture.memory(bytes);
    }
    capture
}
