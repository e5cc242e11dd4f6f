//! The help: subcommands in groups, common options for `-h`, all options for `--help`, and examples.

use clap::{Arg, Command};

use crate::error;

/// Groups of commands in `tidewire --help`.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Look at traffic (files or interfaces)",
        &["flows", "streams", "transactions", "follow", "match", "extract", "datagrams"],
    ),
    ("Recorded packets", &["record", "recall"]),
    ("Capture", &["count", "top", "split", "check-steering"]),
    ("Serve other programs", &["sensor", "attach"]),
    ("Events", &["events", "event", "collect", "keys"]),
    ("Existing programs", &["run"]),
    ("Make traffic", &["gen", "lab"]),
];

/// Headings whose options are rarely needed: `-h` leaves them out.
const RARE: [&str; 8] =
    ["Live", "Streams", "Fragments", "Delivery", "Memory and overload", "Segments", "What is kept", "Look-back"];

/// Options under these headings that `-h` still shows.
const COMMON: [&str; 6] = ["interface", "duration", "packets", "cutoff", "keep_last", "encrypt_to"];

/// Options under other headings that `-h` leaves out; `record`, which runs for months, shows its configuration.
const OTHERS: [&str; 7] = ["workers", "config", "expression", "stats", "format", "rotate", "eve_types"];

const EXAMPLES: &str = "\
Examples:
  tidewire flows capture.pcap                 who talked to whom
  tidewire streams capture.pcap tcp port 80   what arrived, what is missing
  tidewire follow capture.pcap 6              the conversation with id 6
  tidewire match capture.pcap -e password     a pattern in streams
  tidewire flows -i eth0 --duration 10s       live, as flows end

tidewire COMMAND -h lists the common options, tidewire COMMAND --help all of them.";

/// Examples of commands; those of `gen`, `split` and `run` are beside their options.
const OF_COMMANDS: [(&str, &str); 11] = [
    (
        "flows",
        "\
Examples:
  tidewire flows capture.pcap
  tidewire flows capture.pcap tcp port 80 --top bytes --limit 5
  tidewire flows capture.pcap --columns start,client,server,bytes --time iso
  tidewire flows capture.pcap --where 'tls.sni ends with example.org'
  tidewire flows -i eth0 --duration 1m --json > flows.jsonl",
    ),
    (
        "streams",
        "\
Examples:
  tidewire streams capture.pcap
  tidewire streams capture.pcap host 192.0.2.10 --sort missing
  tidewire streams capture.pcap --cutoff 16K --digest sha256 --json
  tidewire streams -i eth0 --cutoff 64K --csv --time utc",
    ),
    (
        "follow",
        "\
Examples:
  tidewire follow capture.pcap 6
  tidewire follow capture.pcap 6 --direction s2c --as raw > answer.bin
  tidewire follow capture.pcap 6 --as hex",
    ),
    (
        "match",
        "\
Examples:
  tidewire match capture.pcap -e password -e '|0d 0a|Cookie:'
  tidewire match capture.pcap -f patterns.txt --ignore-case --count
  tidewire match -i eth0 -e 'hex:cafebabe' --stop-after 1",
    ),
    (
        "transactions",
        "\
Examples:
  tidewire transactions capture.pcap
  tidewire transactions capture.pcap udp port 53 --json
  tidewire transactions capture.pcap --where 'dns.rcode = NXDOMAIN or http.status >= 500'
  tidewire transactions -i eth0 --duration 10s",
    ),
    (
        "extract",
        "\
Examples:
  tidewire extract capture.pcap -o streams
  tidewire extract capture.pcap tcp port 25 -o mail --fill marker
  tidewire extract -i eth0 -o streams --cutoff 1M --duration 1h",
    ),
    (
        "datagrams",
        "\
Examples:
  tidewire datagrams capture.pcap
  tidewire datagrams capture.pcap --policy windows --json",
    ),
    (
        "count",
        "\
Examples:
  tidewire count -i eth0
  tidewire count -i eth0 -i eth1 --workers 2 --duration 10s
  tidewire count -i eth0 tcp port 443 --json",
    ),
    (
        "top",
        "\
Examples:
  tidewire top -i eth0
  tidewire top -i eth0 --workers 2 tcp",
    ),
    (
        "check-steering",
        "\
Examples:
  tidewire check-steering capture.pcap hash
  tidewire check-steering capture.pcap 'tcp >-> steer_flow' --workers 8",
    ),
    (
        "lab",
        "\
Examples:
  tidewire lab net up -- tidewire gen udp -i tx0 --packets 1000",
    ),
];

/// Whether a command exists in a complete build.
#[cfg_attr(feature = "live", allow(dead_code, reason = "all of them exist"))]
pub fn is_command(name: &str) -> bool {
    GROUPS.iter().any(|(_, names)| names.contains(&name))
}

/// Completes the definition of the program: groups of commands, usage, examples.
pub fn completed(program: Command) -> Command {
    let names: Vec<String> = program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let program = names.into_iter().fold(program, |program, name| program.mut_subcommand(name, of_command));
    let template = template(&program);
    let examples = available(EXAMPLES);
    let long = format!("{examples}\n\n{}", error::EXIT_CODES);
    program.help_template(template).after_help(examples).after_long_help(long)
}

/// Lists the fields of `--where`: for the complete help and the manual pages, since other runs need not pay for it.
pub fn with_fields(program: Command) -> Command {
    let names: Vec<String> = program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.into_iter().fold(program, |program, name| program.mut_subcommand(name, crate::where_option::with_fields))
}

/// Hides rarely used options from `-h`. The manual pages have all options.
pub fn shortened(program: Command) -> Command {
    let names: Vec<String> = program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.into_iter().fold(program, |program, name| {
        program.mut_subcommand(name, |command| {
            let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let used: Vec<&str> = examples.split_whitespace().filter_map(|word| word.strip_prefix("--")).collect();
            let is_used = |arg: &Arg| arg.get_long().is_some_and(|long| used.contains(&long));
            let is_record = command.get_name() == "record";
            let is_shown = |arg: &Arg| is_common(arg) || is_used(arg) || is_record && arg.get_id() == "config";
            command.mut_args(|arg| if is_shown(&arg) { arg } else { arg.hide_short_help(true) })
        })
    })
}

/// Leaves out examples with interfaces where the feature `live` is not built.
fn available(examples: &str) -> String {
    let is_available = |line: &&str| cfg!(feature = "live") || !line.contains(" -i ");
    examples.lines().filter(is_available).collect::<Vec<_>>().join("\n")
}

fn of_command(command: Command) -> Command {
    let command = crate::export::narrowed(command);
    let examples = OF_COMMANDS.iter().find(|(name, _)| *name == command.get_name());
    let has = |id: &str| command.get_arguments().any(|arg| arg.get_id() == id);
    let captures = match (has("expression"), has("files"), has("stream")) {
        // Its options are those of the other commands, but it reads no files.
        (true, true, false) if command.get_name() == "top" => Some(" --interface <NAME>"),
        (true, true, false) => Some(" [CAPTURE]..."),
        (true, true, true) => Some(" <CAPTURE>... <STREAM>"),
        (true, false, _) if has("directories") => Some(" <DIR>..."),
        (true, false, _) => Some(""),
        _ => None,
    };
    let usage = captures.map(|words| format!("tidewire {} [OPTIONS]{words} [[--] <EXPR>...]", command.get_name()));
    let command = match usage {
        Some(usage) => command.override_usage(usage),
        None => command,
    };
    let command = if command.get_name() == "top" {
        let command = command.mut_arg("files", |arg| arg.hide(true));
        command.mut_arg("expression", |arg| arg.help("As --filter: tidewire top -i eth0 tcp port 80"))
    } else {
        command
    };
    match examples {
        Some((_, examples)) => command.after_help(available(examples)),
        None => command,
    }
}

fn is_common(arg: &Arg) -> bool {
    let is_rare = arg.get_help_heading().is_some_and(|heading| RARE.contains(&heading));
    let name = arg.get_id().as_str();
    if is_rare { COMMON.contains(&name) } else { !OTHERS.contains(&name) }
}

/// The template of the program's help, since clap has no groups of commands.
fn template(program: &Command) -> String {
    let style = program.get_styles().get_header();
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (title, names) in GROUPS {
        let commands: Vec<&Command> = names.iter().filter_map(|name| program.find_subcommand(name)).collect();
        if commands.is_empty() {
            continue;
        }
        text.push_str(&format!("\n{style}{title}:{style:#}\n"));
        let name_style = program.get_styles().get_literal();
        for command in commands {
            let (name, about) = (command.get_name(), command.get_about().map(ToString::to_string).unwrap_or_default());
            text.push_str(&format!("  {name_style}{name}{name_style:#}{:<1$}{about}\n", "", 16 - name.len().min(16)));
        }
    }
    text + &format!("\n{style}Options:{style:#}\n{{options}}{{after-help}}")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Program;

    #[test]
    fn every_command_is_in_one_group_and_fits_its_line() {
        let program = Program::command();
        for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = command.get_name();
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&name)).count();
            assert_eq!(groups, 1, "{name}");
            let about = command.get_about().expect("what it is for").to_string();
            assert!(about.len() <= 62 && !about.contains('{'), "{name}: {about}");
            let examples = OF_COMMANDS.iter().any(|(known, _)| *known == name);
            assert!(examples || command.get_after_help().is_some(), "{name} has no example");
        }
    }

    /// Examples can be typed: every option in them exists and accepts the value.
    #[test]
    fn the_examples_are_understood() {
        let program = completed(Program::command());
        let mut run = 0;
        let of_commands = program.get_subcommands().filter_map(|command| command.get_after_help());
        let all: Vec<String> = of_commands.map(ToString::to_string).chain([available(EXAMPLES)]).collect();
        for line in all.iter().flat_map(|text| text.lines()).filter_map(|line| line.trim().strip_prefix("tidewire ")) {
            let line = line.split("   ").next().unwrap_or(line);
            if line.starts_with("COMMAND") || line.contains("sh -c") || line.contains(';') {
                continue;
            }
            let words = words(line);
            let parsed = program.clone().try_get_matches_from(std::iter::once("tidewire".to_owned()).chain(words));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            run += 1;
        }
        assert!(run > if cfg!(feature = "live") { 30 } else { 12 }, "only {run} examples found");
    }

    /// Splits a line into words as a shell does, up to a redirection.
    fn words(line: &str) -> Vec<String> {
        let quoted = line.split('\'').enumerate();
        let parts = quoted.flat_map(|(index, part)| match index % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        parts.take_while(|word| word != ">").collect()
    }

    #[test]
    fn the_short_help_is_short() {
        for command in
            shortened(completed(Program::command())).get_subcommands_mut().filter(|command| !command.is_hide_set())
        {
            let short = command.clone().term_width(80).render_help().to_string();
            let lines = short.lines().count();
            assert!(lines <= 64, "{}: {lines} lines\n{short}", command.get_name());
            // Options in examples must be listed above them; those of nested commands are in their own help.
            let (options, examples) = short.split_once("xamples:").unwrap_or((&short, ""));
            let examples = if command.has_subcommands() { "" } else { examples };
            for option in examples.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2) {
                assert!(options.contains(option), "{}: {option} is used and not listed", command.get_name());
            }
            assert!(short.contains("tidewire ") && short.contains("xample"), "{short}");
        }
    }
}
