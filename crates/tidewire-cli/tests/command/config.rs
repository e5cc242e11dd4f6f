//! Options from a TOML file: the same as on the command line; errors have the position of the mistake.

use tidewire_testing::InTime as _;

use crate::common::*;

#[test]
fn configuration_file() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let text_of = |toml: &str, arguments: &[&str]| {
        let config = bench.file("tidewire.toml", toml.as_bytes());
        text(&[arguments, &["--config", &config]].concat()).0
    };
    let plain = |arguments: &[&str]| text(arguments).0;
    let settings =
        format!("files = ['{capture}']\njson = true\nlimit = 2\ncutoff = '3'\n[streams]\ndigest = 'sha256'\n");
    let expected = plain(&["streams", &capture, "--json", "--limit", "2", "--cutoff", "3", "--digest", "sha256"]);
    assert_eq!(text_of(&settings, &["streams"]), expected);
    // Tables of other subcommands are ignored, and so are keys at the top that only others have.
    let flows = plain(&["flows", &capture, "--json", "--limit", "2", "--cutoff", "3"]);
    assert_eq!(text_of(&settings, &["flows"]), flows);
    assert_eq!(text_of("pattern = ['x']", &["flows", &capture]), plain(&["flows", &capture]));
    // The command line overrides the file.
    let plain_cut = |arguments: &[&str]| plain(&[arguments, &["--cutoff", "3"]].concat());
    assert_eq!(
        text_of(&settings, &["flows", "--limit", "1"]),
        plain_cut(&["flows", &capture, "--json", "--limit", "1"])
    );
    assert_eq!(text_of(&settings, &["flows", "--csv"]), plain_cut(&["flows", &capture, "--csv", "--limit", "2"]));
    let no_json = plain_cut(&["flows", &capture, "--limit", "2"]);
    assert_eq!(text_of(&settings, &["flows", "--no-json"]), no_json);
    // Lists, numbers, a stream's id after captures from the file.
    let found = text_of("pattern = ['hello', 'HTTP']\nworkers = 2", &["match", &capture]);
    assert_eq!(found, plain(&["match", &capture, "-e", "hello", "-e", "HTTP"]));
    let followed = text_of(&format!("files = ['{capture}']"), &["follow", "1"]);
    assert_eq!(followed, plain(&["follow", &capture, "1"]));
}

#[test]
fn mistakes_in_the_configuration_file_are_placed() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let cases = [
        ("chunk-sice = '1K'", "line 1, column 1: unknown option 'chunk-sice'; did you mean 'chunk-size'?"),
        ("chunk_size = '1K'", "unknown option 'chunk_size'; did you mean 'chunk-size'?"),
        ("zebra = 1", "line 1, column 1: unknown option 'zebra'; see tidewire flows --help"),
        ("\n  overlap = '64Q'", "line 2, column 13: "),
        ("workers = ", "line 1, column "),
        ("[flows]\ndigest = 'sha256'", "line 2, column 1: 'flows' has no option 'digest'"),
        ("outer = 'yes'", "line 1, column 9: 'outer' is true or false"),
        ("workers = [1, 2]", "line 1, column 11: 'workers' wants one value"),
        ("config = 'other.toml'", "line 1, column 1: unknown option 'config'"),
        ("[nothing]\na = 1", "unknown option 'nothing'"),
        ("[flwos]\na = 1", "unknown option 'flwos'; did you mean [flows]?"),
        ("file = 'a.pcap'", "unknown option 'file'; did you mean 'files'?"),
    ];
    for (toml, expected) in cases {
        let config = bench.file("wrong.toml", toml.as_bytes());
        let (message, code) = complaint(&["flows", &capture, "--config", &config]);
        assert!(message.contains("wrong.toml: ") && message.contains(expected), "{toml}: {message}");
        assert_eq!(code, 2);
    }
    let (message, code) = complaint(&["flows", &capture, "--config", "/nonexistent.toml"]);
    assert!(message.contains("cannot read") && code == 2);
}

#[test]
fn every_mistake_of_a_configuration_file_is_named() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let text = "workers = 'many'\nouter = 1\nzebra = 1\ntop = \n[flows]\ndigest = 'md5'\nlimit = [1, 2]\n";
    let config = bench.file("wrong.toml", text.as_bytes());
    let (message, code) = complaint(&["flows", &capture, "--config", &config]);
    let places: Vec<&str> = message
        .lines()
        .filter_map(|line| line.split_once("wrong.toml: line "))
        .filter_map(|(_, rest)| rest.split_once(','))
        .map(|(line, _)| line)
        .collect();
    // Mistakes of the language come first.
    assert_eq!((places, code), (vec!["4", "1", "2", "3", "6", "7"], 2), "{message}");
}

/// Every option that the help of a subcommand names is known to the configuration file, where a value that fits none
/// is refused at its place.
#[test]
fn every_option_can_stand_in_the_configuration_file() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    for command in ["flows", "streams", "extract", "follow", "match", "datagrams"] {
        let (help, _) = text(&[command, "--help"]);
        let begins = help.lines().filter(|line| line.trim_start().starts_with('-'));
        let names: Vec<&str> = begins
            .filter_map(|line| line.split_once("--"))
            .filter_map(|(_, rest)| rest.split([' ', '[']).next())
            .filter(|name| !matches!(*name, "help" | "config" | "version"))
            .collect();
        assert!(names.len() > 30, "{command}: {names:?}");
        for name in names {
            let config = bench.file("one.toml", format!("[{command}]\n{name} = {{}}\n").as_bytes());
            let (message, code) = complaint(&[command, &capture, "--config", &config]);
            assert!(message.contains("one.toml: line 2, column ") && code == 2, "{command} {name}: {message}");
            assert!(!message.contains("has no option"), "{command} {name}: {message}");
            let config = bench.file("one.toml", format!("[{command}]\n{name} = '1'\n").as_bytes());
            let mut run = command_inside(&bench, &[command, &capture, "--config", &config]);
            let output = run.run_in_time().unwrap();
            let message = String::from_utf8_lossy(&output.stderr);
            assert!(matches!(output.status.code(), Some(0..=4)), "{command} {name}: {message}");
        }
    }
}

/// The command in a directory of its own: one of the options writes.
fn command_inside(bench: &Bench, arguments: &[&str]) -> std::process::Command {
    let mut run = command(arguments);
    run.current_dir(bench.directory.path());
    run
}
