//! Runs every command in README.md and docs/ and compares its output; runs the commands of SPECIFICATION.md. TIDEWIRE_BLESS=1
//! writes the output to the documents.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tidewire_testing::InTime as _;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs a shell line (both outputs), in 80 columns, in a directory with the corpus and the tour's configuration file.
fn shell(line: &str) -> (String, i32) {
    let place = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(Path::new(ROOT).canonicalize().unwrap().join("tests"), place.path().join("tests"))
        .unwrap();
    let tour = fs::read_to_string(Path::new(ROOT).join("docs/tour.md")).unwrap();
    let settings = tour.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    fs::write(place.path().join("tidewire.toml"), settings).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_tidewire")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {line}")])
        .current_dir(place.path())
        .envs([("PATH", path.as_str()), ("COLUMNS", "80"), ("TZ", "UTC"), ("D", "tests/corpus/demo/demo.pcap")])
        .stdin(Stdio::null())
        .run_in_time()
        .unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap_or(-1))
}

/// The text without times that differ between runs.
fn without_times(text: &str) -> String {
    let is_figure = |c: char| c.is_ascii_digit() || c == '.';
    let mut out = String::new();
    for line in text.lines() {
        let line = match (line.split_once("\"elapsed_ns\":"), line.rsplit_once(" in ")) {
            (Some((before, after)), _) => format!("{before}{}", after.trim_start_matches(is_figure)),
            (_, Some((before, _))) if line.starts_with("received ") => before.to_owned(),
            _ => line.to_owned(),
        };
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// A block of commands with their current output.
fn run_block(block: &str) -> String {
    let commands = block.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.map(|command| format!("$ {command}\n{}", shell(command).0)).collect()
}

fn documents() -> Vec<PathBuf> {
    let docs = fs::read_dir(Path::new(ROOT).join("docs")).unwrap().map(|entry| entry.unwrap().path());
    docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .chain([Path::new(ROOT).join("README.md")])
        .collect()
}

#[test]
fn what_the_documents_show_is_what_is_printed() {
    let bless = std::env::var_os("TIDEWIRE_BLESS").is_some();
    let mut run = 0;
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        let mut parts: Vec<String> = text.split("```").map(str::to_owned).collect();
        for block in parts.iter_mut().skip(1).step_by(2) {
            let Some(shown) = block.strip_prefix('\n').filter(|shown| shown.starts_with("$ tidewire ")) else {
                continue;
            };
            run += 1;
            let printed = run_block(shown);
            if without_times(&printed) != without_times(shown) {
                assert!(bless, "{}:\n{shown}\nprints today:\n{printed}", path.display());
                *block = format!("\n{printed}");
            }
        }
        if bless {
            fs::write(&path, parts.join("```")).unwrap();
        }
    }
    assert!(run >= 14, "only {run} blocks found");
}

/// A file of the documents is this text; TIDEWIRE_BLESS=1 writes it.
fn assert_fresh(name: &str, today: &str) {
    let path = Path::new(ROOT).join("docs").join(name);
    if std::env::var_os("TIDEWIRE_BLESS").is_some() {
        fs::write(&path, today).unwrap();
    } else {
        let text = fs::read_to_string(&path).unwrap_or_default();
        assert!(today == text, "docs/{name}: is not made of today's descriptions: make generated");
    }
}

/// The tables of fields in docs/output.md and docs/formats.md, and the schemas, are made of the descriptions of records.
#[test]
fn documents_of_fields_are_those_of_the_descriptions() {
    use tidewire_exports::{ipfix, records};
    let tables = records::tables().into_iter().map(|(name, table)| ("output.md", name, table));
    for (file, name, table) in
        tables.chain([("formats.md", "in other formats", records::other_formats(ipfix::elements_of_protocols()))])
    {
        let text = fs::read_to_string(Path::new(ROOT).join("docs").join(file)).unwrap();
        let begin = format!("<!-- fields: {name} -->\n");
        let (before, rest) = text.split_once(&begin).expect(name);
        let (_, after) = rest.split_once("<!-- end of fields -->").expect(name);
        assert_fresh(file, &format!("{before}{begin}{table}<!-- end of fields -->{after}"));
    }
    for (file, schema) in records::schemas() {
        assert_fresh(&format!("schemas/{file}"), &schema);
    }
}

/// Lines of JSON are valid by their schemas, and each of their members is described there.
#[test]
fn lines_are_valid_by_their_schemas() {
    let commands = [
        ("flow.json", "flows"),
        ("stream.json", "streams --digest sha256"),
        ("transaction.json", "transactions"),
        ("datagram.json", "datagrams"),
        ("match.json", "match -e HTTP"),
        ("file.json", "extract -o files"),
    ];
    let captures = ["demo/demo.pcap", "vlan-tenants/capture.pcap", "time-back/capture.pcap"];
    let mut lines = Vec::new();
    for (schema, command) in commands {
        let folder: PathBuf = Path::new(ROOT).join("docs/schemas").join(schema);
        let described: serde_json::Value = serde_json::from_str(&fs::read_to_string(folder).unwrap()).unwrap();
        for capture in captures {
            let (printed, _) = shell(&format!("tidewire {command} tests/corpus/{capture} --json 2>/dev/null"));
            for line in printed.lines() {
                let record: serde_json::Value = serde_json::from_str(line).unwrap();
                let is_known = |name: &String| !described["properties"][name].is_null();
                let unknown: Vec<&String> = record.as_object().unwrap().keys().filter(|name| !is_known(name)).collect();
                // The fields of a transaction's protocol are a member with its name.
                assert!(
                    unknown.iter().all(|name| schema == "transaction.json" && record["service"] == name.as_str()),
                    "{line}"
                );
                lines.push((schema, line.to_owned()));
            }
        }
    }
    assert!(commands.iter().all(|(schema, _)| lines.iter().any(|line| line.0 == *schema)));
    if let Some(why) = tidewire_testing::schemas::missing_validator() {
        return tidewire_testing::skip(why);
    }
    let answers = tidewire_testing::schemas::validate(&Path::new(ROOT).join("docs/schemas"), &lines);
    for (answer, line) in answers.iter().zip(&lines) {
        assert_eq!(answer, "valid", "{line:?}");
    }
    let wrong = [("flow.json", "{}".to_owned()), ("match.json", lines[0].1.clone())];
    let answers = tidewire_testing::schemas::validate(&Path::new(ROOT).join("docs/schemas"), &wrong);
    assert!(answers.iter().all(|answer| answer != "valid"), "{answers:?}");
}

/// README's picture shows the current output on a terminal.
#[test]
fn the_picture_is_fresh() {
    if let Some(reason) = tidewire_testing::missing_pseudo_terminals() {
        return tidewire_testing::skip(reason);
    }
    let recorded = tempfile::NamedTempFile::new().unwrap();
    let built = Path::new(env!("CARGO_BIN_EXE_tidewire")).parent().unwrap();
    let output = Command::new(Path::new(ROOT).join("scripts/picture.sh"))
        .arg(recorded.path())
        .env("BUILT", built)
        .stdin(Stdio::null())
        .run_in_time()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let today = fs::read_to_string(recorded.path()).unwrap();
    let committed = Path::new(ROOT).join("docs/terminal.svg");
    if std::env::var_os("TIDEWIRE_BLESS").is_some() {
        fs::write(&committed, today).unwrap();
    } else {
        let shown = fs::read_to_string(&committed).unwrap();
        assert!(today == shown, "docs/terminal.svg is not what is printed today: scripts/picture.sh records it again");
    }
}

/// The anchor that a heading has on the web: small letters, hyphens for spaces, no other signs.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    text.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
}

/// Lines outside of blocks of code.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

#[test]
fn anchors_of_links_exist() {
    let root = Path::new(ROOT);
    let others = ["ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "SPECIFICATION.md"];
    let mut found = 0;
    let mut broken = Vec::new();
    for path in documents().into_iter().chain(others.map(|name| root.join(name))) {
        let text = prose(&fs::read_to_string(&path).unwrap());
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let Some((file, name)) = link.split_once('#').filter(|_| !link.contains("://")) else { continue };
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let page = prose(&fs::read_to_string(&target).unwrap_or_default());
            found += 1;
            if !page.lines().filter(|line| line.starts_with('#')).any(|line| anchor(line) == name) {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "no such heading:\n{}", broken.join("\n"));
    assert!(found > 40, "only {found} links with an anchor found");
}

#[test]
fn commands_of_the_specification_run() {
    let text = fs::read_to_string(Path::new(ROOT).join("SPECIFICATION.md")).unwrap();
    let commands = text.split('`').skip(1).step_by(2).filter(|code| code.contains("tidewire ") && code.contains("$D"));
    let mut run = 0;
    for command in commands {
        let (printed, code) = shell(&command.replace("\\|", "|"));
        assert_eq!(code, 0, "{command}:\n{printed}");
        assert!(!printed.is_empty(), "{command} prints nothing");
        run += 1;
    }
    assert!(run >= 12, "only {run} commands found");
}

/// docs/output.md has every name of the ledger: fates, anomalies, details.
#[test]
fn names_of_the_ledger_are_documented() {
    fn names(value: &serde_json::Value, into: &mut Vec<String>) {
        for (name, value) in value.as_object().into_iter().flatten() {
            into.push(name.clone());
            names(value, into);
        }
    }
    let text = fs::read_to_string(Path::new(ROOT).join("docs/output.md")).unwrap();
    // Blocks are printed output, not explanations.
    let explained: String = text.split("```").step_by(2).collect();
    let ledger = serde_json::from_str(&shell("tidewire flows $D --limit 0 --stats json | tail -n 1").0).unwrap();
    let mut all = Vec::new();
    names(&ledger, &mut all);
    assert!(all.len() > 50, "{all:?}");
    let missing: Vec<&String> = all.iter().filter(|name| !explained.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "not explained: {missing:?}");
}

/// README is what a stranger reads first: lines fit a screen, and sentences are short.
#[test]
fn the_readme_has_short_lines_and_sentences() {
    const COLUMNS_MAX: usize = 100;
    const WORDS_MAX: usize = 25;
    let text = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let is_table = |line: &str| line.trim_start().starts_with('|');
    let long: Vec<&str> = text.lines().filter(|line| !is_table(line) && line.chars().count() > COLUMNS_MAX).collect();
    assert!(long.is_empty(), "longer than {COLUMNS_MAX} columns: {long:#?}");
    let prose: String = text.split("```").step_by(2).collect::<Vec<_>>().join("\n\n");
    let prose = prose.lines().filter(|line| !is_table(line) && !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let paragraphs = prose.replace("\n- ", "\n\n");
    let sentences =
        paragraphs.split("\n\n").flat_map(|paragraph| paragraph.split_inclusive(['.', ':', ';']).collect::<Vec<_>>());
    let long: Vec<&str> = sentences.filter(|sentence| sentence.split_whitespace().count() > WORDS_MAX).collect();
    assert!(long.is_empty(), "sentences of more than {WORDS_MAX} words: {long:#?}");
}
