//! `tidewire sensor`: one capture for many programs.

mod check;
mod metrics;
mod options;
pub mod parts;
mod rights;
mod status;

use std::{
    env,
    ffi::OsString,
    io,
    os::{fd::AsFd as _, unix::fs::FileTypeExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

pub use options::Options;
use tidewire::live::Interface;
use tidewire_sensor::{
    config::{CaptureInput, Examined, Machine, Mistake, Overrides, SensorConfig, System as _, examine},
    supervisor::{self, Recipe},
};

use crate::{
    error::{self, CliError, notify},
    live::interface_names,
    metrics::Metrics,
    run::watchdog,
    text_file,
};
use options::Commands;

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    if let Some(Commands::Status(options)) = &options.command {
        return status::run(options);
    }
    look_for_mistakes(options)?;
    if options.file.is_none() && options.interface.is_empty() && options.read.is_empty() {
        let message = "nothing to capture: name a configuration file, or use -i or -r; see tidewire sensor --help";
        return Err(CliError::Usage(message.into()));
    }
    let given = Overrides {
        interfaces: interface_names(&options.interface)?,
        files: options.read.clone(),
        directory: options.directory.as_deref().map(absolute).transpose()?,
        metrics: options.metrics.clone(),
        wait_for: options.wait_for.map(usize::from),
        is_running: false,
    };
    let examined = read(options.file.as_deref(), &given)?;
    let Some(config) = examined.config else {
        warn(&examined.warnings);
        examined.mistakes.iter().for_each(notify);
        return Ok(error::USAGE);
    };
    if options.check {
        warn(&examined.warnings);
        rights::report(&config);
        check::warn_of_users(&config);
        return check::print(&config);
    }
    // Interfaces of FILE may come after a restart; these were named now.
    for name in &given.interfaces {
        Interface::find(name).map_err(tidewire::Error::from)?;
    }
    // Warnings that the capture repeats as errors are shown once.
    let missing = missing_interfaces(&config);
    let warnings: Vec<_> = examined.warnings.into_iter().filter(|one| !missing.contains(&one.what)).collect();
    warn(&warnings);
    start(config, options.file.as_deref(), &given)
}

fn warn(warnings: &[Mistake]) {
    warnings.iter().for_each(|warning| notify(format_args!("warning: {warning}")));
}

/// Refuses words that were meant for something else.
fn look_for_mistakes(options: &Options) -> Result<(), CliError> {
    let is_configuration = |path: &&PathBuf| path.extension().is_some_and(|end| end == "toml");
    if let Some(file) = options.read.iter().find(is_configuration).filter(|_| options.file.is_none()) {
        let file = file.display();
        let what = format!("-r takes all words after it as captures, {file} as well");
        let message = format!("{what}; write FILE first: tidewire sensor {file} -r capture.pcap");
        return Err(CliError::Usage(message));
    }
    let is_word = |file: &&PathBuf| !file.to_string_lossy().contains(['.', '/']) && !file.exists();
    if let Some(file) = options.file.as_ref().filter(is_word) {
        let message = format!(
            "there is no file {}, and no such subcommand; to see a running sensor: tidewire sensor status",
            file.display()
        );
        return Err(CliError::Usage(message));
    }
    Ok(())
}

/// Messages about interfaces that are not there.
fn missing_interfaces(config: &SensorConfig) -> Vec<String> {
    match &config.capture.input {
        CaptureInput::Interfaces(names) => names.iter().filter_map(|name| Machine.interface(name).err()).collect(),
        CaptureInput::Files(_) => Vec::new(),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, CliError> {
    std::path::absolute(path).map_err(|error| CliError::Usage(format!("--directory: {error}")))
}

/// Reads the configuration, if there is a file, with the options.
fn read(file: Option<&Path>, given: &Overrides) -> Result<Examined, CliError> {
    // Opening one waits for a writer, who may never come. A pipe at /dev/stdin is open already.
    let is_pipe = |file: &Path| std::fs::symlink_metadata(file).is_ok_and(|found| found.file_type().is_fifo());
    if let Some(file) = file.filter(|file| is_pipe(file)) {
        let what = format!("{} is a named pipe; use a file, or a pipe at /dev/stdin", file.display());
        return Err(CliError::Usage(what));
    }
    let text = file.map(|file| text_file::read_text(file, text_file::CONFIG_BYTES_MAX)).transpose()?;
    let name = file.map_or_else(|| "options".to_owned(), |file| file.display().to_string());
    Ok(examine(text.as_deref().unwrap_or_default(), &name, given, &Machine))
}

/// Runs a sensor.
fn start(config: SensorConfig, file: Option<&Path>, given: &Overrides) -> Result<u8, CliError> {
    // Before capabilities are given up: the port may be a privileged one.
    let mut metrics = config.metrics.as_deref().map(Metrics::bind).transpose()?;
    let address = metrics.as_ref().map(|metrics| metrics.address().to_string());
    if let Some(address) = &address {
        notify(format_args!("metrics: http://{address}/metrics"));
    }
    let own = env::current_exe().map_err(|error| CliError::Input(format!("no path of this program: {error}")))?;
    let watchdog = watchdog::command().map_err(|error| CliError::Input(format!("no path of this program: {error}")))?;
    let (named, running) = (file.map(Path::to_owned), Overrides { is_running: true, ..given.clone() });
    let reread = move || {
        let file = named.as_deref();
        let failed = |what: CliError| vec![check::mistake(file, &what.to_string())];
        if file.is_none() {
            return Err(vec![check::mistake(file, "there is no configuration file to read again")]);
        }
        let examined = read(file, &running).map_err(failed)?;
        let warnings = examined.warnings;
        examined.config.map(|config| (config, warnings)).ok_or(examined.mistakes)
    };
    let mut publish = |status: &supervisor::status::SensorStatus| {
        if let Some(metrics) = &mut metrics {
            metrics.show(metrics::families(status));
            if let Err(error) = metrics.start() {
                notify(error);
            }
        }
    };
    let command = |name: &str| vec![OsString::from(&own), name.into()];
    let reads_input =
        matches!(&config.capture.input, CaptureInput::Files(files) if files.iter().any(|file| file.as_os_str() == "-"));
    let input = reads_input.then(|| io::stdin().as_fd().try_clone_to_owned()).transpose();
    let recipe = Recipe {
        capture: command("sensor-capture"),
        input: input.map_err(|error| CliError::Input(format!("standard input: {error}")))?,
        events: command("sensor-events"),
        spool: command("sensor-spool"),
        watchdog: watchdog.to_vec(),
        metrics: address,
        reread: Arc::new(reread),
        log: |text| notify(text),
        publish: &mut publish,
    };
    supervisor::run(config, recipe).map_err(|error| {
        let text = match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        };
        CliError::Input(text)
    })
}
