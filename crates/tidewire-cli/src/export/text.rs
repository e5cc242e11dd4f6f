//! Records as the subcommand prints them: JSON and comma-separated values.

use crate::{
    clock::Clock,
    row::{Form, Row},
};

/// A record of any subcommand.
pub trait TextRow {
    /// Appends its line.
    fn push(&self, form: Form, clock: &Clock, out: &mut Vec<u8>);
}

impl<R: Row> TextRow for R {
    fn push(&self, form: Form, clock: &Clock, out: &mut Vec<u8>) {
        match form {
            Form::Csv => self.push_csv(out, clock),
            Form::Json | Form::Table => self.push_json(out),
        }
    }
}

/// How a subcommand makes rows of its records.
pub struct Rows<T> {
    /// The first line of comma-separated values.
    pub header: fn(&Clock) -> String,
    pub row: fn(T) -> Box<dyn TextRow>,
}

// Derived ones would want `T: Copy`.
impl<T> Clone for Rows<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Rows<T> {}
