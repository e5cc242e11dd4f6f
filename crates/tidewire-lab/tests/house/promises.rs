//! Tests that documents name exist, run, and assert something; promises and features have such tests.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::{is_test, root, sources};

/// A function of a source with tests.
struct Function {
    /// Attributes and comments above it.
    attributes: String,
    body: String,
}

/// Functions by name: tests, and their helpers.
struct Tests(BTreeMap<String, Vec<Function>>);

/// Marks of an assertion.
const ASSERTIONS: &[&str] = &["assert!(", "assert_eq!(", "assert_ne!(", "matches!(", "panic!(", "unreachable!("];

impl Tests {
    fn find() -> Self {
        let mut files = Vec::new();
        for folder in ["crates", "sanitize", "fuzz/drivers"] {
            sources(&root().join(folder), &mut files);
        }
        let mut found = BTreeMap::new();
        for file in files {
            let text = fs::read_to_string(&file).expect("a source is UTF-8");
            let is_helper =
                || is_test(&file) || ["drivers", "tidewire-testing"].iter().any(|part| has_part(&file, part));
            if text.contains("#[test]") || is_helper() {
                functions(&text, &mut found);
            }
        }
        Self(found)
    }

    /// Names of functions that assert something, or call one of these.
    fn asserting(&self) -> BTreeSet<&str> {
        let asserts = |function: &Function| {
            ASSERTIONS.iter().any(|mark| function.body.contains(mark)) || function.attributes.contains("should_panic")
        };
        let mut found: BTreeSet<&str> =
            self.0.iter().filter(|(_, all)| all.iter().any(asserts)).map(|(name, _)| name.as_str()).collect();
        loop {
            let calls = |function: &Function| called(&function.body).iter().any(|name| found.contains(name));
            let is_new = |name: &str, all: &[Function]| !found.contains(name) && all.iter().any(calls);
            let new: Vec<&str> =
                self.0.iter().filter(|(name, all)| is_new(name, all)).map(|(name, _)| name.as_str()).collect();
            if new.is_empty() {
                return found;
            }
            found.extend(new);
        }
    }

    /// The fault of a name as that of a test, if any.
    fn fault(&self, name: &str, asserting: &BTreeSet<&str>) -> Option<&'static str> {
        if root().join("fuzz/fuzz_targets").join(name).with_extension("rs").exists() {
            return None;
        }
        let Some(all) = self.0.get(name) else { return Some("does not exist") };
        let mut tests = all.iter().filter(|function| function.attributes.contains("#[test]")).peekable();
        if tests.peek().is_none() {
            Some("is no test")
        } else if tests.all(|function| function.attributes.contains("#[ignore")) {
            Some("is ignored")
        } else {
            (!asserting.contains(name)).then_some("asserts nothing")
        }
    }
}

fn has_part(file: &Path, part: &str) -> bool {
    file.components().any(|one| one.as_os_str() == part)
}

/// The functions of a text that rustfmt has formatted: each ends where a brace has its indentation.
fn functions(text: &str, found: &mut BTreeMap<String, Vec<Function>>) {
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let Some((before, after)) = line.split_once("fn ") else { continue };
        let is_start =
            before.split_whitespace().all(|word| ["async", "const"].contains(&word) || word.starts_with("pub"));
        let name: String = after.chars().take_while(|c| *c == '_' || c.is_alphanumeric()).collect();
        if !is_start || name.is_empty() {
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let end = format!("{indent}}}");
        let rest = lines[at..].iter();
        let body =
            if line.ends_with('}') { vec![*line] } else { rest.copied().take_while(|line| *line != end).collect() };
        let is_above = |line: &&&str| line.trim_start().starts_with("#[") || line.trim_start().starts_with("//");
        let above: Vec<&str> = lines[..at].iter().rev().take_while(is_above).copied().collect();
        let function = Function { attributes: above.join("\n"), body: body.join("\n") };
        found.entry(name).or_default().push(function);
    }
}

/// Names that stand before a parenthesis.
fn called(body: &str) -> BTreeSet<&str> {
    let is_name = |c: char| c == '_' || c.is_alphanumeric();
    let before = |at: usize| {
        let start = body[..at].rfind(|c| !is_name(c)).map_or(0, |start| start + 1);
        body.get(start..at).filter(|name| !name.is_empty())
    };
    body.match_indices('(').filter_map(|(at, _)| before(at)).collect()
}

/// Rows of a document's tables whose last column is `test`: the line, and the tests that it names.
fn rows_with_tests(document: &str) -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(root().join(document)).expect("a document");
    let is_name = |code: &&str| code.chars().all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit());
    let mut in_tests = false;
    let mut rows = Vec::new();
    for (above, line) in std::iter::once("").chain(text.lines()).zip(text.lines()) {
        // A cell ends at a bar that is not part of a command.
        let column = line.trim_end().trim_end_matches('|').rsplit("| ").next().unwrap_or_default();
        if !above.starts_with('|') {
            in_tests = column.trim() == "test";
        } else if in_tests && line.starts_with('|') {
            let names = column.split('`').skip(1).step_by(2).filter(is_name).map(str::to_owned).collect();
            rows.push((line.to_owned(), names));
        }
    }
    rows
}

#[test]
fn tests_that_documents_name_exist_and_assert() {
    let tests = Tests::find();
    let asserting = tests.asserting();
    for (document, names_min) in [("SPECIFICATION.md", 200), ("docs/papers.md", 60)] {
        let (mut faults, mut found) = (Vec::new(), 0);
        for (line, names) in rows_with_tests(document) {
            for name in names {
                faults.extend(tests.fault(&name, &asserting).map(|fault| format!("{name} {fault}: {line}")));
                found += 1;
            }
        }
        assert!(faults.is_empty(), "{document} names as tests:\n{}", faults.join("\n"));
        assert!(found > names_min, "{document}: only {found} names found");
    }
}

#[test]
fn tests_that_assert_nothing_are_found() {
    let text = "#[test]\nfn empty() {\n    run();\n}\n\nfn run() {}\n\n/// Checks.\n#[test]\n#[ignore = \"long\"]\nfn long() {\n    \
                assert!(true);\n}\n\n#[test]\nfn whole() {\n    check(1);\n}\n\nfn check(_: u8) {\n    assert_eq!(1, 1);\n}\n";
    let mut found = BTreeMap::new();
    functions(text, &mut found);
    let tests = Tests(found);
    let asserting = tests.asserting();
    let fault = |name: &str| tests.fault(name, &asserting);
    assert_eq!(
        ["empty", "run", "long", "gone"].map(fault),
        [Some("asserts nothing"), Some("is no test"), Some("is ignored"), Some("does not exist")]
    );
    assert_eq!(fault("whole"), None);
}

/// Every feature of the publications has its row; one that works names a test, one that is missing names none.
#[test]
fn every_feature_of_the_papers_is_listed() {
    let features = [("S", 13), ("F", 10), ("N", 10), ("L", 4), ("M", 4)];
    let mut expected: Vec<String> =
        features.iter().flat_map(|(letter, count)| (1..=*count).map(move |n| format!("{letter}{n}"))).collect();
    expected.push("S11b".into());
    let mut listed = Vec::new();
    for (line, names) in rows_with_tests("docs/papers.md") {
        let cells: Vec<&str> = line.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
        if cells[0].starts_with('-') {
            continue;
        }
        listed.push(cells[0].to_owned());
        let state = cells[2];
        assert!(["works", "partly", "**missing**"].iter().any(|word| state.starts_with(word)), "no state: {line}");
        assert!(!state.starts_with("works") || !names.is_empty(), "works, and no test holds it: {line}");
        assert!(!state.starts_with("**missing**") || names.is_empty(), "missing, and has a test: {line}");
    }
    listed.sort();
    expected.sort();
    assert_eq!(listed, expected);
}
