//! Records as the subcommand prints them: JSON and comma-separated values, with times in UTC.

use std::sync::LazyLock;

use tidewire_outputs::{TextForm, TextRow};

use crate::{clock::Clock, row::Row};

/// Times of comma-separated values in outputs.
static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::iso_utc);

/// A record of a subcommand, for the outputs.
pub struct Shown<'a, R>(pub &'a R);

impl<R: Row> TextRow for Shown<'_, R> {
    fn push(&self, form: TextForm, out: &mut Vec<u8>) {
        match form {
            TextForm::Csv => self.0.push_csv(out, &CLOCK),
            TextForm::Json => self.0.push_json(out),
        }
    }
}

/// The first line of comma-separated values in outputs.
pub fn csv_header<R: Row>() -> String {
    R::csv_header(&CLOCK)
}
