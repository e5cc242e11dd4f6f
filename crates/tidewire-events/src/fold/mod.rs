//! Folding: similar events become one record that holds all of them.

mod folder;
mod groups;
mod merge;
mod open;
mod profile;
mod settings;
mod state;

pub use folder::{Counts, Folder, Output, Pushed};
pub use settings::{FoldSettings, FolderSettings, Identity, Times};
