//! JSON against the schemas in a folder, by Python's jsonschema: a validator that is not ours.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use crate::{Ends as _, missing};

/// Reads lines `SCHEMA TAB JSON`; prints for each whether it is valid, or why it is not.
const VALIDATE: &str = r#"
import json, sys, pathlib, jsonschema
folder = pathlib.Path(sys.argv[1])
validators = {}
def validator(name):
    if name not in validators:
        schema = json.loads((folder / name).read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        store = {json.loads(path.read_text())["$id"]: json.loads(path.read_text()) for path in folder.glob("*.json")}
        resolver = jsonschema.RefResolver(schema["$id"], schema, store)
        validators[name] = jsonschema.Draft202012Validator(schema, resolver=resolver)
    return validators[name]
for line in sys.stdin:
    name, text = line.rstrip("\n").split("\t", 1)
    error = next(validator(name).iter_errors(json.loads(text)), None)
    print("valid" if error is None else error.message.replace("\n", " ")[:200])
"#;

/// Why nothing can be validated here.
#[must_use]
pub fn missing_validator() -> Option<String> {
    missing(&["/usr/bin/python3", "/usr/lib/python3/dist-packages/jsonschema/__init__.py"])
}

/// The validator's verdict on each line, a schema's file name and JSON: `valid`, or why not.
///
/// # Panics
/// Python cannot be started, or a schema is invalid.
#[must_use]
pub fn validate(folder: &Path, lines: &[(&str, String)]) -> Vec<String> {
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-c", VALIDATE]).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut python = python.spawn().expect("python3 was found");
    let text = lines.iter().map(|(schema, line)| format!("{schema}\t{line}\n")).collect::<Vec<_>>().concat();
    let mut input = python.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = python.output_in_time("python3");
    writer.join().expect("no panic").expect("python3 reads everything");
    assert!(output.status.success());
    let answers: Vec<String> = String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect();
    assert_eq!(answers.len(), lines.len());
    answers
}
