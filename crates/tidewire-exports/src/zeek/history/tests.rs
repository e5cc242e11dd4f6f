use super::*;

/// Plays segments: `>` of the originator or `<`, flags, and how much payload, `!` behind it for a sequence number that was sent
/// before. Returns letters and state.
fn played(script: &str) -> (String, &'static str, [u64; 2]) {
    let mut history = History::default();
    let mut next = [1000_u32, 5000];
    for (index, word) in script.split(' ').enumerate() {
        let side = usize::from(word.starts_with('<'));
        if index == 0 && side == 1 {
            history.write('^');
        }
        history.is_begun = true;
        let letters = word[1..].trim_end_matches(|c: char| c.is_ascii_digit() || c == '!');
        let flags = letters.chars().map(|letter| 1 << "FSRPA".find(letter).expect("a flag")).fold(0, |a, b: u8| a | b);
        let digits: String = word.chars().filter(char::is_ascii_digit).collect();
        let payload_bytes: u32 = digits.parse().unwrap_or(0);
        let length = payload_bytes + u32::from(flags & tcp_flag::SYN != 0) + u32::from(flags & tcp_flag::FIN != 0);
        let is_repeated = word.ends_with('!');
        let seq = if is_repeated { next[side].wrapping_sub(length) } else { next[side] };
        let segment = Segment { flags, seq, ack: next[side ^ 1], window: 100, payload_bytes };
        history.segment(side, &segment, index as u64 + 1);
        if !is_repeated {
            next[side] = next[side].wrapping_add(length);
        }
    }
    (history.letters().to_owned(), history.conn_state(ip_protocol::TCP), history.sizes())
}

#[test]
fn connections_have_zeeks_letters_and_states() {
    for (script, letters, state, sizes) in [
        (">S <SA >A >PA10 <A <PA20 >A >FA <FA >A", "ShADadFf", "SF", [10, 20]),
        (">S", "S", "S0", [0, 0]),
        (">S >S!", "S", "S0", [0, 0]),
        (">S <RA", "Sr", "REJ", [0, 0]),
        (">S <SA >A", "ShA", "S1", [0, 0]),
        (">S <SA >A >FA <A", "ShAFa", "S2", [0, 0]),
        (">S <SA >A <FA >A", "ShAf", "S3", [0, 0]),
        (">S <SA >A >A10 >R", "ShADR", "RSTO", [10, 0]),
        (">S <SA >A <A10 <R", "ShAdr", "RSTR", [0, 10]),
        (">S >R", "SR", "RSTOS0", [0, 0]),
        (">S >F", "SF", "SH", [0, 0]),
        ("<SA <FA", "^hf", "SHR", [0, 0]),
        ("<SA <R", "^hr", "RSTRH", [0, 0]),
        (">A10 <A20", "Dd", "OTH", [10, 20]),
        (">S <SA >A >A10 >A10!", "ShADT", "S1", [10, 0]),
        (">FR", "I", "OTH", [0, 0]),
        (">SF", "Q", "SH", [0, 0]),
    ] {
        let found = played(script);
        assert_eq!((found.0.as_str(), found.1, found.2), (letters, state, sizes), "{script}");
    }
}

#[test]
fn letters_that_repeat_are_written_at_powers_of_ten() {
    let again = " >A10!".repeat(100);
    assert_eq!(played(&format!(">S <SA >A >A10{}", &again[..6 * 9])).0, "ShADT");
    assert_eq!(played(&format!(">S <SA >A >A10{}", &again[..6 * 10])).0, "ShADTT");
    assert_eq!(played(&format!(">S <SA >A >A10{again}")).0, "ShADTTT");
}

#[test]
fn a_history_is_bounded() {
    let mut history = History::default();
    for seq in 0..100_000_u32 {
        let segment =
            Segment { flags: tcp_flag::RST, seq: seq.wrapping_mul(77_777), ack: 0, window: 0, payload_bytes: 0 };
        history.segment(0, &segment, 1);
    }
    assert_eq!(history.letters().len(), LETTERS_MAX);
}

#[test]
fn wrong_checksums_have_letters_at_powers_of_ten() {
    let mut history = History::of(ip_protocol::UDP);
    for _ in 0..100 {
        history.note_checksum(0);
    }
    history.note_checksum(1);
    assert_eq!((history.letters(), history.conn_state(ip_protocol::UDP)), ("CCCc", "OTH"));
    // Of ICMP Zeek has none.
    let mut history = History::of(ip_protocol::ICMP);
    history.note_checksum(0);
    assert_eq!(history.letters(), "");
}
