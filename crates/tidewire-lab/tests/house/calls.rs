//! Which file calls methods that another defines.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::{
    modules::{Imports, Modules},
    receivers::{Call, Receiver},
};

/// Methods of the standard library that types of the crates have too.
const STANDARD: &[&str] = &[
    "as_bytes",
    "as_str",
    "clear",
    "contains",
    "extend",
    "file_name",
    "get",
    "get_mut",
    "insert",
    "is_empty",
    "iter",
    "len",
    "next",
    "pop",
    "push",
    "read",
    "read_exact",
    "remove",
    "take",
    "to_vec",
    "write",
    "write_all",
];

/// The files that define the methods of one name, by their types.
type Methods<'a> = BTreeMap<(usize, &'a str), BTreeSet<&'a Path>>;

/// The files of these types' methods.
fn files<'a>(methods: &Methods<'a>, types: &BTreeSet<(usize, &str)>) -> BTreeSet<&'a Path> {
    types.iter().flat_map(|(at, of)| methods.get(&(*at, *of)).into_iter().flatten().copied()).collect()
}

impl Modules {
    /// Adds the files whose methods each file calls.
    ///
    /// A call is followed where its receiver's type is known: `self`, a path (`Type::method`), and variables and fields
    /// whose types are written: in the module, or else elsewhere in the crate if all of the name have one type. The result of another call has no such type:
    /// there a method is followed if its name is of several words and all methods of this name are defined in one file. Of
    /// methods that the standard library has too, only those of `self`, of a path and of a type written in the module count.
    pub(super) fn add_calls<'a>(&'a self, imports: &mut Imports<'a>) {
        let methods = self.methods();
        let mut typed: BTreeMap<&str, BTreeSet<BTreeSet<(usize, &str)>>> = BTreeMap::new();
        for (at, module) in self.0.iter().enumerate() {
            for (name, of) in &module.typed {
                typed.entry(name).or_default().insert(self.defined(at, of));
            }
        }
        for (at, module) in self.0.iter().enumerate() {
            for Call { receiver, method } in &module.calls {
                let Some(types) = methods.get(method.as_str()) else { continue };
                let is_open = !STANDARD.contains(&method.as_str());
                let files: BTreeSet<&Path> = match receiver {
                    Receiver::Type(of) => files(types, &self.defined(at, of)),
                    Receiver::Name(name) => {
                        let here = module.typed.iter().filter(|(typed, _)| typed == name);
                        let here: Vec<_> = here.map(|(_, of)| self.defined(at, of)).collect();
                        let anywhere =
                            typed.get(name.as_str()).filter(|of| here.is_empty() && is_open && of.len() == 1);
                        here.iter().chain(anywhere.into_iter().flatten()).flat_map(|of| files(types, of)).collect()
                    }
                    Receiver::Other if is_open && method.contains('_') => types.values().flatten().copied().collect(),
                    Receiver::Other => BTreeSet::new(),
                };
                if files.len() > 1 && !matches!(receiver, Receiver::Type(_)) {
                    continue;
                }
                let of = imports.entry(&module.file).or_default();
                for file in files.into_iter().filter(|file| *file != module.file) {
                    of.entry(file).or_default().insert(method.as_str());
                }
            }
        }
    }

    /// The files that define methods, by the methods' names and types.
    fn methods(&self) -> BTreeMap<&str, Methods<'_>> {
        let mut methods: BTreeMap<&str, Methods<'_>> = BTreeMap::new();
        for (at, module) in self.0.iter().enumerate() {
            for (of, method) in &module.methods {
                for of in self.defined(at, of) {
                    methods.entry(method).or_default().entry(of).or_default().insert(&module.file);
                }
            }
        }
        methods
    }

    /// The modules that define a type which a module names, with its name.
    fn defined<'n>(&self, at: usize, of: &'n str) -> BTreeSet<(usize, &'n str)> {
        let path = [of.to_owned()];
        if self.0[at].items.contains(of) {
            return BTreeSet::from([(at, of)]);
        }
        self.resolve(at, &path, 0).into_iter().map(|module| (module, of)).collect()
    }
}
