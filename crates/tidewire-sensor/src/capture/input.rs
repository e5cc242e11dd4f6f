//! The capture's inputs: interfaces and files.

use std::path::PathBuf;

use tidewire::{
    Capture, Files, Stop,
    live::{Interfaces, LiveSettings, Role},
};

use super::failure::{ENVIRONMENT, Failure};
use crate::config::CaptureConfig;

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

/// A capture of files, and how each is read, in words.
pub(super) fn files<'a>(config: &CaptureConfig, paths: &[PathBuf], stop: &Stop) -> Result<Capture<Files<'a>>, Failure> {
    for path in paths {
        if path.as_os_str() == "-" {
            let text = "capture files of a sensor must be files, and no standard input";
            return Err(Failure::new(ENVIRONMENT, text).hint("name a named pipe"));
        }
        // What cannot be read is known before analyzers start.
        std::fs::metadata(path)
            .map_err(|error| Failure::new(ENVIRONMENT, format_args!("{}: {error}", path.display())))?;
    }
    Ok(common(Capture::files(paths), config, stop))
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
