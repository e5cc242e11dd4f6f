//! Names of subjects and issuers out of certificates.

use x509_parser::{
    asn1_rs::{Any, Tag},
    objects::{oid_registry, oid2abbrev},
    x509::X509Name,
};

use super::distinguished_name::{DistinguishedName, Writer};
use crate::text::{TEXT_BYTES_MAX, hex, text_of_bytes};

/// A name as text.
pub(super) fn shown(name: &X509Name<'_>) -> DistinguishedName {
    let mut writer = Writer::default();
    for attributes in name.iter_rdn() {
        for (index, attribute) in attributes.iter().enumerate() {
            let mut value = String::new();
            push_value(&mut value, attribute.attr_value());
            match oid2abbrev(attribute.attr_type(), oid_registry()) {
                Ok(short) => writer.push(short, &value, index > 0),
                Err(_) => writer.push(&attribute.attr_type().to_id_string(), &value, index > 0),
            }
            if writer.is_full() {
                return writer.finish();
            }
        }
    }
    writer.finish()
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
