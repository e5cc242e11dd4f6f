//! Programs that run in turn, round after round, and print one JSON object each.

use std::{collections::BTreeMap, io::Write as _};

use serde_json::Value;

use crate::{median::median, program::Program};

/// The rounds of one program.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    /// The program's name.
    pub name: String,
    /// Its output, by round.
    pub outputs: Vec<Value>,
    /// Why there is no figure.
    pub failed: Option<String>,
}

impl Rounds {
    /// The median of a figure over the rounds; NaN where there is none.
    pub fn median(&self, figure: impl Fn(&Value) -> f64) -> f64 {
        median(&self.all(figure))
    }

    /// A figure by round.
    pub fn all(&self, figure: impl Fn(&Value) -> f64) -> Vec<f64> {
        self.outputs.iter().map(figure).collect()
    }

    /// All rounds for the JSON.
    pub fn point(&self) -> Value {
        let pairs = [("program", Value::from(self.name.clone())), ("rounds", Value::from(self.outputs.clone()))];
        let mut point: BTreeMap<&str, Value> = pairs.into();
        if let Some(why) = &self.failed {
            point.insert("failed", Value::from(why.clone()));
        }
        serde_json::to_value(point).unwrap_or_default()
    }
}

/// A number at a path of a JSON object; NaN where there is none.
pub(super) fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN)
}

/// Runs all programs in turn, `rounds` times. A program that fails is not run again.
pub(super) fn in_turn(programs: &[Program], rounds: usize) -> Vec<Rounds> {
    let mut all: Vec<Rounds> =
        programs.iter().map(|program| Rounds { name: program.name.clone(), ..Rounds::default() }).collect();
    for _ in 0..rounds {
        for (program, rounds) in programs.iter().zip(&mut all) {
            if rounds.failed.is_some() {
                continue;
            }
            match run(program) {
                Ok(output) => rounds.outputs.push(output),
                Err(why) => {
                    let _ = writeln!(std::io::stderr(), "bench-sensor:   {}: {why}", program.name);
                    rounds.failed = Some(why);
                }
            }
        }
    }
    all
}

fn run(program: &Program) -> Result<Value, String> {
    let finished = program.run()?;
    let output = finished.json();
    if finished.usage.status != 0 || output.is_null() {
        let said: String = finished.errors.trim().chars().take(300).collect();
        return Err(format!("exit status {}: {said}", finished.usage.status));
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_noted() {
        let good = Program::new("good", &["echo", "{\"a\":{\"b\":7}}"]).unpinned();
        let bad = Program::new("bad", &["false"]).unpinned();
        let all = in_turn(&[good, bad], 3);
        assert_eq!((all[0].outputs.len(), all[0].failed.as_deref()), (3, None));
        assert!(all[1].outputs.is_empty() && all[1].failed.is_some());
        assert!((all[0].median(|output| number(output, "/a/b")) - 7.0).abs() < f64::EPSILON);
        assert!(all[1].median(|output| number(output, "/a/b")).is_nan());
    }
}
