//! `--to FORMAT:PLACE`: records in formats of other programs, to files, folders and collectors.

mod follow;
mod interim;
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
use tidewire_exports::{
    eve, ipfix,
    table::{self, Table},
};
use tidewire_outputs::{Exports, Facts, Format, Place, Rotate, Settings, Source, Target};
use tidewire_protocols::Service;

use crate::{
    app::{self, Selected},
    capture_args,
    clock::Clock,
    cut_off_join::CutOffs,
    error::{self, CliError},
    memory::Kept,
    options::Common,
    output::Out,
    own_input,
    place::{self, Standard},
    selection::Totals,
    session::{Closing, Session},
    terminal,
    units::{Bytes, Span, counted},
};
use follow::Exporting;
pub use follow::{Kind, Texts};
pub use text::{Rows, Shown, Text, csv_header};

/// How long a stream goes on before a collector hears of it: the usual active timeout of exporters.
const ACTIVE_TIMEOUT: Span = Span(60_000_000_000);

/// Messages a second over UDP: a socket's buffer of Linux's default size holds those of 50 milliseconds.
const UDP_RATE: u32 = 2000;

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

    /// Which records of eve are written [default: all but netflow]: alert, anomaly, dns, fileinfo, flow, http, mdns, netflow, quic, ssh,
    /// stats, tls
    #[arg(long, value_name = "TYPES", value_delimiter = ',', value_parser = eve_type, help_heading = "Report")]
    eve_types: Vec<&'static str>,

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

/// A type of EVE's records.
fn eve_type(name: &str) -> Result<&'static str, String> {
    let found = eve::TYPES.into_iter().find(|known| *known == name);
    found.ok_or_else(|| format!("unknown type; expected {}", eve::TYPES.join(", ")))
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
    pub kind: Kind,
    /// Only these protocols; empty: all.
    pub services: &'a [Service],
    /// What is written as JSON and comma-separated values.
    pub rows: Texts,
    /// What is selected.
    pub select: Selected,
    /// What was cut off of an archive's streams.
    pub cuts: Option<Arc<CutOffs>>,
}

impl Job<'_> {
    fn tables(&self) -> (&'static [Table], String) {
        const OF_STREAMS: &[Table] = &[table::FLOWS, table::TRANSACTIONS];
        const OF_TRANSACTIONS: &[Table] = &[table::TRANSACTIONS];
        match self.rows {
            Texts::Records(rows) => (OF_STREAMS, (rows.header)()),
            Texts::Transactions(rows) => (OF_TRANSACTIONS, (rows.header)()),
        }
    }
}

impl ExportOptions {
    /// Whether records are written instead of printed.
    pub fn is_on(&self) -> bool {
        !self.to.is_empty()
            || self.format.is_some()
            || self.rotate.is_some()
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
        if self.eve_types.is_empty() {
            return eve::Types::default();
        }
        let mut types = eve::Types::NONE;
        self.eve_types.iter().for_each(|name| types.add(name));
        types
    }

    fn targets(&self) -> Result<Vec<Target>, CliError> {
        let mut targets = self.to.clone();
        for target in &mut targets {
            let is_stdout = |path: &PathBuf| place::named(path) == Some(Standard::Output);
            if matches!(&target.place, Place::Path(path) if is_stdout(path)) {
                *target = Target::on_stdout(target.format).map_err(CliError::Usage)?;
            }
        }
        if !self.eve_types.is_empty() && targets.is_empty() && self.format.is_none() {
            return Err(CliError::Usage(
                "--eve-types is for EVE: name a place with --to, as in --to eve:eve.json".into(),
            ));
        }
        let is_eve = |target: &Target| target.format == Format::Eve;
        if !self.eve_types.is_empty() && !targets.iter().any(is_eve) && self.format.as_deref() != Some("eve") {
            return Err(CliError::Usage("--eve-types is for EVE, which no --to writes here: leave it out".into()));
        }
        let is_ipfix = |format: &str| matches!(format, "ipfix" | "ipfix-uniflow");
        let has_ipfix =
            targets.iter().any(|target| is_ipfix(target.format.name())) || self.format.as_deref().is_some_and(is_ipfix);
        if self.ipfix_enterprise.is_some() && !has_ipfix {
            return Err(CliError::Usage(
                "--ipfix-enterprise is for IPFIX: name a place with --to, as in --to ipfix:udp://192.0.2.1".into(),
            ));
        }
        let has_messages = has_ipfix || targets.iter().any(|target| target.format.is_messages());
        if self.active_timeout.is_some() && !has_messages {
            return Err(CliError::Usage(
                "--active-timeout is for IPFIX and NetFlow: name a place with --to, as in --to ipfix:udp://192.0.2.1"
                    .into(),
            ));
        }
        if self.udp_rate.is_some() && !targets.iter().any(|target| matches!(target.place, Place::Udp(_))) {
            return Err(CliError::Usage(
                "--udp-rate is for UDP: name a place with --to, as in --to ipfix:udp://192.0.2.1".into(),
            ));
        }
        if self.rotate.is_some() && targets.is_empty() {
            return Err(CliError::Usage("--rotate is for files: name one with --to, as in --to eve:eve.json".into()));
        }
        if let Some(name) = &self.format {
            let target = name.parse().and_then(Target::on_stdout);
            targets.push(target.map_err(|error| CliError::Usage(format!("--format {name}: {error}")))?);
        }
        let is_binary = |target: &Target| target.place == Place::Stdout && target.format.is_binary();
        if let Some(target) = targets.iter().find(|target| is_binary(target))
            && terminal::is_terminal()
        {
            let name = target.format.name();
            return Err(CliError::Usage(format!(
                "{name} is not for a terminal: redirect it, or name a file: --to {name}:FILE"
            )));
        }
        if targets.iter().filter(|target| target.place == Place::Stdout).count() > 1 {
            return Err(CliError::Usage("only one format fits on standard output".into()));
        }
        let is_again =
            |(index, target): (usize, &Target)| targets[..index].iter().any(|other| other.place.is_same(&target.place));
        if targets.iter().enumerate().any(is_again) {
            return Err(CliError::Usage("two of --to have the same place; each needs its own".into()));
        }
        Ok(targets)
    }

    /// Whether transactions of streams are written, which are beside these in some formats.
    pub fn writes_transactions(&self) -> Result<bool, CliError> {
        // Of EVE's types, those that say nothing of what streams carry.
        const OF_FIGURES: [&str; 4] = ["alert", "flow", "netflow", "stats"];
        let is_of_figures = !self.eve_types.is_empty() && self.eve_types.iter().all(|name| OF_FIGURES.contains(name));
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
        let fits = |target: &&Target| target.format.has_place_for(tables[0].name);
        if let Some(target) = targets.iter().find(|target| !fits(target)) {
            let (name, records) = (target.format.name(), tables[0].name);
            let others = Format::with_place_for(records);
            return Err(CliError::Usage(format!("{name} has no place for {records}; {others} have")));
        }
        let inputs = captures.map(|common| capture_args::split(&common.files)).transpose()?;
        let inputs = inputs.map_or(&[][..], |(files, _)| files);
        for target in &targets {
            match &target.place {
                Place::Path(path) => own_input::refuse_over(inputs, path)?,
                Place::Stdout => own_input::refuse_over(inputs, Path::new("-"))?,
                Place::Udp(_) | Place::Tcp(_) => {}
            }
        }
        let memory_bytes = captures.map_or(MEMORY_BYTES, |common| common.parts(Kept::RECORDS).records());
        let outputs =
            targets.iter().filter(|target| matches!(target.format, Format::Parquet | Format::Arrow)).count().max(1)
                as u64;
        let settings = Settings {
            source: captures.map(source).unwrap_or_default(),
            rows_bytes: memory_bytes / outputs,
            tables,
            csv_header,
            eve: self.eve(),
            enterprise: self.ipfix_enterprise,
            udp_rate: self.udp_rate.unwrap_or(UDP_RATE),
            active_timeout_ns: Some(self.active_timeout.unwrap_or(ACTIVE_TIMEOUT).0).filter(|ns| *ns > 0),
            rotate: self.rotate.unwrap_or_default(),
            stop: stop.clone(),
            notify: |notice| error::notify(notice),
        };
        let exports = Exports::open(&targets, settings)?;
        let is_shown = !targets.iter().any(|target| target.place == Place::Stdout);
        Ok(Opened { exports: Arc::new(exports), is_shown })
    }

    /// Runs a subcommand whose records are written.
    pub fn run(&self, job: &Job<'_>) -> Result<u8, CliError> {
        // Options are checked before a file is created.
        job.common.check(job.mode)?;
        let mut session = Session::new(job.common)?;
        let (tables, csv_header) = job.tables();
        let opened = self.open(Some(job.common), tables, csv_header, &session.stop)?;
        let has_both = job.select.is_none() && self.writes_transactions()?;
        let exports = &opened.exports;
        session = session.keeping(kept(exports));
        session.export(exports);
        let (totals, transactions, closing) = run(exports, job, &session)?;
        let finished = opened.finish(&closing);
        let mut out = Out::last();
        if opened.is_shown {
            let written = if finished.is_ok() { "written" } else { "found, not all of them written" };
            let counts = counts(job.kind, has_both, &totals, transactions, written);
            let lines = totals.closing_lines(&counts, &Clock::default()).into_iter().chain(closing.lines(job.common));
            lines.into_iter().try_for_each(|line| out.line(&line))?;
            if job.kind == Kind::Streams && job.select.is_some() && self.writes_transactions()? {
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

/// What was found, and whether it was `written`. `has_both`: transactions beside streams.
fn counts(kind: Kind, has_both: bool, totals: &Totals, transactions: u64, written: &str) -> String {
    let transactions = counted(transactions, "transaction", "transactions");
    if kind == Kind::Transactions {
        return format!("{transactions} {written}");
    }
    let (flows, packets) = (counted(totals.streams, "flow", "flows"), counted(totals.packets, "packet", "packets"));
    let records = if has_both { format!("{flows} and {transactions}") } else { flows };
    format!("{records} {written}, {packets}, {}", Bytes(totals.bytes))
}

fn run(exports: &Arc<Exports>, job: &Job<'_>, session: &Session<'_>) -> Result<(Totals, u64, Closing), CliError> {
    // What is selected by may be fields or figures of reassembly.
    let is_figures = job.kind == Kind::Streams && job.select.is_none() && exports.wants_figures_only();
    if is_figures && job.common.mode.is_none() {
        return run_with::<false>(exports, &Job { mode: Mode::Track, ..job.clone() }, session);
    }
    if exports.wants_history() && job.kind == Kind::Streams {
        return run_with::<true>(exports, job, session);
    }
    run_with::<false>(exports, job, session)
}

fn run_with<const HISTORY: bool>(
    exports: &Arc<Exports>,
    job: &Job<'_>,
    session: &Session<'_>,
) -> Result<(Totals, u64, Closing), CliError>
where
    Exporting<HISTORY>: Handler,
{
    let services: Arc<[Service]> = job.services.into();
    let parts = job.common.parts(kept(exports));
    let make = |_| {
        let (rows, selected) = ((job.kind, job.rows), (job.select.clone(), job.cuts.clone()));
        Exporting::<HISTORY>::new(rows, selected, &services, exports, &parts)
    };
    let (handlers, closing) = session.run(job.mode, &[], make)?;
    let mut totals = Totals::default();
    handlers.iter().for_each(|handler| totals.merge(&handler.totals));
    job.cuts.iter().for_each(|cuts| cuts.say_ambiguous());
    app::say_refused(handlers.iter().map(|handler| handler.follower.refused()).sum());
    say_cut(handlers.iter().map(|handler| handler.cut_histories).sum());
    Ok((totals, handlers.iter().map(|handler| handler.transactions).sum(), closing))
}

/// What a run that writes keeps of the traffic.
fn kept(exports: &Exports) -> Kept {
    let (has_history, has_interim) = (exports.wants_history(), exports.active_timeout_ns().is_some());
    let fields = !exports.wants_figures_only();
    Kept { fields, quic: has_history, stream_bytes: follow::stream_bytes(has_history, has_interim), ..Kept::FIELDS }
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
    let interface = match common.live.interface.as_slice() {
        [name] if name != "any" && !name.contains(':') => Some(name.clone()),
        _ => None,
    };
    let file = match common.captures().as_deref() {
        Some([file]) if file.as_os_str() != "-" => Some(file.to_string_lossy().into_owned()),
        _ => None,
    };
    Source { is_live: common.live.is_on(), interface, file }
}

fn facts(closing: &Closing) -> Facts {
    Facts::of(&closing.ledger, closing.lost(), closing.uptime())
}
