//! Within a crate no file imports one that imports it, directly or around a circle.
//!
//! The rule. A file imports another if its code names something that is defined there: in a `use`, or by a path in the
//! code (`crate::a::b`, `super::b`, `child::b`, or through a module that was imported). Names are followed to where they are
//! defined, through every re-export. Therefore:
//!
//! - A `pub use` (of any visibility) is a door and no import; the file that has it imports what it re-exports only if it
//!   uses the name itself. A parent that declares and re-exports its children is in no circle by that alone.
//! - `mod child;` is no import. `use super::*` imports the parent.
//! - Calling a method names no file: methods belong to their type. (An `impl` of a type stands above the type's file.) A second
//!   test counts such calls as imports.
//! - Inline modules belong to their file. Tests (`#[cfg(test)]`, `tests.rs`, `tests/`) are left out.
//!
//! Circles that are there stand in [`KNOWN`], which may only shrink: the test fails for a circle that is not listed, and for
//! a listed one that is gone or has become smaller.
//!
//! The second rule. Within a folder no file or folder imports one that imports it, where a folder imports what any of its
//! files imports, and a file imports those whose methods it calls (see [`Modules::add_calls`] for how calls are followed). No
//! circle at any level means none among the crate's files either. Where there are some, [`CALLED`] has their size.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::modules::{Imports, Modules};

/// Circles that are there, each as its files relative to `crates/`, in order.
const KNOWN: &[&[&str]] = &[];

/// Folders with circles, relative to `crates/`, and how many of their files and folders are in them, if calls of methods count.
const CALLED: &[(&str, usize)] = &[
    ("tidewire-archive/src", 2),
    ("tidewire-cli/src/table", 2),
    ("tidewire-event-store/src", 2),
    ("tidewire-exports/src", 2),
    ("tidewire-lab/src/differential", 2),
    ("tidewire-live/src", 14),
    ("tidewire-live/src/packet/ring", 2),
    ("tidewire-live/src/worker", 2),
    ("tidewire-live/src/xsk", 2),
    ("tidewire-pcap/src/live", 2),
    ("tidewire-protocols/src/http", 2),
    ("tidewire-recorder/src/recorder", 4),
    ("tidewire-sensor/src/supervisor", 5),
];

/// Sets of nodes that reach each other.
fn circles<T: Copy + Ord>(edges: &BTreeMap<T, BTreeSet<T>>) -> BTreeSet<Vec<T>> {
    let reaches = |from: T| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(node) = open.pop() {
            let next = edges.get(&node).into_iter().flatten();
            open.extend(next.filter(|next| seen.insert(**next)));
        }
        seen
    };
    let reached: BTreeMap<T, BTreeSet<T>> = edges.keys().map(|node| (*node, reaches(*node))).collect();
    let is_around = |node: &T, other: &T| reached.get(other).is_some_and(|all| all.contains(node));
    let in_circle = reached.iter().filter(|(node, all)| all.contains(*node));
    in_circle.map(|(node, all)| all.iter().filter(|other| is_around(node, other)).copied().collect()).collect()
}

/// The files that each file imports.
fn edges<'a>(imports: &Imports<'a>) -> BTreeMap<&'a Path, BTreeSet<&'a Path>> {
    imports.iter().map(|(file, of)| (*file, of.keys().copied().collect())).collect()
}

/// The circles of each folder of a crate. A file `x.rs` belongs to the folder `x`, if there is one, as `mod.rs` does.
fn folder_circles<'a>(imports: &Imports<'a>) -> BTreeMap<&'a Path, Vec<Vec<&'a Path>>> {
    let folders: BTreeSet<&Path> = imports.keys().flat_map(|file| file.ancestors().skip(1)).collect();
    // The path of a module: of a folder's own file, the file below the folder.
    let parts = |file: &'a Path| match folders.get(file.with_extension("").as_path()) {
        Some(folder) => [&[file], &folder.ancestors().collect::<Vec<_>>()[..]].concat(),
        None => file.ancestors().collect(),
    };
    let mut graphs: BTreeMap<&Path, BTreeMap<&Path, BTreeSet<&Path>>> = BTreeMap::new();
    for (file, of) in imports {
        for other in of.keys() {
            let (from, to) = (parts(file), parts(other));
            let common = from.iter().rev().zip(to.iter().rev()).take_while(|(from, to)| from == to).count();
            if let (Some(a), Some(b)) = (from.iter().rev().nth(common), to.iter().rev().nth(common)) {
                let folder = from[from.len() - common];
                graphs.entry(folder).or_default().entry(a).or_default().insert(b);
            }
        }
    }
    let found = graphs.iter().map(|(folder, graph)| (*folder, circles(graph).into_iter().collect::<Vec<_>>()));
    found.filter(|(_, circles)| !circles.is_empty()).collect()
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
        for circle in circles(&edges(&imports)) {
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

#[test]
fn no_folder_calls_back() {
    let crates = super::root().join("crates");
    let mut found: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for root in &roots(&crates) {
        let modules = Modules::read(root);
        let mut imports = modules.imports();
        modules.add_calls(&mut imports);
        let name = |path: &Path| path.strip_prefix(&crates).unwrap_or(path).display().to_string();
        for (folder, circles) in folder_circles(&imports) {
            let inside = |file: &Path, circle: &[&Path]| {
                circle.iter().position(|node| file.starts_with(node) || **node == file.with_extension(""))
            };
            let ties = circles.iter().flat_map(|circle| {
                let pairs =
                    imports.iter().flat_map(|(file, of)| of.iter().map(move |(other, names)| (*file, *other, names)));
                pairs.filter_map(move |(file, other, names)| {
                    let (from, to) = (inside(file, circle)?, inside(other, circle)?);
                    (from != to).then(|| format!("  {} -> {}: {names:?}\n", name(file), name(other)))
                })
            });
            let size = circles.iter().map(Vec::len).sum();
            found.insert(name(folder), (size, ties.collect()));
        }
    }
    for (folder, (size, ties)) in &found {
        let known = CALLED.iter().find(|known| known.0 == folder).map_or(0, |known| known.1);
        assert!(*size <= known, "{size} files and folders of {folder} are in circles, {known} were:\n{ties}");
        assert!(
            *size == known,
            "only {size} files and folders of {folder} are in circles now: write so in CALLED, instead of {known}"
        );
    }
    for (folder, _) in CALLED {
        assert!(found.contains_key(*folder), "{folder} has no circle any more: remove it from CALLED");
    }
}

/// A crate in a folder of its own, with these sources. The folder is there as long as what is returned with its path.
fn scratch_crate(sources: &[(&str, &str)]) -> (TempDir, PathBuf) {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path().canonicalize().expect("a folder");
    for (name, text) in sources {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a source");
    }
    (scratch, folder)
}

/// The circles found in a crate of these sources.
fn circles_of(sources: &[(&str, &str)]) -> Vec<Vec<String>> {
    let (_scratch, folder) = scratch_crate(sources);
    let modules = Modules::read(&folder.join("lib.rs"));
    let name = |file: &&Path| file.strip_prefix(&folder).expect("a source").display().to_string();
    circles(&edges(&modules.imports())).iter().map(|circle| circle.iter().map(name).collect()).collect()
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

/// The same of folders, with calls of methods.
fn called_circles_of(sources: &[(&str, &str)]) -> Vec<Vec<String>> {
    let (_scratch, folder) = scratch_crate(sources);
    let modules = Modules::read(&folder.join("lib.rs"));
    let mut imports = modules.imports();
    modules.add_calls(&mut imports);
    let name = |path: &&Path| path.strip_prefix(&folder).expect("a source").display().to_string();
    let circles = folder_circles(&imports).into_values().flatten();
    circles.map(|circle| circle.iter().map(name).collect()).collect()
}

#[test]
fn calls_of_methods_tie_files() {
    let with = |a: &str, b: &str| {
        let own = "pub struct T; impl T { pub fn get(&self) {} }";
        called_circles_of(&[("lib.rs", "mod t; mod a; mod b;"), ("t.rs", own), ("a.rs", a), ("b.rs", b)])
    };
    let head = "use crate::t::T; impl T { pub fn ";
    let circle = [vec!["a.rs".to_owned(), "b.rs".to_owned()]];
    // By the type of `self`, of a path, of a parameter, of a field, and by a name alone.
    for call in ["self.first()", "T::first(self)", "Self::first(self)"] {
        let second = format!("{head} second(&self) {{ {call} }} }}");
        assert_eq!(with(&format!("{head} first(&self) {{ self.second() }} }}"), &second), circle, "{call}");
    }
    let first = format!("{head} first_of(&self) {{}} }} fn all(one: &T) {{ one.second_of(); }}");
    assert_eq!(with(&first, &format!("{head} second_of(&self, other: &mut T) {{ other.first_of() }} }}")), circle);
    let field = "struct F { inside: Box<T> } impl F { fn f(&self) { self.inside.first_of(); } }";
    assert_eq!(with(&first, &format!("{head} second_of(&self) {{}} }} {field}")), circle);
    assert_eq!(with(&first, &format!("{head} second_of(&self) {{ get().first_of() }} }}")), circle);
    // A method of another type, of a trait, and one whose name is of one word.
    let first = format!("{head} push(&self) {{}} }} fn all(one: &T) {{ one.second_of(); }}");
    for other in ["list: &mut Vec<u8>", "list: &mut U", "list: &mut impl Into<T>"] {
        let second = format!("pub struct U; {head} second_of(&self, {other}) {{ list.push(1) }} }}");
        assert!(with(&first, &second).is_empty(), "{other}");
    }
    assert!(with(&first, &format!("{head} second_of(&self) {{ get().push(1) }} }}")).is_empty());
}

#[test]
fn folders_are_tied_by_their_files() {
    let lib = ("lib.rs", "mod a; mod b;");
    let (a, b) = (("a/mod.rs", "pub mod x; pub mod y;"), ("b.rs", "pub mod z; pub struct B;"));
    let tied = |x: &str, y: &str, z: &str| called_circles_of(&[lib, a, b, ("a/x.rs", x), ("a/y.rs", y), ("b/z.rs", z)]);
    // No file is in a circle, but the folders are.
    let found = tied("use crate::b::B;", "pub struct Y;", "use crate::a::y::Y;");
    assert_eq!(found, [["a", "b"]]);
    assert!(tied("use crate::b::B;", "use crate::b::B;", "").is_empty());
    // A folder's own file and those below it.
    assert_eq!(tied("", "", "use super::B; pub struct Z; impl Z { pub fn of() {} }"), Vec::<Vec<String>>::new());
    let own = ("b.rs", "pub mod z; pub struct B; fn all() { z::Z::of(); }");
    let found = called_circles_of(&[
        ("lib.rs", "mod b;"),
        own,
        ("b/z.rs", "use super::B; pub struct Z; impl Z { pub fn of() {} }"),
    ]);
    assert_eq!(found, [["b/z.rs", "b.rs"]]);
}
