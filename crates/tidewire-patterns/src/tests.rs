use super::*;

/// A small generator of numbers, so that every run is the same (Marsaglia's xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

fn named(bytes: &[u8]) -> Pattern {
    Pattern::new("", bytes)
}

/// Every occurrence by naive search: (end in the stream, pattern).
fn naive(patterns: &[Pattern], text: &[u8], ignore_case: bool) -> Vec<(usize, u32)> {
    let mut hits = Vec::new();
    for (pattern, index) in patterns.iter().zip(0..) {
        for (begin, window) in text.windows(pattern.bytes.len()).enumerate() {
            let ignores = ignore_case || pattern.ignore_case;
            if window == pattern.bytes || ignores && window.eq_ignore_ascii_case(&pattern.bytes) {
                hits.push((begin + window.len(), index));
            }
        }
    }
    hits.sort_unstable();
    hits
}

/// The occurrences by `set`, with the text cut into pieces of random size.
fn in_pieces(set: &Patterns, text: &[u8], numbers: &mut Numbers) -> Vec<(usize, u32)> {
    let mut hits = Vec::new();
    let mut border = Border::default();
    let mut at = 0;
    let longest = 1 + numbers.below(100);
    while at < text.len() {
        let piece = &text[at..(at + 1 + numbers.below(longest)).min(text.len())];
        set.find(&mut border, piece, &mut |hit| hits.push((at + hit.end, hit.pattern)));
        at += piece.len();
    }
    hits.sort_unstable();
    hits
}

#[test]
fn both_ways_of_looking_agree_with_the_naive_one() {
    let mut numbers = Numbers(7);
    for round in 0..400 {
        let shortest = [4, 5, 7, 11][round % 4];
        let alphabet = 2 + numbers.below(4);
        let letter = |numbers: &mut Numbers| b"aBAbc\0"[numbers.below(alphabet)];
        let text: Vec<u8> = (0..400).map(|_| letter(&mut numbers)).collect();
        let count = 1 + numbers.below(20);
        let patterns: Vec<Pattern> = (0..count)
            .map(|_| {
                let length = shortest + numbers.below(6);
                let from = numbers.below(text.len() - length);
                Pattern { ignore_case: round % 3 == 1 && numbers.below(2) == 0, ..named(&text[from..from + length]) }
            })
            .collect();
        let ignore_case = round % 3 == 0;
        let expected = naive(&patterns, &text, ignore_case);
        let sampled = Patterns::Sampled(Sampled::new(&patterns, ignore_case, SHARED_MAX));
        assert_eq!(in_pieces(&sampled, &text, &mut numbers), expected);
        let automaton = Patterns::Automaton(Box::new(Automaton::new(&patterns, ignore_case).unwrap()));
        assert_eq!(in_pieces(&automaton, &text, &mut numbers), expected);
    }
}

#[test]
fn how_patterns_are_looked_for() {
    let by_samples = |patterns: &[Pattern]| matches!(Patterns::new(patterns, false).unwrap(), Patterns::Sampled(_));
    // 3 * SHARED_MAX first bytes and as many last ones: any four bytes are shared by many patterns.
    let ends = || 0..3 * SHARED_MAX as u8;
    let alike: Vec<Pattern> =
        ends().flat_map(|first| ends().map(move |last| named(&[first, b'a', b'a', b'a', last]))).collect();
    let different: Vec<Pattern> = (0..40_u8).map(|index| named(&[b'a', b'a', b'a', b'a', index, 1, 2, 3, 4])).collect();
    assert!(by_samples(&[named(b"four")]));
    assert!(by_samples(&different));
    assert!(!by_samples(&alike));
    assert!(!by_samples(&[named(b"for")]));
    assert!(!by_samples(&[named(&[b'x'; SAMPLED_BYTES_MAX + 1])]));
}

#[test]
fn missing_bytes_end_a_match() {
    for patterns in [vec![named(b"abcdef")], vec![named(b"abcdef"), named(b"x")]] {
        let set = Patterns::new(&patterns, false).unwrap();
        let mut border = Border::default();
        let mut hits = 0;
        set.find(&mut border, b"..abc", &mut |_| hits += 1);
        border.reset();
        set.find(&mut border, b"def", &mut |_| hits += 1);
        assert_eq!(hits, 0);
    }
}

#[test]
fn patterns_as_people_write_them() {
    let text = |given: &str| parse(given.as_bytes(), Syntax::Text).map(|pattern| pattern.bytes);
    assert_eq!(text("GET /"), Ok(b"GET /".to_vec()));
    assert_eq!(text("a|0d 0A|b"), Ok(b"a\r\nb".to_vec()));
    assert_eq!(text("a|7C|b"), Ok(b"a|b".to_vec()));
    // Neither read literally nor ignored: such a pattern would find nothing.
    for (wrong, why) in [
        ("|zz|", "'zz' is not hexadecimal"),
        ("a|b|c", "'b' is not hexadecimal"),
        ("|0d0|", "'0d0' is not hexadecimal"),
        ("a||", "'' is not hexadecimal"),
        ("a|0d 0a", "unpaired '|'"),
        ("|41|b|", "unpaired '|'"),
    ] {
        let message = text(wrong).unwrap_err();
        assert!(message.contains(why) && message.contains("text:"), "{message}");
    }
    assert_eq!(text("hex:41 42"), Ok(b"AB".to_vec()));
    assert_eq!(text("text:|41|"), Ok(b"|41|".to_vec()));
    assert!(text("hex:4").is_err());
    assert!(text("hex:+1").is_err());
    assert!(text("").is_err());
    let hex = |given: &str| parse(given.as_bytes(), Syntax::Hex).map(|pattern| pattern.bytes);
    assert_eq!(hex("|41:42|"), Ok(b"AB".to_vec()));
    assert!(hex("GET").is_err());
    let file = parse_file(b"one\r\n\ntwo", Syntax::Text).unwrap();
    assert_eq!(file.iter().map(|pattern| pattern.name.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert!(parse_file(b"one\nhex:x", Syntax::Text).unwrap_err().starts_with("line 2: "));
}

#[test]
fn attributes_before_a_pattern() {
    let text = |given: &str| parse(given.as_bytes(), Syntax::Text);
    let found = text("|id=log4shell severity=high nocase|${jndi:").unwrap();
    let expected = Pattern {
        name: "log4shell".into(),
        bytes: b"${jndi:".to_vec(),
        id: Some("log4shell".into()),
        severity: Some("high"),
        ignore_case: true,
    };
    assert_eq!(found, expected);
    // Behind them all is as it was.
    assert_eq!(text("|severity=low|a|0d|b").unwrap().bytes, b"a\rb");
    assert_eq!(text("|nocase|text:|41|").unwrap().bytes, b"|41|");
    assert_eq!(text("|id=a|hex:41").unwrap().bytes, b"A");
    assert_eq!(text("|id=a||42|").unwrap().bytes, b"B");
    assert_eq!(parse(b"|id=a|4142", Syntax::Hex).unwrap().bytes, b"AB");
    assert_eq!(text("text:|id=a|b").unwrap(), Pattern::new("text:|id=a|b", *b"|id=a|b"));
    for (wrong, why) in [
        ("|id=a b|", "unknown attribute 'b'"),
        ("|id=a", "do not end"),
        ("|id=|b", "invalid id ''"),
        ("|id=a/b|c", "invalid id 'a/b'"),
        ("|severity=worst|c", "unknown severity 'worst': expected one of info, low, medium"),
        ("|nocase nocase|c", "twice"),
        ("|id=a id=b|c", "twice"),
        ("|nocaseX|c", "unknown attribute 'nocaseX'"),
        ("|id=a|", "empty pattern"),
    ] {
        let message = text(wrong).unwrap_err();
        assert!(message.contains(why), "{wrong}: {message}");
    }
    let file = parse_file(b"|# one | two\n|id=a|b\n#no comment", Syntax::Text).unwrap();
    assert_eq!(file.iter().map(|pattern| pattern.name.as_str()).collect::<Vec<_>>(), ["a", "#no comment"]);
}
