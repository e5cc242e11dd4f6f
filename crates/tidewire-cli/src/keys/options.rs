use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::units::Span;

const EXAMPLES: &str = "\
Examples:
  tidewire keys collector collector.example.org
  tidewire keys sensor edge-1
  tidewire keys identity
  tidewire keys show authority.pem collector.pem edge-1.pem

The first one also makes authority.pem, which signs all others: keep it where sensors and collectors are not.";

/// Make keys and certificates for sensors and collectors
///
/// Each sensor and collector has one file with its key, its certificate and the certificate of the authority that made it. Only its
/// owner may read it (mode 0600): files that others can read are refused. An identity reads encrypted events and archives; its recipient is
/// what sensors and recorders encrypt to.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(subcommand)]
    pub(super) command: Commands,
}

#[derive(Subcommand, Debug)]
pub(super) enum Commands {
    Collector(CollectorOptions),
    Sensor(SensorOptions),
    Authority(AuthorityOptions),
    Renew(RenewOptions),
    Show(ShowOptions),
    Identity(IdentityOptions),
    Recipient(RecipientOptions),
}

const COLLECTOR: &str = "\
Examples:
  tidewire keys collector collector.example.org
  tidewire keys collector collector.example.org 192.0.2.10 2001:db8::10";

/// Make the key and certificate of a collector
#[derive(Args, Debug)]
#[command(after_help = COLLECTOR)]
pub struct CollectorOptions {
    /// Names and addresses by which sensors reach it
    #[arg(value_name = "HOST", required = true)]
    pub(super) hosts: Vec<String>,

    /// The file that is made
    #[arg(short, long, value_name = "FILE", default_value = "collector.pem")]
    pub(super) output: PathBuf,

    #[command(flatten)]
    pub(super) by: By,
}

const SENSOR: &str = "\
Examples:
  tidewire keys sensor edge-1
  tidewire keys sensor edge-1 --valid 90d -o /tmp/edge-1.pem";

/// Make the key and certificate of a sensor
#[derive(Args, Debug)]
#[command(after_help = SENSOR)]
pub struct SensorOptions {
    /// Its name: letters, digits, '-', '_' and '.'. The collector's folder for it has this name
    #[arg(value_name = "NAME")]
    pub(super) name: String,

    /// The file that is made [default: NAME.pem]
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,

    #[command(flatten)]
    pub(super) by: By,
}

/// Who signs, and for how long.
#[derive(Args, Debug)]
pub struct By {
    /// The authority; one is made if there is no such file
    #[arg(long, value_name = "FILE", default_value = "authority.pem")]
    pub(super) authority: PathBuf,

    /// How long the certificate is valid, at most as long as the authority
    #[arg(long, value_name = "TIME", default_value = "365d")]
    pub(super) valid: Span,
}

const AUTHORITY: &str = "\
Examples:
  tidewire keys authority
  tidewire keys authority -o /root/tidewire/authority.pem --valid 3650d";

/// Make an authority, which signs the certificates of all others
#[derive(Args, Debug)]
#[command(after_help = AUTHORITY)]
pub struct AuthorityOptions {
    /// The file that is made
    #[arg(short, long, value_name = "FILE", default_value = "authority.pem")]
    pub(super) output: PathBuf,

    /// How long it is valid
    #[arg(long, value_name = "TIME", default_value = "3650d")]
    pub(super) valid: Span,
}

const RENEW: &str = "\
Examples:
  tidewire keys renew collector.pem edge-1.pem";

/// Replace keys and certificates by new ones with the same names
#[derive(Args, Debug)]
#[command(after_help = RENEW)]
pub struct RenewOptions {
    /// Files of sensors and collectors
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,

    /// The authority
    #[arg(long, value_name = "FILE", default_value = "authority.pem")]
    pub(super) authority: PathBuf,

    /// How long the certificates are valid, at most as long as the authority
    #[arg(long, value_name = "TIME", default_value = "365d")]
    pub(super) valid: Span,
}

const SHOW: &str = "\
Examples:
  tidewire keys show collector.pem edge-1.pem
  tidewire keys show /etc/tidewire/edge-1.pem --json";

/// Show certificates: whose, what for, until when
#[derive(Args, Debug)]
#[command(after_help = SHOW)]
pub struct ShowOptions {
    /// Files with certificates
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,

    /// One JSON object a certificate (docs/delivery.md)
    #[arg(long)]
    pub(super) json: bool,
}

const IDENTITY: &str = "\
Examples:
  tidewire keys identity
  tidewire keys identity -o /root/tidewire/identity.txt";

/// Make an identity that reads encrypted events and archives
///
/// Prints its recipient: a name (age1...) to which sensors and `tidewire record --encrypt-to` encrypt. Only the identity reads what
/// is encrypted to it (`tidewire recall --identity FILE`).
#[derive(Args, Debug)]
#[command(after_help = IDENTITY)]
pub struct IdentityOptions {
    /// The file that is made. Keep it where events and archives are read, not on sensors and recorders
    #[arg(short, long, value_name = "FILE", default_value = "identity.txt")]
    pub(super) output: PathBuf,
}

const RECIPIENT: &str = "\
Examples:
  tidewire keys recipient identity.txt";

/// Print the recipients of a file with identities
#[derive(Args, Debug)]
#[command(after_help = RECIPIENT)]
pub struct RecipientOptions {
    /// A file of 'tidewire keys identity' or age-keygen(1)
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
}
