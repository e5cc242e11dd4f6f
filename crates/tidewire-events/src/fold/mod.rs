//! Folding: similar events become one record that holds all of them.
//!
//! A group is analyzer, kind, severity, names and types of fields: the *shape*. A fold is a group with the values that
//! have to be equal; what may vary is found from how many values each member takes (`profile.rs`), or set. Values of a
//! fold are columns (`column/`): numbers as differences, texts in a dictionary. A record gives back every event in
//! order. A flood of keys closes folds early, it never takes more memory.

mod folder;
mod groups;
mod merge;
mod open;
mod profile;
mod settings;
mod state;

pub use folder::{Counts, Folder, Output, Pushed};
pub use settings::{FoldSettings, FolderSettings, Identity, Times};
