//! The modules of a crate, read from its sources: which file names what another defines. See [`circles`](super::circles).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The words and marks of a source that matter here. Comments and texts are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// `::`
    Path,
    /// A text: of interest after `path =`.
    Text(String),
    Mark(char),
}

/// Splits a source into tokens.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let (mut at, mut found) = (0, Vec::new());
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        match c {
            '/' if next == '/' => at += chars[at..].iter().take_while(|c| **c != '\n').count(),
            '/' if next == '*' => at = comment_end(&chars, at),
            '"' => at = text_end(&chars, at, 0, &mut found),
            'r' if (next == '"' || next == '#') && raw_hashes(&chars, at + 1).is_some() => {
                let hashes = raw_hashes(&chars, at + 1).unwrap_or(0);
                at = text_end(&chars, at + 1 + hashes, hashes + 1, &mut found);
            }
            '\'' => {
                // A character, or a lifetime.
                let is_char = next == '\\' || chars.get(at + 2) == Some(&'\'');
                let skip = if next == '\\' { 3 } else { 2 };
                at += match is_char {
                    true => skip + chars[at + skip..].iter().take_while(|c| **c != '\'').count() + 1,
                    false => 1 + chars[at + 1..].iter().take_while(|c| is_word(**c)).count(),
                };
            }
            ':' if next == ':' => {
                found.push(Token::Path);
                at += 2;
            }
            _ if is_word(c) => {
                let word: String = chars[at..].iter().take_while(|c| is_word(**c)).collect();
                at += word.chars().count();
                // Of a byte string the letter is none of a name.
                let is_prefix = matches!(word.as_str(), "b" | "c" | "br") && chars.get(at) == Some(&'"');
                if !is_prefix {
                    found.push(Token::Word(word));
                }
            }
            _ => {
                if !c.is_whitespace() {
                    found.push(Token::Mark(c));
                }
                at += 1;
            }
        }
    }
    found
}

/// The end of a block comment, which may hold others.
fn comment_end(chars: &[char], begin: usize) -> usize {
    let (mut at, mut depth) = (begin + 2, 1);
    while depth > 0 && at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('*', '/') => (at, depth) = (at + 2, depth - 1),
            ('/', '*') => (at, depth) = (at + 2, depth + 1),
            _ => at += 1,
        }
    }
    at
}

/// How many `#` stand before the quotation mark of a raw text; `None`: it is none.
fn raw_hashes(chars: &[char], begin: usize) -> Option<usize> {
    let hashes = chars[begin..].iter().take_while(|c| **c == '#').count();
    (chars.get(begin + hashes) == Some(&'"')).then_some(hashes)
}

/// Takes a text from its quotation mark on. `raw`: one more than its `#`, or 0 where backslashes escape.
fn text_end(chars: &[char], begin: usize, raw: usize, found: &mut Vec<Token>) -> usize {
    let mut at = begin + 1;
    let mut text = String::new();
    while let Some(&c) = chars.get(at) {
        let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
        if c == '"' && hashes + 1 >= raw {
            at += raw.max(1);
            break;
        }
        if c == '\\' && raw == 0 {
            at += 1;
        }
        text.push(c);
        at += 1;
    }
    found.push(Token::Text(text));
    at
}

/// A module: what its source declares and names.
#[derive(Default)]
struct Module {
    file: PathBuf,
    parent: Option<usize>,
    /// Modules by their names: several where features choose between files.
    children: BTreeMap<String, Vec<usize>>,
    /// Names that `use` brings, with their paths.
    names: BTreeMap<String, Vec<String>>,
    /// Modules that `use …::*` brings.
    globs: Vec<Vec<String>>,
    /// What is defined here.
    items: BTreeSet<String>,
    /// Paths by which others are named.
    named: Vec<Vec<String>>,
}

/// All modules of a crate.
pub(super) struct Modules(Vec<Module>);

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
        while at < tokens.len() {
            let rest = &tokens[at..];
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
                _ => at += self.read_code(module, tokens, at),
            }
        }
    }

    /// A word of code, with the path that it begins.
    fn read_code(&mut self, module: usize, tokens: &[Token], at: usize) -> usize {
        const DEFINES: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "union"];
        let Token::Word(word) = &tokens[at] else { return 1 };
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        if let Some(Token::Word(last)) = before
            && DEFINES.contains(&last.as_str())
        {
            self.0[module].items.insert(word.clone());
            return 1;
        }
        if matches!(before, Some(Token::Path | Token::Mark('.'))) {
            return 1;
        }
        let mut path = vec![word.clone()];
        let mut length = 1;
        while let [Token::Path, Token::Word(next), ..] = &tokens[at + length..] {
            path.push(next.clone());
            length += 2;
        }
        // Alone it is a receiver, or says who sees something.
        if path.len() > 1 || !matches!(word.as_str(), "crate" | "super" | "self") {
            self.0[module].named.push(path);
        }
        length
    }

    /// What a `use` brings. `is_door`: it is seen by others, and no import by itself.
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
    fn resolve(&self, from: usize, path: &[String], depth: u32) -> Vec<usize> {
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
            // What comes from another crate was not defined here.
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

/// Whether tokens begin with these words and marks.
fn starts_with(tokens: &[Token], words: &[&str]) -> bool {
    let is = |token: &Token, word: &str| match token {
        Token::Word(found) => found == word,
        Token::Mark(mark) => word.chars().eq([*mark]),
        Token::Path | Token::Text(_) => false,
    };
    tokens.len() >= words.len() && tokens.iter().zip(words).all(|(token, word)| is(token, word))
}

/// Whether what follows these tokens is public, to whomever.
fn is_public(before: &[Token]) -> bool {
    match before {
        [.., Token::Word(word)] => word == "pub",
        [head @ .., Token::Mark(')')] => {
            let inside = head.iter().rev().take_while(|token| **token != Token::Mark('(')).count();
            let opened = head.len() - inside;
            matches!(&head[..opened.saturating_sub(1)], [.., Token::Word(word)] if word == "pub")
        }
        _ => false,
    }
}

/// Tokens of an item: to its semicolon, or to the end of its braces.
fn item_length(tokens: &[Token]) -> usize {
    let mut depth = 0_u32;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Mark('{' | '(' | '[') => depth += 1,
            Token::Mark('}') if depth == 1 => return at + 1,
            Token::Mark('}' | ')' | ']') => depth = depth.saturating_sub(1),
            Token::Mark(';') if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// The paths of a `use`, each with the name that it brings.
fn tree(tokens: &[Token], prefix: &mut Vec<String>, found: &mut Vec<(Vec<String>, String)>) {
    let begun = prefix.len();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            Token::Word(word) if word == "as" => {
                if let (Some(Token::Word(name)), Some(last)) = (tokens.get(at + 1), found.last_mut()) {
                    name.clone_into(&mut last.1);
                }
                at += 2;
            }
            Token::Word(word) => {
                prefix.push(word.clone());
                if !matches!(tokens.get(at + 1), Some(Token::Path)) {
                    let name = if word == "self" { prefix.iter().rev().nth(1).unwrap_or(word) } else { word };
                    found.push((prefix.clone(), name.clone()));
                }
                at += 1;
            }
            Token::Mark('*') => {
                found.push((prefix.clone(), "*".into()));
                at += 1;
            }
            Token::Mark('{') => {
                let length = item_length(&tokens[at..]);
                tree(&tokens[at + 1..at + length - 1], prefix, found);
                at += length;
            }
            Token::Mark(',') => {
                prefix.truncate(begun);
                at += 1;
            }
            _ => at += 1,
        }
    }
    prefix.truncate(begun);
}
