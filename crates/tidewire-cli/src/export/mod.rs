//! `--to FORMAT:PLACE`: records in formats of other programs, to files, folders and collectors.

mod text;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{
    Args,
    builder::{OsStringValueParser, TypedValueParser as _},
};
use tidewire::{Handler, Mode, Stop};
use tidewire_exports::{eve, ipfix, table::Table};
use tidewire_outputs::{
    ACTIVE_TIMEOUT, CutOffs, ExportHandler, ExportKind, Exporting, Exports, Facts, Format, Keep, KeptState,
    OutputDestination, OutputOption, Rotate, Selected, Settings, Source, Target, Totals, UDP_RATE,
};
use tidewire_protocols::Service;

use crate::{
    app, capture_args,
    clock::Clock,
    cut_off_records,
    error::{self, CliError},
    options::Common,
    output::Out,
    own_input,
    place::{self, Standard},
    selection,
    session::{Closing, Session},
    terminal,
    units::{Bytes, Span, counted},
};
pub use text::{Shown, csv_header};

/// Memory for rows on their way to columns where no capture is read, bytes.
const MEMORY_BYTES: u64 = 128 << 20;

/// The options.
#[derive(Args, Clone, Debug, Default)]
pub struct ExportOptions {
    /// Write every record to PLACE, as in eve:eve.json: json, csv, sqlite, parquet, arrow, eve (Suricata's), zeek, zeek-json, ipfix,
    /// ipfix-uniflow, netflow9 (repeatable)
    ///
    /// Nothing is printed then but totals.
    /// PLACE is a file (json, csv, sqlite, arrow, eve, ipfix) or - (these but sqlite), a folder (parquet, zeek, zeek-json), or
    /// udp://HOST:PORT or tcp://HOST:PORT (ipfix, netflow9). flows and streams write transactions as well, where the format has them; with
    /// --where streams only. flows -i looks at the first 16 KiB of each direction: what is answered beyond them looks unanswered
    /// (--cutoff all).
    /// eve, json, csv and Zeek's logs grow under their names; other files have a hidden name until they are complete. parquet and arrow need a build with the feature parquet.
    #[arg(
        long,
        value_name = "FORMAT:PLACE",
        value_parser = OsStringValueParser::new().try_map(|words| target(&words)),
        conflicts_with_all = ["json", "csv", "columns", "limit"],
        help_heading = "Report"
    )]
    to: Vec<Target>,

    /// As --to NAME:-, on standard output: json, csv, arrow, eve or ipfix
    #[arg(long, value_name = "NAME", conflicts_with_all = ["json", "csv", "columns", "limit"], help_heading = "Report")]
    format: Option<String>,

    #[arg(
        long,
        value_name = "TYPES",
        value_delimiter = ',',
        value_parser = eve_type,
        help = eve_types(),
        help_heading = "Report"
    )]
    eve_types: Vec<eve::Types>,

    /// Add elements of our own to IPFIX under this private enterprise number: service, names, JA4, Community ID, missing bytes and others
    /// (docs/formats.md)
    ///
    /// Tidewire has no number of its own: give your organisation's, or 32473, which is for examples (RFC 5612). Collectors pass over
    /// elements that they do not know; their types are exported too (RFC 5610).
    #[arg(long, value_name = "NUMBER", value_parser = enterprise, hide_short_help = true, help_heading = "Report")]
    ipfix_enterprise: Option<u32>,

    /// Send at most so many messages a second over UDP, of about 16 records each; 0: as they come [default: 2000]
    ///
    /// A collector loses what comes faster than it reads, and reports no loss. A capture from interfaces never waits while it runs.
    #[arg(long, value_name = "MESSAGES", value_parser = crate::arg_types::whole::<u32>, hide_short_help = true, help_heading = "Report")]
    udp_rate: Option<u32>,

    /// Of streams that go on, write a record of IPFIX and NetFlow every TIME, with what they did since the one before; 0: at their
    /// ends only [default: 1m]
    ///
    /// Sums of a stream's records are its figures. In IPFIX flowEndReason of those before its end is 2, active timeout. Records of other
    /// formats are always of whole streams.
    #[arg(long, value_name = "TIME", hide_short_help = true, help_heading = "Report")]
    active_timeout: Option<Span>,

    /// Complete a file of --to at SIZE, after TIME, or both, as in 100M,1h, and begin the next one: eve.json becomes
    /// eve.20261122T063000Z.000001.json
    #[arg(long, value_name = "LIMITS", help_heading = "Report")]
    rotate: Option<Rotate>,

    /// Remove the oldest complete files of --to beyond BOUNDS of them all, as in size=10G,age=30d,free=5G,files=100: with --rotate
    ///
    /// The newest SIZE bytes are kept, for AGE, while the file system has FREE bytes free, and at most so many FILES. Only files with names
    /// as this output gives them are removed, of this user.
    #[arg(long, value_name = "BOUNDS", hide_short_help = true, requires = "rotate", help_heading = "Report")]
    keep: Option<Keep>,
}

/// Leaves in the help of a command the formats and options that its records have.
pub fn narrowed(command: clap::Command) -> clap::Command {
    let table = match command.get_name() {
        "match" => "matches",
        "events" => "events",
        "transactions" => "transactions",
        _ => return command,
    };
    let names = Format::names_for(table);
    let to = format!("Write every record to PLACE, as in {0}:PLACE: {1} (repeatable)", names[0], names.join(", "));
    let on_stdout: Vec<&str> =
        ["json", "csv", "arrow", "eve"].into_iter().filter(|name| names.contains(name)).collect();
    let format = format!("As --to NAME:-, on standard output: {}", on_stdout.join(", "));
    let (has_eve, has_messages) = (names.contains(&"eve"), names.contains(&"ipfix"));
    command
        .mut_arg("to", |arg| {
            let folders: Vec<&str> =
                ["parquet", "zeek", "zeek-json"].into_iter().filter(|name| names.contains(name)).collect();
            let long = format!(
                "{to}\n\nNothing is printed then but totals. PLACE is a file, a folder ({}), or - for standard output (not sqlite). Files of lines grow under their names. parquet and \
                 arrow need a build with the feature parquet.",
                folders.join(", ")
            );
            arg.help(to.clone()).long_help(long)
        })
        .mut_arg("format", |arg| arg.help(format))
        .mut_arg("eve_types", |arg| arg.hide(!has_eve))
        .mut_arg("ipfix_enterprise", |arg| arg.hide(!has_messages))
        .mut_arg("udp_rate", |arg| arg.hide(!has_messages))
}

/// A value of `--to`.
fn target(words: &OsStr) -> Result<Target, String> {
    // `recall` has --to for what --until is here.
    #[cfg(feature = "live")]
    if words.to_str().is_some_and(|text| crate::times::parse(text, crate::times::now_ns()).is_ok()) {
        return Err(format!("{}; for packets before a time use --until", tidewire_outputs::expected()));
    }
    Target::parse(words)
}

/// The help of `--eve-types`.
fn eve_types() -> String {
    let names = eve::Types::names().join(", ");
    format!("Which records of eve are written [default: all but netflow]: {names}")
}

/// A type of EVE's records.
fn eve_type(name: &str) -> Result<eve::Types, String> {
    let found = eve::Types::of_name(name);
    found.ok_or_else(|| format!("unknown type; expected {}", eve::Types::names().join(", ")))
}

/// A private enterprise number: not 0, which is IANA's, nor that of reverse elements.
fn enterprise(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(0) => Err("0 is IANA's own; give the number of an organisation, or 32473 for examples".into()),
        Ok(ipfix::REVERSE_ENTERPRISE) => Err("that is the number of reverse elements (RFC 5103); give another".into()),
        Ok(number) => Ok(number),
        Err(_) => Err("expected a private enterprise number, as 32473".into()),
    }
}

/// A run that writes.
#[derive(Clone)]
pub struct Job<'a> {
    pub common: &'a Common,
    pub mode: Mode,
    pub kind: ExportKind,
    /// Only these protocols; empty: all.
    pub services: &'a [Service],
    /// The selection.
    pub select: Selected,
    /// Parts of an archive's streams that were cut off.
    pub cuts: Option<Arc<CutOffs>>,
}

impl ExportOptions {
    /// Whether records are written instead of printed.
    pub fn is_on(&self) -> bool {
        !self.to.is_empty()
            || self.format.is_some()
            || self.rotate.is_some()
            || self.keep.is_some()
            || !self.eve_types.is_empty()
            || self.ipfix_enterprise.is_some()
            || self.udp_rate.is_some()
            || self.active_timeout.is_some()
    }

    /// An error if an option is given that concerns only what is printed.
    pub fn refuse(&self, options: &[(&str, bool)]) -> Result<(), CliError> {
        match options.iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => Err(CliError::Usage(format!(
                "{name} is for records that are printed; with --to and --format all are written as streams end: leave it out"
            ))),
            None => Ok(()),
        }
    }

    fn eve(&self) -> eve::Types {
        match self.eve_types.as_slice() {
            [] => eve::Types::default(),
            types => types.iter().copied().collect(),
        }
    }

    /// An error if no target has an option that is given.
    fn check_options(&self, targets: &[Target]) -> Result<(), CliError> {
        const IPFIX: &str = "ipfix:udp://192.0.2.1";
        const EVE: &str = "eve:eve.json";
        let on_stdout = self.format.as_deref().and_then(|name| name.parse().and_then(Target::on_stdout).ok());
        let applies = |option: OutputOption| targets.iter().chain(&on_stdout).any(|target| option.applies_to(target));
        let has_target = !targets.is_empty() || self.format.is_some();
        if !self.eve_types.is_empty() && has_target && !applies(OutputOption::EveTypes) {
            return Err(CliError::Usage("--eve-types is for EVE, which no --to writes here: leave it out".into()));
        }
        for (name, option, is_given, example) in [
            ("--eve-types", OutputOption::EveTypes, !self.eve_types.is_empty(), EVE),
            ("--ipfix-enterprise", OutputOption::Enterprise, self.ipfix_enterprise.is_some(), IPFIX),
            ("--active-timeout", OutputOption::ActiveTimeout, self.active_timeout.is_some(), IPFIX),
            ("--udp-rate", OutputOption::UdpRate, self.udp_rate.is_some(), IPFIX),
            ("--keep", OutputOption::Keep, self.keep.is_some() && !targets.is_empty(), EVE),
        ] {
            if is_given && !applies(option) {
                let outputs = option.outputs();
                return Err(CliError::Usage(format!(
                    "{name} is for {outputs}: name a place with --to, as in --to {example}"
                )));
            }
        }
        if self.rotate.is_some() && targets.is_empty() {
            let outputs = OutputOption::Rotate.outputs();
            return Err(CliError::Usage(format!("--rotate is for {outputs}: name one with --to, as in --to {EVE}")));
        }
        Ok(())
    }

    fn targets(&self) -> Result<Vec<Target>, CliError> {
        let mut targets = self.to.clone();
        for target in &mut targets {
            let is_stdout = |path: &PathBuf| place::named(path) == Some(Standard::Output);
            if matches!(&target.place, OutputDestination::Path(path) if is_stdout(path)) {
                *target = Target::on_stdout(target.format).map_err(CliError::Usage)?;
            }
        }
        self.check_options(&targets)?;
        if let Some(name) = &self.format {
            let target = name.parse().and_then(Target::on_stdout);
            targets.push(target.map_err(|error| CliError::Usage(format!("--format {name}: {error}")))?);
        }
        let is_binary = |target: &Target| target.place == OutputDestination::Stdout && target.format.is_binary();
        if let Some(target) = targets.iter().find(|target| is_binary(target))
            && terminal::is_terminal()
        {
            let name = target.format.name();
            return Err(CliError::Usage(format!(
                "{name} is not for a terminal: redirect it, or name a file: --to {name}:FILE"
            )));
        }
        if targets.iter().filter(|target| target.place == OutputDestination::Stdout).count() > 1 {
            return Err(CliError::Usage("only one format fits on standard output".into()));
        }
        let is_again = |(index, target): (usize, &Target)| targets[..index].iter().any(|other| other.collides(target));
        if targets.iter().enumerate().any(is_again) {
            return Err(CliError::Usage("two of --to have the same place; each needs its own".into()));
        }
        Ok(targets)
    }

    /// Whether transactions of streams are written, which are beside these in some formats.
    pub fn writes_transactions(&self) -> Result<bool, CliError> {
        // Of EVE's types, those without protocol fields.
        use eve::Types;
        const OF_FIGURES: Types = Types::ALERT.with(Types::FLOW).with(Types::NETFLOW).with(Types::STATS);
        let is_of_figures = !self.eve_types.is_empty() && self.eve_types.iter().all(|one| OF_FIGURES.has(*one));
        let writes = |target: &Target| target.format.has_both() && !(target.format == Format::Eve && is_of_figures);
        Ok(self.targets()?.iter().any(writes))
    }

    /// Opens the places of records of `tables`. `captures`: the options of the run, where it is one of a capture; `stop` ends it.
    pub fn open(
        &self,
        captures: Option<&Common>,
        tables: &'static [Table],
        csv_header: String,
        stop: &Stop,
    ) -> Result<Opened, CliError> {
        let targets = self.targets()?;
        if let Some([what, others]) = targets.iter().find_map(|target| target.format.lacks(tables[0].name)) {
            return Err(CliError::Usage(format!("{what}; {others}")));
        }
        let inputs = captures.map(|common| capture_args::split(&common.files)).transpose()?;
        let inputs = inputs.map_or(&[][..], |(files, _)| files);
        for target in &targets {
            match &target.place {
                OutputDestination::Path(path) => own_input::refuse_over(inputs, path)?,
                OutputDestination::Stdout => own_input::refuse_over(inputs, Path::new("-"))?,
                OutputDestination::Udp(_) | OutputDestination::Tcp(_) => {}
            }
        }
        let memory_bytes = captures.map_or(MEMORY_BYTES, |common| common.parts(KeptState::RECORDS).records());
        let outputs = targets.iter().filter(|target| target.format.has_columns()).count().max(1) as u64;
        let settings = Settings {
            source: captures.map(source).unwrap_or_default(),
            rows_bytes: memory_bytes / outputs,
            tables,
            csv_header,
            eve: self.eve(),
            enterprise: self.ipfix_enterprise,
            udp_rate: self.udp_rate.unwrap_or(UDP_RATE),
            active_timeout: self.active_timeout.map_or(Some(ACTIVE_TIMEOUT), Span::unless_zero),
            rotate: self.rotate.unwrap_or_default(),
            room: None,
            keep: self.keep.unwrap_or_default(),
            stop: stop.clone(),
            goes_on_without: false,
            notify: Arc::new(|notice| error::notify(notice)),
        };
        let exports = Exports::open(&targets, settings)?;
        let is_shown = !targets.iter().any(|target| target.place == OutputDestination::Stdout);
        Ok(Opened { exports: Arc::new(exports), is_shown })
    }

    /// Runs a subcommand whose records are written.
    pub fn run(&self, job: &Job<'_>) -> Result<u8, CliError> {
        // Options are checked before a file is created.
        job.common.check(job.mode)?;
        let mut session = Session::new(job.common)?;
        let opened = self.open(Some(job.common), job.kind.tables(), job.kind.csv_header(), &session.stop)?;
        let has_both = job.select.is_none() && self.writes_transactions()?;
        let exports = &opened.exports;
        let exporting = Exporting {
            kind: job.kind,
            services: job.services.into(),
            select: job.select.clone(),
            cuts: job.cuts.clone(),
            exports: Arc::clone(exports),
        };
        session = session.keeping(exporting.kept());
        session.export(exports);
        let (totals, transactions, closing) = run(&exporting, job, &session)?;
        let finished = opened.finish(&closing);
        let mut out = Out::last();
        if opened.is_shown {
            let written = if finished.is_ok() { "written" } else { "found, not all of them written" };
            let counts = counts(job.kind, has_both, &totals, transactions, written);
            let lines = selection::closing_lines(&totals, &counts, &Clock::default())
                .into_iter()
                .chain(closing.lines(job.common));
            lines.into_iter().try_for_each(|line| out.line(&line))?;
            if job.kind != ExportKind::Transactions && job.select.is_some() && self.writes_transactions()? {
                out.line(
                    "no transactions, which --where of streams leaves out: tidewire transactions --where selects them",
                )?;
            }
        }
        let code = closing.finish(job.common, false, &mut out, error::OK);
        error::concluded(finished, code)
    }
}

/// Places that are open.
pub struct Opened {
    pub exports: Arc<Exports>,
    /// Whether standard output is free for a summary.
    pub is_shown: bool,
}

impl Opened {
    /// Completes everything.
    pub fn finish(&self, closing: &Closing) -> Result<(), CliError> {
        Ok(self.exports.finish(&facts(closing), closing.is_whole())?)
    }

    /// As [`finish`](Self::finish), of no capture. `is_whole`: whether all of it is there.
    #[cfg(feature = "live")]
    pub fn finish_without(&self, is_whole: bool) -> Result<(), CliError> {
        Ok(self.exports.finish(&Facts::default(), is_whole)?)
    }
}

/// Counts of found records, and whether they were `written`. `has_both`: transactions beside streams.
fn counts(kind: ExportKind, has_both: bool, totals: &Totals, transactions: u64, written: &str) -> String {
    let transactions = counted(transactions, "transaction", "transactions");
    if kind == ExportKind::Transactions {
        return format!("{transactions} {written}");
    }
    let (flows, packets) = (counted(totals.streams, "flow", "flows"), counted(totals.packets, "packet", "packets"));
    let records = if has_both { format!("{flows} and {transactions}") } else { flows };
    format!("{records} {written}, {packets}, {}", Bytes(totals.bytes))
}

fn run(exporting: &Exporting, job: &Job<'_>, session: &Session<'_>) -> Result<(Totals, u64, Closing), CliError> {
    if exporting.wants_figures_only() && job.common.mode.is_none() {
        return run_with::<false>(exporting, job, Mode::Track, session);
    }
    if exporting.wants_history() {
        return run_with::<true>(exporting, job, job.mode, session);
    }
    run_with::<false>(exporting, job, job.mode, session)
}

fn run_with<const HISTORY: bool>(
    exporting: &Exporting,
    job: &Job<'_>,
    mode: Mode,
    session: &Session<'_>,
) -> Result<(Totals, u64, Closing), CliError>
where
    ExportHandler<HISTORY>: Handler,
{
    let parts = job.common.parts(exporting.kept());
    let (handlers, closing) = session.run(mode, &[], |_| ExportHandler::<HISTORY>::new(exporting, &parts))?;
    let mut totals = Totals::default();
    handlers.iter().for_each(|handler| totals.merge(&handler.totals));
    job.cuts.iter().for_each(|cuts| cut_off_records::say_ambiguous(cuts));
    let [without_fields, cut_histories] = exporting.exports.losses();
    app::say_refused(without_fields);
    say_cut(cut_histories);
    Ok((totals, handlers.iter().map(|handler| handler.transactions).sum(), closing))
}

/// Says which histories are not whole.
fn say_cut(histories: u64) {
    if histories > 0 {
        let streams = counted(histories, "stream", "streams");
        error::notify(format_args!("memory limit of QUIC's history: that of {streams} was cut off (raise --memory)"));
    }
}

/// Where packets come from, as far as it is one place.
fn source(common: &Common) -> Source {
    match common.live.is_on() {
        true => Source::of_interfaces(&common.live.interface),
        false => Source::of_files(&common.captures().unwrap_or_default()),
    }
}

fn facts(closing: &Closing) -> Facts {
    Facts::of(&closing.ledger, closing.lost(), closing.uptime())
}
