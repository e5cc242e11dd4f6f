//! `json` and `csv`: records as their subcommand prints them, in one file or on standard output.

use std::path::PathBuf;

use crate::{
    error::OutputError,
    files::{Accounts, Frame, LineFiles, open_files},
    record::{Record, TextForm},
    settings::Settings,
    sink::{Account, Call, Needs, Sink},
    target::OutputDestination,
};

/// The file.
pub struct Lines {
    form: TextForm,
    files: LineFiles,
    accounts: Accounts,
}

impl Lines {
    /// Opens the file.
    pub fn open(
        form: TextForm,
        place: &OutputDestination,
        settings: &Settings,
        now_ns: u64,
    ) -> Result<Self, OutputError> {
        let frame = match form {
            TextForm::Json => Frame::Lines,
            TextForm::Csv => Frame::Header(settings.csv_header.clone()),
        };
        let files = LineFiles::new(open_files(place, frame, settings, now_ns)?, settings);
        Ok(Self { form, files, accounts: Accounts::default() })
    }
}

impl Sink for Lines {
    fn needs(&self) -> Needs {
        Needs { text: true, content: true, ..Needs::default() }
    }

    fn write(&self, record: &Record<'_>, call: &mut Call<'_>) {
        if let Record::Text(row) = record {
            let mut line = std::mem::take(call.scratch);
            row.push(self.form, &mut line);
            self.files.push(&self.accounts, &line, call);
            line.clear();
            *call.scratch = line;
        }
    }

    fn flush(&self, call: &mut Call<'_>) {
        self.files.flush(&self.accounts, call);
    }

    fn flush_lines(&self, call: &mut Call<'_>) {
        self.files.flush_lines(&self.accounts, call);
    }

    fn begin_end(&self, now_ns: u64, is_whole: bool) {
        self.files.begin_end(now_ns, is_whole);
    }

    fn finish(&self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        self.files.finish(now_ns, is_whole)
    }

    fn account(&self) -> Account {
        self.files.account()
    }

    fn folder(&self) -> Option<PathBuf> {
        self.files.folder()
    }
}
