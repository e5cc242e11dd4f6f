//! `tidewire keys`: keys and certificates of sensors and collectors, identities and recipients.

mod options;
mod show;
mod words;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

pub use options::Options;
use options::{By, Commands};
use tidewire_delivery::keys::{Authority, Role, Validity, certificates, files, identity};

use words::{date, failed};

use crate::{
    error::{self, CliError, notify},
    output::Out,
    terminal,
    units::Span,
};

/// How long an authority is valid that is made on the way.
const AUTHORITY_VALID: Duration = Duration::from_secs(3650 * 86_400);
/// The longest validity: times in certificates have four digits for the year.
const VALID_MAX: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Lines that a sensor's configuration needs.
const CONFIGURATION: [&str; 4] = [
    "  [destination.central]",
    "  type = \"collector\"",
    "  address = \"HOST-OF-THE-COLLECTOR:9610\"",
    "  keys = \"PATH-OF-THIS-FILE\"",
];

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    match &options.command {
        Commands::Collector(options) => {
            let validity = valid(options.by.valid)?;
            let text = authority(&options.by)?.collector(&options.hosts, validity).map_err(failed)?;
            files::create(&options.output, &text).map_err(failed)?;
            made(&options.output, format_args!("key and certificate of the collector {}", options.hosts.join(", ")))?;
            notify(format_args!(
                "start the collector:\n  tidewire collect --store DIR --keys {}",
                terminal::shell_word(&options.output)
            ));
        }
        Commands::Sensor(options) => {
            let validity = valid(options.by.valid)?;
            let text = authority(&options.by)?.sensor(&options.name, validity).map_err(failed)?;
            let file = options.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.pem", options.name)));
            files::create(&file, &text).map_err(failed)?;
            made(&file, format_args!("key and certificate of the sensor {}", options.name))?;
            notify("copy it to the sensor (mode 0600, owned by the sensor's user), and add to its configuration:");
            for line in CONFIGURATION {
                notify(line);
            }
        }
        Commands::Authority(options) => make_authority(&options.output, valid(options.valid)?).map(drop)?,
        Commands::Renew(options) => {
            let validity = valid(options.valid)?;
            let authority = Authority::read(&options.authority).map_err(failed)?;
            options.files.iter().try_for_each(|file| renew(&authority, file, validity))?;
        }
        Commands::Show(options) => return show::run(options),
        Commands::Identity(options) => {
            let (text, recipient) = identity::make();
            files::create(&options.output, &text).map_err(failed)?;
            let file = options.output.display();
            notify(format_args!(
                "{file}: an identity; who has this file reads the events and archives. Sensors and recorders encrypt to its recipient:"
            ));
            print(&[recipient])?;
        }
        Commands::Recipient(options) => print(&identity::recipients(&options.file).map_err(failed)?)?,
    }
    Ok(error::OK)
}

fn print(lines: &[String]) -> Result<(), CliError> {
    let mut out = Out::stdout();
    lines.iter().try_for_each(|line| out.line(line))?;
    out.flush()
}

fn valid(span: Span) -> Result<Validity, CliError> {
    let span = Duration::from_nanos(span.0);
    if span.is_zero() || span > VALID_MAX {
        return Err(CliError::Usage("--valid: expected a time of up to 100 years, as in 365d".into()));
    }
    Ok(Validity::of(span))
}

/// The authority of this file, made if there is none.
fn authority(by: &By) -> Result<Authority, CliError> {
    if by.authority.exists() {
        return Authority::read(&by.authority).map_err(failed);
    }
    make_authority(&by.authority, Validity::of(AUTHORITY_VALID))
}

fn make_authority(file: &Path, validity: Validity) -> Result<Authority, CliError> {
    let (authority, text) = Authority::make("Tidewire authority", validity).map_err(failed)?;
    files::create(file, &text).map_err(failed)?;
    made(file, "a new authority; who has this file can make sensors and collectors: keep it elsewhere")?;
    Ok(authority)
}

/// Says what a file is, and until when.
fn made(file: &Path, what: impl std::fmt::Display) -> Result<(), CliError> {
    let certificates = certificates(file).map_err(failed)?;
    let until = certificates.first().map(|(_, facts)| date(facts.ends)).unwrap_or_default();
    notify(format_args!("{}: {what}; valid until {until}", file.display()));
    Ok(())
}

fn renew(authority: &Authority, file: &Path, validity: Validity) -> Result<(), CliError> {
    let certificates = certificates(file).map_err(failed)?;
    let wrong = |what: &str| CliError::Input(format!("{}: {what}", file.display()));
    let (_, facts) = certificates.first().ok_or_else(|| wrong("this file holds no certificate"))?;
    let (text, then) = match facts.role {
        Role::Sensor => {
            (authority.sensor(&facts.name, validity), "copy it to the sensor, which reads it when it connects again")
        }
        Role::Collector => {
            (authority.collector(&facts.hosts, validity), "send SIGHUP to the collector, which reads it again")
        }
        _ => {
            return Err(wrong(
                "its certificate is neither that of a sensor nor of a collector; make a new authority instead",
            ));
        }
    };
    files::replace(file, &text.map_err(failed)?).map_err(failed)?;
    made(file, format_args!("renewed for {}", facts.name))?;
    notify(then);
    Ok(())
}
