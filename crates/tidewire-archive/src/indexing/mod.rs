//! Indexes of captures that are there: what a crash left, and captures of other programs. The engine says which packets belong to
//! which stream, so that streams have the ids that `tidewire streams` prints for the file.

mod attribution;
mod facts;
mod fragments;
mod indexed;
mod walker;

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use tidewire::{Capture, Duplicates, KeyIds, Mode};

use crate::{Error, IndexSettings, read_at::ReadAt};
use attribution::{Attribution, Tracker};
pub use facts::{Facts, facts};
pub use fragments::{FRAGMENTED_DATAGRAMS_MAX, Fragmented, Fragments};
pub(crate) use indexed::Indexed;
use walker::Walker;

/// Indexes a capture's plain bytes.
pub(crate) fn index(data: Box<dyn ReadAt>, path: &Path, settings: &IndexSettings) -> Result<Indexed, Error> {
    let state = Arc::new(Mutex::new(Attribution::new(settings)));
    let walker = Walker::open(data, path, Arc::clone(&state))?;
    let ids = KeyIds::default().with_vlan(settings.key_vlan).with_tunnel(settings.key_tunnel);
    let depth = settings.tunnel_depth;
    // Each packet is indexed, copies too; and the walker's notes are those of the block that the engine has, so that nothing is read ahead.
    let capture = Capture::source(walker).mode(Mode::Track).key_ids(ids).duplicates(Duplicates::Keep);
    let capture = capture.configure(|config| config.set_wire(config.wire().clone().with_tunnel_depth(depth)));
    let outcome = capture.run_with(Tracker::new(Arc::clone(&state)))?;
    drop(outcome);
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    // A failed read is not the end: the file must not be cut there.
    if let Some(error) = state.unread.take_if(|error| matches!(error, Error::Io { .. })) {
        return Err(error);
    }
    state.finish();
    Ok(state.indexed())
}
