//! Within a crate no file imports one that imports it, directly or around a circle.
//!
//! The rule. A file imports another if its code names something that is defined there: in a `use`, or by a path in the
//! code (`crate::a::b`, `super::b`, `child::b`, or through a module that was imported). Names are followed to where they are
//! defined, through every re-export. Therefore:
//!
//! - A `pub use` (of any visibility) is a door and no import; the file that has it imports what it re-exports only if it
//!   uses the name itself. A parent that declares and re-exports its children is in no circle by that alone.
//! - `mod child;` is no import. `use super::*` imports the parent.
//! - Calling a method names no file: methods belong to their type. (An `impl` of a type stands above the type's file.)
//! - Inline modules belong to their file. Tests (`#[cfg(test)]`, `tests.rs`, `tests/`) are left out.
//!
//! Circles that are there stand in [`KNOWN`], which may only shrink: the test fails for a circle that is not listed, and for
//! a listed one that is gone or has become smaller.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use super::modules::{Imports, Modules};

/// Circles that are there, each as its files relative to `crates/`, in order.
const KNOWN: &[&[&str]] = &[];

/// Sets of files that import each other.
fn circles<'a>(imports: &Imports<'a>) -> BTreeSet<Vec<&'a Path>> {
    let reaches = |from: &'a Path| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(file) = open.pop() {
            let next = imports.get(file).into_iter().flatten().map(|(next, _)| *next);
            open.extend(next.filter(|next| seen.insert(*next)));
        }
        seen
    };
    let reached: BTreeMap<&Path, BTreeSet<&Path>> = imports.keys().map(|file| (*file, reaches(file))).collect();
    let in_circle = reached.iter().filter(|(file, all)| all.contains(*file));
    in_circle.map(|(file, all)| all.iter().filter(|other| reached[*other].contains(file)).copied().collect()).collect()
}

/// The roots of all crates below a folder: libraries, programs.
fn roots(crates: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found = Vec::new();
    for folder in entries(crates).map(|folder| folder.join("src")) {
        let programs = entries(&folder.join("bin"));
        found.extend([folder.join("lib.rs"), folder.join("main.rs")].into_iter().chain(programs));
    }
    found.retain(|root| root.is_file());
    found.sort();
    found
}

#[test]
fn no_file_imports_one_that_imports_it() {
    let crates = super::root().join("crates");
    let roots = roots(&crates);
    assert!(roots.len() > 8, "the crates were not found");
    let mut found: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let mut files = 0;
    for root in &roots {
        let modules = Modules::read(root);
        let imports = modules.imports();
        files += imports.len();
        let name = |file: &Path| file.strip_prefix(&crates).unwrap_or(file).display().to_string();
        for circle in circles(&imports) {
            let ties = circle.iter().flat_map(|file| {
                let inside = imports[file].iter().filter(|(other, _)| circle.contains(other));
                inside.map(|(other, names)| format!("  {} -> {}: {names:?}\n", name(file), name(other)))
            });
            found.insert(circle.iter().map(|file| name(file)).collect(), ties.collect());
        }
    }
    assert!(files > 400, "only {files} files were found");
    let is_known = |circle: &Vec<String>| KNOWN.iter().any(|known| circle == known);
    let new: Vec<String> = found
        .iter()
        .filter(|(circle, _)| !is_known(circle))
        .map(|(circle, ties)| format!("{circle:#?}\n{ties}"))
        .collect();
    assert!(new.is_empty(), "files that import each other:\n{}", new.join("\n"));
    for known in KNOWN {
        let is_there = found.keys().any(|circle| circle == known);
        assert!(is_there, "this circle is gone: take it off the list, or list what is left of it: {known:#?}");
    }
}

/// A crate in a folder of its own, with these sources; the circles found in it.
fn circles_of(sources: &[(&str, &str)]) -> Vec<Vec<String>> {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path().canonicalize().expect("a folder");
    for (name, text) in sources {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a source");
    }
    let modules = Modules::read(&folder.join("lib.rs"));
    let name = |file: &&Path| file.strip_prefix(&folder).expect("a source").display().to_string();
    circles(&modules.imports()).iter().map(|circle| circle.iter().map(name).collect()).collect()
}

#[test]
fn circles_are_found_however_they_are_written() {
    let pair =
        |first: &str, second: &str| circles_of(&[("lib.rs", "mod a; mod b;"), ("a.rs", first), ("b.rs", second)]);
    let circle = vec![vec!["a.rs".to_owned(), "b.rs".to_owned()]];
    assert_eq!(pair("use crate::b::B; pub struct A;", "use super::a::A; pub struct B;"), circle);
    assert_eq!(
        pair("pub fn a() { crate::b::b(); }", "use crate::{a::{self as other}}; pub fn b() { other::a() }"),
        circle
    );
    // One way, in comments, in texts and in tests.
    assert!(pair("// crate::b::B\npub struct A; fn a() { \"crate::b::B\"; '\"'; }", "use crate::a::A;").is_empty());
    assert!(pair("pub struct A; #[cfg(test)] mod tests { use crate::b::B; }", "use crate::a::A;").is_empty());
    // By way of a third, and of a module that passes names on.
    let lib = "mod a; mod b; mod c; pub use a::A; pub(crate) use c::*;";
    let around = [("lib.rs", lib), ("a.rs", "use crate::b::B; pub struct A;"), ("c.rs", "use crate::A; pub struct C;")];
    let tied = [&around[..], &[("b.rs", "pub struct B; fn b(_: crate::C) {}")]].concat();
    assert_eq!(circles_of(&tied), [["a.rs", "b.rs", "c.rs"]]);
    let open = [&around[..], &[("b.rs", "pub struct B;")]].concat();
    assert!(circles_of(&open).is_empty());
}

#[test]
fn a_parent_is_in_a_circle_if_it_uses_what_its_children_define() {
    let with = |parent: &str| {
        let child = "use super::P; pub struct C;";
        circles_of(&[("lib.rs", "mod p;"), ("p/mod.rs", &format!("mod c; pub struct P; {parent}")), ("p/c.rs", child)])
    };
    assert!(with("pub use c::C;").is_empty());
    assert!(with("").is_empty());
    for uses in ["use c::C;", "pub use c::C; fn p(_: C) {}", "fn p(_: c::C) {}", "fn p(_: self::c::C) {}"] {
        assert_eq!(with(uses), [["p/c.rs", "p/mod.rs"]], "{uses}");
    }
}
