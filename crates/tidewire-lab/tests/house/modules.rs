//! The modules of a crate, read from its sources: which file names what another defines. See [`circles`](super::circles).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use super::{
    receivers::{Call, Impl, Receiver, is_call, type_of},
    tokens::{Token, is_public, item_length, starts_with, tokens, tree},
};

/// A module: what its source declares and names.
#[derive(Default)]
pub(super) struct Module {
    pub(super) file: PathBuf,
    pub(super) parent: Option<usize>,
    /// Modules by their names: several where features choose between files.
    pub(super) children: BTreeMap<String, Vec<usize>>,
    /// Names that `use` brings, with their paths.
    pub(super) names: BTreeMap<String, Vec<String>>,
    /// Modules that `use …::*` brings.
    pub(super) globs: Vec<Vec<String>>,
    /// Names that are defined here.
    pub(super) items: BTreeSet<String>,
    /// Paths by which others are named.
    pub(super) named: Vec<Vec<String>>,
    /// Methods that are defined here, with their types.
    pub(super) methods: BTreeSet<(String, String)>,
    /// Types of fields, parameters and variables, as far as they are written.
    pub(super) typed: BTreeSet<(String, String)>,
    /// Methods that are called.
    pub(super) calls: BTreeSet<Call>,
}

/// All modules of a crate.
pub(super) struct Modules(pub(super) Vec<Module>);

impl Modules {
    /// Reads a crate from its root file.
    pub(super) fn read(root: &Path) -> Self {
        let mut modules = Self(vec![Module { file: root.to_owned(), ..Module::default() }]);
        let folder = root.parent().expect("a source's folder").to_owned();
        modules.read_file(0, &folder);
        modules
    }

    /// Reads a module's file; `folder`: where its children's files are.
    fn read_file(&mut self, module: usize, folder: &Path) {
        let text = fs::read_to_string(&self.0[module].file).expect("a source is UTF-8");
        let tokens = tokens(&text);
        self.read_tokens(module, folder, &tokens);
    }

    fn read_tokens(&mut self, module: usize, folder: &Path, tokens: &[Token]) {
        let mut at = 0;
        let mut place = None;
        let mut within: Vec<Impl> = Vec::new();
        while at < tokens.len() {
            let rest = &tokens[at..];
            within.retain(|one| one.end > at);
            within.extend(Impl::at(tokens, at));
            if starts_with(rest, &["#", "[", "cfg", "(", "test", ")", "]"]) {
                at += 7;
                at += item_length(&tokens[at..]);
                continue;
            }
            if starts_with(rest, &["#", "[", "path", "="])
                && let Some(Token::Text(text)) = rest.get(4)
            {
                place = Some(text.clone());
                at += 6;
                continue;
            }
            match rest {
                [Token::Word(word), Token::Word(name), Token::Mark(mark), ..] if word == "mod" && *mark == ';' => {
                    self.add_child(module, folder, name, place.take());
                    at += 3;
                }
                [Token::Word(word), Token::Word(name), Token::Mark(mark), ..] if word == "mod" && *mark == '{' => {
                    let length = item_length(rest);
                    let child = self.add(module, name, self.0[module].file.clone());
                    self.read_tokens(child, &folder.join(name), &rest[3..length - 1]);
                    at += length;
                }
                [Token::Word(word), ..] if word == "use" => {
                    let is_door = is_public(&tokens[..at]);
                    let length = 1 + rest.iter().take_while(|token| **token != Token::Mark(';')).count();
                    self.read_use(module, &rest[1..length - 1], is_door);
                    at += length;
                }
                _ => at += self.read_code(module, tokens, at, within.last()),
            }
        }
    }

    /// A word of code, with the path that it begins.
    fn read_code(&mut self, module: usize, tokens: &[Token], at: usize, within: Option<&Impl>) -> usize {
        const DEFINES: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "union"];
        let Token::Word(word) = &tokens[at] else { return 1 };
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        if let Some(Token::Word(last)) = before
            && DEFINES.contains(&last.as_str())
        {
            match within {
                Some(one) if last == "fn" && !one.is_of_trait => {
                    self.0[module].methods.insert((one.of.clone(), word.clone()));
                }
                _ => {}
            }
            self.0[module].items.insert(word.clone());
            return 1;
        }
        if let Some(of) = type_of(&tokens[at + 1..]) {
            self.0[module].typed.insert((word.clone(), of));
        }
        if matches!(before, Some(Token::Path | Token::Mark('.'))) {
            if is_call(&tokens[at + 1..]) && before == Some(&Token::Mark('.')) {
                let receiver = Receiver::before(&tokens[..at - 1], within);
                self.0[module].calls.insert(Call { receiver, method: word.clone() });
            }
            return 1;
        }
        let mut path = vec![word.clone()];
        let mut length = 1;
        while let [Token::Path, Token::Word(next), ..] = &tokens[at + length..] {
            path.push(next.clone());
            length += 2;
        }
        if let [.., of, method] = &path[..] {
            let of = if of == "Self" { within.map_or("Self", |one| one.of.as_str()) } else { of };
            let receiver = Receiver::Type(of.to_owned());
            self.0[module].calls.insert(Call { receiver, method: method.clone() });
        }
        // Alone it is a receiver, or says who sees something.
        if path.len() > 1 || !matches!(word.as_str(), "crate" | "super" | "self") {
            self.0[module].named.push(path);
        }
        length
    }

    /// Names that a `use` brings. `is_door`: others see them, and it is no import by itself.
    fn read_use(&mut self, module: usize, tokens: &[Token], is_door: bool) {
        let mut paths = Vec::new();
        tree(tokens, &mut Vec::new(), &mut paths);
        for (path, name) in paths {
            let mut path = path;
            if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
                path.pop();
            }
            if name == "*" {
                self.0[module].globs.push(path.clone());
            } else {
                self.0[module].names.insert(name.clone(), path.clone());
            }
            if !is_door {
                path.extend((name == "*").then(|| name.clone()));
                self.0[module].named.push(path);
            }
        }
    }

    fn add(&mut self, parent: usize, name: &str, file: PathBuf) -> usize {
        let child = self.0.len();
        self.0.push(Module { file, parent: Some(parent), ..Module::default() });
        self.0[parent].children.entry(name.to_owned()).or_default().push(child);
        child
    }

    fn add_child(&mut self, parent: usize, folder: &Path, name: &str, place: Option<String>) {
        let beside = self.0[parent].file.parent().expect("a source's folder").to_owned();
        let files = match place {
            Some(place) => vec![beside.join(place)],
            None => vec![folder.join(name).with_extension("rs"), folder.join(name).join("mod.rs")],
        };
        let file = files.iter().find(|file| file.is_file());
        let file = file.unwrap_or_else(|| panic!("no file for the module {name}: {files:?}"));
        let file = file.canonicalize().expect("a source");
        let below = if file.ends_with("mod.rs") { file.with_file_name("") } else { file.with_extension("") };
        let child = self.add(parent, name, file);
        self.read_file(child, &below);
    }

    /// The modules that a path leads to: where its last name that is known is defined.
    pub(super) fn resolve(&self, from: usize, path: &[String], depth: u32) -> Vec<usize> {
        let Some((first, rest)) = path.split_first().filter(|_| depth < 16) else { return Vec::new() };
        let module = &self.0[from];
        match first.as_str() {
            "crate" => self.follow(0, rest, depth),
            "self" => self.follow(from, rest, depth),
            "super" => module.parent.map_or(Vec::new(), |parent| self.follow(parent, rest, depth)),
            _ if module.children.contains_key(first) => self.follow(from, path, depth),
            _ => match module.names.get(first) {
                // A crate that is called like what is taken from it.
                Some(target) if target[0] == *first => Vec::new(),
                Some(target) => self.resolve(from, &[target, rest].concat(), depth + 1),
                None => Vec::new(),
            },
        }
    }

    /// The same from a module on, whose own names the path's first is among.
    fn follow(&self, module: usize, path: &[String], depth: u32) -> Vec<usize> {
        let Some((first, rest)) = path.split_first() else { return vec![module] };
        if first == "super" || first == "self" {
            return self.resolve(module, path, depth + 1);
        }
        if let Some(children) = self.0[module].children.get(first) {
            return children.iter().flat_map(|child| self.follow(*child, rest, depth)).collect();
        }
        if let Some(target) = self.0[module].names.get(first) {
            // A name from another crate was not defined here.
            return self.resolve(module, &[target, rest].concat(), depth + 1);
        }
        let globs = self.0[module].globs.iter().flat_map(|glob| self.resolve(module, glob, depth + 1));
        let defines = |of: &usize| self.0[*of].items.contains(first) || self.0[*of].names.contains_key(first);
        if !self.0[module].items.contains(first)
            && let Some(of) = globs.filter(|of| *of != module).find(defines)
        {
            return self.follow(of, path, depth + 1);
        }
        vec![module]
    }

    /// Which file imports which, and by what names.
    pub(super) fn imports(&self) -> Imports<'_> {
        let mut imports = Imports::new();
        for (at, module) in self.0.iter().enumerate() {
            let of = imports.entry(&module.file).or_default();
            // A word that is a child's name is a variable's.
            let is_child = |path: &&Vec<String>| path.len() == 1 && module.children.contains_key(&path[0]);
            for path in module.named.iter().filter(|path| !is_child(path)) {
                let files = self.resolve(at, path, 0).into_iter().map(|found| self.0[found].file.as_path());
                for file in files.filter(|file| *file != module.file) {
                    of.entry(file).or_default().insert(path.last().map_or("", String::as_str));
                }
            }
        }
        imports
    }
}

/// Each file's imports: the files, and the names that are taken from each.
pub(super) type Imports<'a> = BTreeMap<&'a Path, BTreeMap<&'a Path, BTreeSet<&'a str>>>;
