use toml::de::DeValue;

use super::{mistake::place, *};

#[test]
fn the_nearest_name_is_found() {
    let known = ["cutoff", "chunk", "count", "wait-for"];
    assert_eq!(nearest("cutof", known), Some("cutoff"));
    assert_eq!(nearest("cuotff", known), Some("cutoff"));
    assert_eq!(nearest("wait_for", known), Some("wait-for"));
    assert_eq!(nearest("chunks", known), Some("chunk"));
    assert_eq!(nearest("zebra", known), None);
    assert_eq!(nearest("", known), None);
    assert_eq!(nearest(&"c".repeat(1 << 20), known), None);
}

#[test]
fn places_are_characters_and_quotes_are_short() {
    assert_eq!(place("ä = 1\nöö x", &(12..13)), (2, 4));
    assert_eq!(place("ä", &(1..2)), (1, 1));
    assert_eq!(place("", &(9..10)), (1, 1));
    assert_eq!(quoted("a\nb"), "a b");
    assert_eq!(quoted(&"x".repeat(100)).chars().count(), 61);
}

/// Reads numbers from 0 to 9 by names of one letter.
fn read(text: &str) -> (Vec<i64>, Vec<String>) {
    let mut document = Document::new(text, "file");
    let table = document.parse();
    let mut found = Vec::new();
    for (key, value) in table.get_ref() {
        match key.get_ref().len() {
            1 => found.extend(document.whole(key.get_ref(), value, 0, 9)),
            _ => document.unknown(key, "the file", &["a", "b"]),
        }
    }
    (found, document.finish().mistakes.iter().map(ToString::to_string).collect())
}

#[test]
fn every_mistake_is_noted_and_what_is_right_is_read() {
    let (found, mistakes) = read("z = 1\naa = 2\nb = 10\nc = 'x'\nd = 3\n");
    assert_eq!(found, [3, 1]);
    assert_eq!(
        mistakes,
        [
            "file: line 2, column 1: the file has no key 'aa'; did you mean 'a'?",
            "file: line 3, column 5: 'b' must be a whole number from 0 to 9, got 10",
            "file: line 4, column 5: 'c' must be a whole number from 0 to 9, got \"x\"",
        ]
    );
    // Mistakes of the language come first, whatever their line is.
    let (found, mistakes) = read("bb = 1\nc = \nd = 4\n");
    assert_eq!(found, [4]);
    assert!(mistakes[0].starts_with("file: line 2, column "), "{mistakes:?}");
    assert!(mistakes[1].starts_with("file: line 1, column 1: the file has no key 'bb'"), "{mistakes:?}");
}

#[test]
fn mistakes_beyond_a_bound_are_counted() {
    let text: String = (0..150).map(|number| format!("key{number} = 1\n")).collect();
    let (_, mistakes) = read(&text);
    assert_eq!((mistakes.len(), mistakes[100].as_str()), (101, "file: 50 more mistakes are not listed"));
    // Those that follow from a mistake of the language are not listed, and bounded alike.
    let mut document = Document::new("a = {\n", "file");
    let table = document.parse();
    let (key, _) = table.get_ref().iter().next().expect("an entry");
    (0..150).for_each(|_| document.unknown(key, "the file", &["b"]));
    let mistakes = document.finish().mistakes;
    assert!(mistakes.len() < 10, "{mistakes:?}");
    assert!(mistakes.last().expect("a count").what.ends_with("more mistakes are not listed"), "{mistakes:?}");
}

#[test]
fn values_alone_are_lists_of_one() {
    let mut document = Document::new("a = 'x'\nb = ['y', 'z']\nc = []\n", "file");
    let table = document.parse();
    let all: Vec<&str> = table
        .get_ref()
        .iter()
        .flat_map(|(_, value)| items(value))
        .filter_map(|value| match value.get_ref() {
            DeValue::String(text) => Some(text.as_ref()),
            _ => None,
        })
        .collect();
    assert_eq!(all, ["x", "y", "z"]);
}
