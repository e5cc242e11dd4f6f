//! Names of subjects and issuers out of certificates.

use x509_parser::{
    asn1_rs::{Any, Tag},
    objects::{oid_registry, oid2abbrev},
    x509::X509Name,
};

use crate::{
    fields::{DistinguishedName, Writer},
    text::{TEXT_BYTES_MAX, hex, push_number, text_of_bytes},
    work,
};

/// A name as text.
pub(super) fn shown(name: &X509Name<'_>) -> DistinguishedName {
    let mut writer = Writer::default();
    for attributes in name.iter_rdn() {
        for (index, attribute) in attributes.iter().enumerate() {
            let mut value = String::new();
            push_value(&mut value, attribute.attr_value());
            match oid2abbrev(attribute.attr_type(), oid_registry()) {
                Ok(short) => writer.push(short, &value, index > 0),
                Err(_) => writer.push(&numbers(attribute.attr_type().as_bytes()), &value, index > 0),
            }
            if writer.is_full() {
                return writer.finish();
            }
        }
    }
    writer.finish()
}

/// An object identifier as numbers with dots between them; one with a number beyond 64 bits as it is encoded, in
/// hexadecimal. What is longer than a name is cut.
fn numbers(encoded: &[u8]) -> String {
    let mut text = String::new();
    let mut number = 0_u64;
    for &byte in encoded {
        work::add(1);
        if number >> 57 != 0 {
            return hex(&encoded[..encoded.len().min(TEXT_BYTES_MAX)]);
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            // The first two numbers are one (X.690 section 8.19.4).
            let root = (number / 40).min(2);
            if text.is_empty() {
                push_number(&mut text, root);
                number -= root * 40;
            }
            text.push('.');
            push_number(&mut text, number);
            number = 0;
        }
        if text.len() > TEXT_BYTES_MAX {
            break;
        }
    }
    text
}

fn push_character(out: &mut Vec<u8>, character: char) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Appends a value in the characters of its type. What is no text is in hexadecimal, as it is encoded.
fn push_value(shown: &mut String, value: &Any<'_>) {
    let bytes = &value.data[..value.data.len().min(4 * TEXT_BYTES_MAX)];
    let (pairs, fours) = (bytes.as_chunks::<2>().0, bytes.as_chunks::<4>().0);
    match value.tag() {
        Tag::BmpString => {
            let mut characters = Vec::with_capacity(bytes.len());
            for decoded in char::decode_utf16(pairs.iter().map(|pair| u16::from_be_bytes(*pair))) {
                match decoded {
                    Ok(character) => push_character(&mut characters, character),
                    Err(half) => characters.extend_from_slice(&half.unpaired_surrogate().to_be_bytes()),
                }
            }
            shown.push_str(&text_of_bytes(&characters));
        }
        Tag::UniversalString => {
            let mut characters = Vec::with_capacity(bytes.len());
            for four in fours {
                match char::from_u32(u32::from_be_bytes(*four)) {
                    Some(character) => push_character(&mut characters, character),
                    None => characters.extend_from_slice(four),
                }
            }
            shown.push_str(&text_of_bytes(&characters));
        }
        Tag::Utf8String => shown.push_str(&text_of_bytes(bytes)),
        Tag::NumericString
        | Tag::VisibleString
        | Tag::PrintableString
        | Tag::GeneralString
        | Tag::ObjectDescriptor
        | Tag::GraphicString
        | Tag::T61String
        | Tag::VideotexString
        | Tag::Ia5String => match std::str::from_utf8(bytes) {
            Ok(_) => shown.push_str(&text_of_bytes(bytes)),
            // Other bytes than ASCII mean Latin-1 there, whatever the standards say of T.61.
            Err(_) => shown.extend(bytes.iter().map(|&byte| char::from(byte))),
        },
        _ => shown.push_str(&hex(bytes).to_uppercase()),
    }
}

#[cfg(test)]
mod tests {
    use x509_parser::prelude::FromDer as _;

    use super::*;

    fn der(tag: u8, body: &[u8]) -> Vec<u8> {
        assert!(body.len() < 128);
        [&[tag, body.len() as u8], body].concat()
    }

    /// A name of attributes by their number in 2.5.4, tag and value, each on its own.
    fn name(attributes: &[(u8, u8, &[u8])]) -> String {
        let relative = |&(number, tag, value): &(u8, u8, &[u8])| {
            der(0x31, &der(0x30, &[der(6, &[0x55, 4, number]), der(tag, value)].concat()))
        };
        let encoded = der(0x30, &attributes.iter().flat_map(relative).collect::<Vec<u8>>());
        shown(&X509Name::from_der(&encoded).unwrap().1).to_string()
    }

    #[test]
    fn object_identifiers_are_numbers_with_dots() {
        for (encoded, shown) in [
            (&[0x55, 4, 97][..], "2.5.4.97"),
            (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5], "1.2.840.113549.1.1.5"),
            (&[0], "0.0"),
            (&[79], "1.39"),
            (&[0x88, 0x37, 0], "2.999.0"),
            (&[0x2a, 0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], "1.2.18446744073709551615"),
            (&[0x2a, 0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0], "2a82808080808080808000"),
            (&[], ""),
        ] {
            assert_eq!(numbers(encoded), shown);
        }
        for length in [0, 1, 600, 20_000] {
            let encoded = [&[0x55][..], &vec![1; length]].concat();
            assert!(numbers(&encoded).len() <= TEXT_BYTES_MAX + 2);
        }
    }

    #[test]
    fn each_type_has_its_characters() {
        assert_eq!(
            name(&[(6, 0x13, b"DE"), (10, 0x14, b"M\xfcller"), (3, 0x0c, "ü".as_bytes())]),
            "C=DE, O=Müller, CN=ü"
        );
        assert_eq!(name(&[(10, 0x1e, b"\x00B\x00\xfc\xd8\x3d\xde\x00"), (3, 0x1c, b"\0\x01\xf6\0")]), "O=Bü😀, CN=😀");
        assert_eq!(name(&[(3, 0x0c, b"a\xffb"), (10, 0x02, &[0x12, 0xab])]), "CN=a\\\\xffb, O=12AB");
        assert_eq!(
            name(&[(10, 0x1e, b"\xd8\x3d\0"), (3, 0x1c, b"\xff\xff\xff\xff")]),
            "O=\\\\xd8=, CN=\\\\xff\\\\xff\\\\xff\\\\xff"
        );
        assert_eq!(name(&[]), "");
        assert_eq!(name(&[(97, 0x0c, b"a"), (3, 0x0c, b"b, O=c")]), "2.5.4.97=a, CN=b\\, O=c");
    }
}
