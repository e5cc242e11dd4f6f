use super::*;
use crate::encode;

/// The body of a block that was encoded.
fn body(block: &[u8]) -> &[u8] {
    &block[8..block.len() - 4]
}

fn texts() -> Writer {
    Writer {
        hardware: "a laptop".into(),
        system: "Plan 9".into(),
        application: "Dumpcap".into(),
        comment: "the second try\nafter lunch".into(),
    }
}

#[test]
fn what_was_encoded_is_read_back() {
    let mut block = Vec::new();
    encode::section_header(&mut block, &texts());
    assert_eq!(supplement(SECTION_HEADER, body(&block), false), Some(Supplement::Section(texts())));
    let secrets = [&b"KSLT\x05\0\0\0"[..], b"hello\0\0\0"].concat();
    let names = [&[1, 0, 6, 0, 192, 0, 2, 7, b'a', 0, 0, 0][..], &[0; 4]].concat();
    for one in [Supplement::Secrets(secrets), Supplement::Names(names)] {
        let mut block = Vec::new();
        encode::supplement(&mut block, &one);
        assert_eq!(block.len(), one.bytes());
        let kind = u32::from_le_bytes(*block.first_chunk().unwrap());
        assert_eq!(supplement(kind, body(&block), false), Some(one));
        // (Its padding is not needed.)
        for bytes in 0..body(&block).len() - 3 {
            assert_eq!(supplement(kind, &body(&block)[..bytes], false), None);
        }
    }
    let mut nothing = Vec::new();
    encode::section_header(&mut nothing, &Writer::default());
    assert_eq!(supplement(SECTION_HEADER, body(&nothing), false), None);
}

#[test]
fn another_byte_order_is_turned() {
    let secrets = [&b"TLSK"[..], &[0, 0, 0, 5], b"hello\0\0\0", &[0, 1, 0, 1, b'x', 0, 0, 0]].concat();
    let own = [&b"KSLT\x05\0\0\0"[..], b"hello\0\0\0"].concat();
    assert_eq!(supplement(SECRETS, &secrets, true), Some(Supplement::Secrets(own)));
    let names = [0, 1, 0, 6, 192, 0, 2, 7, b'a', 0, 0, 0, 0, 0, 0, 0];
    let own = vec![1, 0, 6, 0, 192, 0, 2, 7, b'a', 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(supplement(NAMES, &names, true), Some(Supplement::Names(own)));
    assert_eq!(supplement(NAMES, &[0; 4], true), None);
    assert_eq!(supplement(6, &names, true), None);
}

#[test]
fn supplements_are_kept_once_and_bounded() {
    let mut all = Supplements::default();
    let one = |number: u32| Supplement::Secrets(vec![number as u8; 1000 + number as usize]);
    assert!(all.add(&one(1)) && !all.add(&one(1)) && all.left_out() == 0);
    let added = (2..2000).filter(|&number| all.add(&one(number))).count();
    assert!(added > 500 && all.left_out() > 0, "{added}");
    assert!(all.list().iter().map(Supplement::bytes).sum::<usize>() <= SUPPLEMENT_BYTES_MAX);
    assert_eq!(all.take().len(), added + 1);
    assert!(all.add(&one(1)) && all.list().len() == 1);
}
