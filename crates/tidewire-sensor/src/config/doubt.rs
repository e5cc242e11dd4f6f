//! Mistakes that are not in the text.

/// What is wrong with something outside of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It cannot work.
    Never(String),
    /// It would not work now, or not for this user; it may when the sensor starts.
    Now(String),
}
