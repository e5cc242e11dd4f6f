use super::{
    border::{COMPARED_BYTES_MAX, COMPARED_PER_BYTE_MAX},
    *,
};

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

/// Periodic text that nearly matches long patterns at every sample: what is compared stays within a bound, what is found does not
/// change, whether the rest is searched by samples or by an automaton.
#[test]
fn text_that_nearly_matches_costs_little() {
    let mut numbers = Numbers(11);
    let ending = |letter: u8| named(&[&[b'a'; 999][..], &[letter]].concat());
    let sets: [Vec<Pattern>; 4] = [
        vec![ending(b'b')],
        (0..16).map(|index| ending(b'b' + index)).collect(),
        (1..16).map(|index| named(&[&[b'a'; 300][..], b"X", &[b'a'; 10].repeat(index)[..]].concat())).collect(),
        vec![named(&b"ab".repeat(400)), named(&[&b"ab".repeat(200)[..], b"x", &b"ab".repeat(200)[..]].concat())],
    ];
    let mut by_automaton = 0;
    for patterns in sets {
        for ignore_case in [false, true] {
            for defect in [0, 7, 250, 999, 1000, 5000] {
                let mut text = if patterns.len() == 2 { b"ab".repeat(10_000) } else { vec![b'a'; 20_000] };
                for at in (1..text.len()).step_by(defect.max(1)).filter(|_| defect > 0) {
                    text[at] = b"bXA"[numbers.below(3)];
                }
                let set = Patterns::new(&patterns, ignore_case).unwrap();
                assert!(matches!(set, Patterns::Sampled(_)));
                let (mut border, mut hits) = (Border::default(), Vec::new());
                for (index, piece) in text.chunks(700).enumerate() {
                    set.find(&mut border, piece, &mut |hit| hits.push((index * 700 + hit.end, hit.pattern)));
                }
                hits.sort_unstable();
                assert_eq!(hits, naive(&patterns, &text, ignore_case));
                // A piece and what is kept before it are compared at most once more than the bound.
                let bound = COMPARED_BYTES_MAX + (text.len() as u64) * COMPARED_PER_BYTE_MAX;
                assert!(border.compared <= bound + 2000 * 1000 * 16 / 8, "{} of {bound}", border.compared);
                by_automaton += u64::from(border.is_costly());
            }
        }
    }
    assert!(by_automaton > 0, "some text has to be costly");
}

/// The automaton takes over behind the first full segment, whatever the comparisons that fail at once cost by themselves.
#[test]
fn text_that_nearly_matches_at_every_sample_goes_to_the_automaton() {
    let pattern = [named(&[&[b'a'; 99][..], b"b"].concat())];
    for text in [&b"a"[..], &[&[b'a'; 57][..], b"c"].concat()] {
        for ignore_case in [false, true] {
            let set = Patterns::new(&pattern, ignore_case).unwrap();
            let mut border = Border::default();
            set.find(&mut border, &text.repeat(1460)[..1460], &mut |_| ());
            assert!(border.is_costly(), "{} compared", border.compared);
        }
    }
}

#[test]
fn of_many_matches_at_one_byte_the_longest_are_found() {
    let nested: Vec<Pattern> = (1..=200).map(|length| named(&vec![b'a'; length])).collect();
    let set = Patterns::new(&nested, false).unwrap();
    let mut hits = Vec::new();
    let left_out = set.find(&mut Border::default(), &[b'a'; 300], &mut |hit| hits.push(hit));
    let at_byte = |end: usize| hits.iter().filter(|hit| hit.end == end).map(|hit| hit.pattern + 1).collect::<Vec<_>>();
    assert_eq!(at_byte(3), [3, 2, 1]);
    assert_eq!(at_byte(150), (143..=150).rev().collect::<Vec<_>>());
    let all: u64 = (1..=300_u64).map(|end| end.min(200)).sum();
    assert_eq!(hits.len() as u64 + left_out, all);
    assert!(hits.len() <= 300 * MATCHES_AT_MAX);
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
    assert_eq!(text("GET /").unwrap(), b"GET /");
    assert_eq!(text("a|0d 0A|b").unwrap(), b"a\r\nb");
    assert_eq!(text("a|7C|b").unwrap(), b"a|b");
    // Neither read literally nor ignored: such a pattern would find nothing.
    for (wrong, why) in [
        ("|zz|", "'zz' is not hexadecimal"),
        ("a|b|c", "'b' is not hexadecimal"),
        ("|0d0|", "'0d0' is not hexadecimal"),
        ("a||", "'' is not hexadecimal"),
        ("a|0d 0a", "unpaired '|'"),
        ("|41|b|", "unpaired '|'"),
    ] {
        let message = text(wrong).unwrap_err().to_string();
        assert!(message.contains(why) && message.contains("text:"), "{message}");
    }
    assert_eq!(text("hex:41 42").unwrap(), b"AB");
    assert_eq!(text("text:|41|").unwrap(), b"|41|");
    assert!(text("hex:4").is_err());
    assert!(text("hex:+1").is_err());
    assert!(text("").is_err());
    let hex = |given: &str| parse(given.as_bytes(), Syntax::Hex).map(|pattern| pattern.bytes);
    assert_eq!(hex("|41:42|").unwrap(), b"AB");
    assert!(hex("GET").is_err());
    let file = parse_file(b"one\r\n\ntwo", Syntax::Text).unwrap();
    assert_eq!(file.iter().map(|pattern| pattern.name.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert!(parse_file(b"one\nhex:x", Syntax::Text).unwrap_err().to_string().starts_with("line 2: "));
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
        let message = text(wrong).unwrap_err().to_string();
        assert!(message.contains(why), "{wrong}: {message}");
    }
    let file = parse_file(b"|# one | two\n|id=a|b\n#no comment", Syntax::Text).unwrap();
    assert_eq!(file.iter().map(|pattern| pattern.name.as_str()).collect::<Vec<_>>(), ["a", "#no comment"]);
}
