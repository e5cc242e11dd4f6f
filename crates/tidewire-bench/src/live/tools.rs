//! The programs that are compared, and whether they are present.

use std::{path::Path, process::Command};

use crate::{peer_output::Format, program::Program};

/// Memory of every program's ring, bytes: the same for all.
pub const RING_BYTES: u64 = 64 << 20;

/// Paths of the programs.
#[derive(Clone, Debug)]
pub struct Tools {
    tidewire: String,
    pcap_loop: String,
    nids_loop: String,
    stream_loop: String,
}

/// A program, or why it is absent.
pub type Maybe = Result<Program, String>;

impl Tools {
    /// The programs of a build.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        let path = |name: &str| folder.join(name).display().to_string();
        Self {
            tidewire: path("tidewire"),
            pcap_loop: path("pcap-loop"),
            nids_loop: path("nids-loop"),
            stream_loop: path("stream-loop"),
        }
    }

    /// A `tidewire` command, if this build has it and its options.
    ///
    /// # Errors
    /// The build lacks the command or an option.
    pub fn tidewire(&self, name: &str, command: &str, options: &[&str]) -> Maybe {
        let help = Command::new(&self.tidewire).args([command, "--help"]).output();
        let help = help.map_err(|error| format!("{name}: {}: {error}", self.tidewire))?;
        if !help.status.success() {
            return Err(format!("{name}: this build has no `tidewire {command}`"));
        }
        let help = String::from_utf8_lossy(&help.stdout).into_owned();
        let absent = options.iter().find(|word| word.starts_with("--") && !help.contains(**word));
        if let Some(option) = absent {
            return Err(format!("{name}: `tidewire {command}` of this build has no {option}"));
        }
        let words: Vec<&str> =
            [self.tidewire.as_str(), command, "-i", "IFACE"].iter().chain(options).copied().collect();
        Ok(Program::new(name, &words).format(Format::Tidewire))
    }

    /// A loop over libpcap.
    ///
    /// # Errors
    /// It was not built.
    pub fn pcap_loop(&self, name: &str, work_ns: u64, ring_bytes: u64) -> Maybe {
        built(&self.pcap_loop)?;
        let (work, ring) = (work_ns.to_string(), ring_bytes.to_string());
        Ok(Program::new(name, &[&self.pcap_loop, "IFACE", "--work-ns", &work, "--buffer", &ring]).format(Format::Loop))
    }

    /// The library counting (`count`) or matching (`match`).
    ///
    /// # Errors
    /// It was not built.
    pub fn streams(&self, name: &str, work: &str, more: &[&str]) -> Maybe {
        built(&self.stream_loop)?;
        let mut words = vec![self.stream_loop.as_str(), "IFACE", work];
        words.extend(more);
        Ok(Program::new(name, &words).format(Format::Loop))
    }

    /// libnids with flows (`flows`), counting (`count`) or matching (`match`).
    ///
    /// # Errors
    /// It was not built.
    pub fn libnids(&self, name: &str, work: &str, more: &[&str]) -> Maybe {
        built(&self.nids_loop)?;
        let mut words = vec![self.nids_loop.as_str(), "--interface", "IFACE", work, "--no-checksums"];
        words.extend(more);
        Ok(Program::new(name, &words).format(Format::Loop))
    }
}

/// tcpdump, which writes packets to `/dev/null`.
///
/// # Errors
/// It is not installed.
pub fn tcpdump() -> Maybe {
    installed("tcpdump")?;
    let kilobytes = (RING_BYTES >> 10).to_string();
    let words = ["tcpdump", "-i", "IFACE", "-n", "-w", "/dev/null", "-B", &kilobytes];
    Ok(Program::new("tcpdump -w /dev/null", &words).format(Format::Tcpdump))
}

/// softflowd, which exports flows over the loopback interface.
///
/// # Errors
/// It is not installed.
pub fn softflowd() -> Maybe {
    installed("softflowd")?;
    let socket = format!("/tmp/tidewire-bench-live-{}.sock", std::process::id());
    let pid = format!("/tmp/tidewire-bench-live-{}.pid", std::process::id());
    let ring = RING_BYTES.to_string();
    let words = [
        "softflowd",
        "-i",
        "IFACE",
        "-d",
        "-n",
        "127.0.0.1:9995",
        "-v",
        "10",
        "-m",
        "2000000",
        "-B",
        &ring,
        "-c",
        &socket,
        "-p",
        &pid,
    ];
    Ok(Program::new("softflowd", &words).format(Format::Softflowd(socket.clone())))
}

fn built(path: &str) -> Result<(), String> {
    if Path::new(path).exists() { Ok(()) } else { Err(format!("{path} was not built")) }
}

fn installed(name: &str) -> Result<(), String> {
    let found = Command::new("which").arg(name).output().is_ok_and(|output| output.status.success());
    if found { Ok(()) } else { Err(format!("{name} is not installed")) }
}
