//! Doubts about settings that depend on the machine.

/// A fault outside of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The setting cannot work on this machine, now or later.
    Unreachable(String),
    /// It would not work now, or not for this user; it may when the sensor starts.
    Now(String),
}
