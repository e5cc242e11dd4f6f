use std::{
    env,
    path::{Path, PathBuf},
};

use clap::{ArgGroup, Args, ValueEnum};
use tidewire::Direction;
use tidewire_queue::{Attach, is_name};

use crate::error::CliError;

/// Where a sensor's sockets are, and the name of the one for queues.
const DIRECTORY: &str = "/run/tidewire";
const SOCKET: &str = "queues.sock";

/// Headings of the help.
const OUTPUT: &str = "Output";
const RECORDS: &str = "Records";

const EXAMPLES: &str = "\
Examples:
  tidewire attach streams --json
  tidewire attach streams --json --kind open,close --limit 100
  tidewire attach streams --exec 'python3 http.py' --follow
  tidewire attach packets.0 --raw --socket /tmp/sensor/queues.sock > packets.bin

Exit status: 0 when the queue ended or Ctrl-C came; 2 no such queue; 3 no server, no rights, queue full or corrupt.";

/// Read a queue of a running sensor, for programs in any language
///
/// Attaches to a queue of `tidewire sensor` and writes every record. A queue has at most 32 readers; each reads all records,
/// or, in a group (--group), those of the streams that are its own. A reader that is too slow loses records and reports which
/// (unless the queue holds for it: docs/sensor.md). At the end the number of records read, missed and lost is printed on
/// standard error. The environment variables that a sensor sets for its analyzers are defaults.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("form").required(true).multiple(true).args(["json", "raw", "exec"]))]
pub struct Options {
    /// The queue, as `tidewire sensor status` shows it [default: TIDEWIRE_QUEUE, else streams]
    #[arg(value_name = "QUEUE")]
    pub(super) queue: Option<String>,

    /// One JSON object for each record (docs/output.md)
    #[arg(long, conflicts_with = "raw", help_heading = OUTPUT)]
    pub(super) json: bool,

    /// Each record as in shared memory: a slot of 64 bytes, then its payload (docs/queues.md)
    #[arg(long, help_heading = OUTPUT)]
    pub(super) raw: bool,

    /// Start CMD (sh -c) with the records on its standard input, in JSON unless --raw is given. Restart and reattach it
    /// whenever it ends, after 0.1 s to 30 s
    #[arg(long, value_name = "CMD", help_heading = OUTPUT)]
    pub(super) exec: Option<String>,

    /// Do not start CMD again; its exit status is that of this command
    #[arg(long, requires = "exec", help_heading = OUTPUT)]
    pub(super) once: bool,

    /// The sensor's socket [default: queues.sock in --directory, else TIDEWIRE_SOCKET]
    #[arg(long, value_name = "PATH", conflicts_with = "directory", help_heading = RECORDS)]
    pub(super) socket: Option<PathBuf>,

    /// The sensor's directory [default: /run/tidewire]
    #[arg(long, value_name = "DIR", help_heading = RECORDS)]
    pub(super) directory: Option<PathBuf>,

    /// Name of this reader in `tidewire sensor status` [default: TIDEWIRE_NAME, else attach]
    #[arg(long, value_name = "NAME", help_heading = RECORDS)]
    pub(super) name: Option<String>,

    /// Join a group of readers: each stream goes to one of its members [default: TIDEWIRE_GROUP, else none]
    #[arg(long, value_name = "NAME", help_heading = RECORDS)]
    pub(super) group: Option<String>,

    /// When the queue ends, wait for the sensor's next one and continue; also wait for the first
    #[arg(long, help_heading = RECORDS)]
    pub(super) follow: bool,

    /// Only records of these kinds: open, data, gap, conflict, close, packet
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', value_enum, hide_possible_values = true, help_heading = RECORDS)]
    pub(super) kind: Vec<KindName>,

    /// Only records of one direction: c2s (client) or s2c (server); opens and closes belong to both
    #[arg(long, value_name = "DIR", value_parser = crate::arg_types::parse_direction, help_heading = RECORDS)]
    pub(super) direction: Option<Direction>,

    /// Only records of one stream
    #[arg(long, value_name = "ID", value_parser = crate::arg_types::whole::<u64>, help_heading = RECORDS)]
    pub(super) stream: Option<u64>,

    /// Stop after N records
    #[arg(long, value_name = "N", value_parser = crate::arg_types::whole::<u64>, help_heading = RECORDS)]
    pub(super) limit: Option<u64>,

    /// Print no message at the end
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// See [`tidewire_queue::records::RecordType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum KindName {
    Open,
    Data,
    Gap,
    Conflict,
    Close,
    Packet,
}

/// Where to attach, and as what.
pub(super) struct AttachTarget {
    pub socket: PathBuf,
    pub request: Attach,
}

impl Options {
    /// The options, completed by the environment of an analyzer that a sensor started.
    pub(super) fn place(&self) -> Result<AttachTarget, CliError> {
        let said = |given: &Option<String>, variable: &str| {
            given.clone().or_else(|| env::var(variable).ok()).filter(|text| !text.is_empty())
        };
        let queue = said(&self.queue, "TIDEWIRE_QUEUE").unwrap_or_else(|| "streams".into());
        let name = said(&self.name, "TIDEWIRE_NAME").unwrap_or_else(|| "attach".into());
        let group = said(&self.group, "TIDEWIRE_GROUP");
        for (what, name) in [("QUEUE", Some(&queue)), ("--name", Some(&name)), ("--group", group.as_ref())] {
            if let Some(name) = name.filter(|name| !is_name(name)) {
                let expected = "expected 1 to 64 letters, digits, '.', '-' and '_'";
                return Err(CliError::Usage(format!("invalid {what} '{name}': {expected}")));
            }
        }
        let socket = match (&self.socket, &self.directory, env::var_os("TIDEWIRE_SOCKET")) {
            (Some(socket), ..) => socket.clone(),
            (None, Some(directory), _) => directory.join(SOCKET),
            (None, None, Some(socket)) if !socket.is_empty() => socket.into(),
            _ => Path::new(DIRECTORY).join(SOCKET),
        };
        Ok(AttachTarget { socket, request: Attach { queue, name, group } })
    }
}
