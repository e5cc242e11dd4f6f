//! Licences and sources of dependencies, as `deny.toml` allows them: `make deny` asks cargo-deny, which takes minutes to build, for
//! the same and for known weaknesses.

use std::{collections::BTreeSet, fs, process::Command};

use spdx::{Expression, LicenseItem, ParseMode};
use tidewire_testing::InTime as _;

use super::root;

/// Lists of strings of a table of `deny.toml`.
fn allowed(table: &str, key: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let all: toml::Table = text.parse().expect("deny.toml is TOML");
    let list = all[table][key].as_array().unwrap_or_else(|| panic!("{table}.{key} is a list"));
    list.iter().filter_map(|name| name.as_str()).map(str::to_owned).collect()
}

/// A dependency: its name with its version, and its licence.
struct Dependency {
    package: String,
    licence: String,
}

/// All dependencies of all crates with all features, those of builds and tests among them.
fn dependencies() -> Vec<Dependency> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--workspace", "--all-features", "--prefix", "none", "--format", "{p}\t{l}"])
        .current_dir(root())
        .run_in_time()
        .expect("cargo tree");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // Lines of what was listed before end with a mark.
    let lines: BTreeSet<&str> = text.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    let split = |line: &&str| line.split_once('\t').map(|(package, licence)| (package.to_owned(), licence.to_owned()));
    let all = lines.iter().filter_map(split).map(|(package, licence)| Dependency { package, licence });
    let own = format!("({}", root().display());
    all.filter(|dependency| !dependency.package.contains(&own)).collect()
}

/// Whether the licences of an expression suffice: those that are allowed meet it.
fn is_met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let Ok(expression) = Expression::parse_mode(expression, ParseMode::LAX) else { return false };
    expression.evaluate(|required| match &required.license {
        LicenseItem::Spdx { id, .. } => allowed.contains(id.name),
        LicenseItem::Other(_) => false,
    })
}

#[test]
fn licences_and_sources_of_dependencies_are_allowed() {
    let licences = allowed("licenses", "allow");
    let dependencies = dependencies();
    assert!(dependencies.len() > 100, "{} dependencies", dependencies.len());
    let mut refused = Vec::new();
    for Dependency { package, licence } in dependencies {
        if !is_met(&licence, &licences) {
            refused.push(format!("{package}: licence '{licence}' is not allowed"));
        }
        // Of crates.io only the name and version are shown.
        if package.contains("://") || package.contains("(/") {
            refused.push(format!("{package}: its source is not allowed"));
        }
    }
    assert!(refused.is_empty(), "deny.toml allows none of these:\n{}", refused.join("\n"));
}

#[test]
fn expressions_are_met_by_what_is_allowed() {
    let allowed: BTreeSet<String> = ["MIT", "Apache-2.0"].map(String::from).into();
    for met in ["MIT", "MIT OR GPL-3.0-only", "MIT/Apache-2.0", "(Apache-2.0 AND MIT) OR ISC"] {
        assert!(is_met(met, &allowed), "{met}");
    }
    for unmet in ["", "GPL-3.0-only", "MIT AND GPL-2.0-only", "LicenseRef-Other", "EUPL-1.2"] {
        assert!(!is_met(unmet, &allowed), "{unmet}");
    }
}
