//! Interface descriptions of pcapng, with their texts.

use tidewire_wire::LinkType;

use crate::{
    encode::Interface,
    limits::OPTIONS_MAX,
    record_cursor::{u16_at, u32_at},
};

const COMMENT: u16 = 1;
const NAME: u16 = 2;
const DESCRIPTION: u16 = 3;
const SPEED: u16 = 8;
const FILTER: u16 = 11;

/// Reads the body of an interface description block: what is between its two lengths. `None`: it is too short. Options that are cut
/// are left out, and texts that are no UTF-8 are repaired.
#[must_use]
pub fn described(body: &[u8], big_endian: bool) -> Option<Interface> {
    let mut interface = Interface::new("", LinkType(u16_at(body, 0, big_endian)?));
    interface.snap_bytes = u32_at(body, 4, big_endian)?;
    let mut options = body.get(8..).unwrap_or_default();
    for _ in 0..OPTIONS_MAX {
        let (Some(code), Some(length)) = (u16_at(options, 0, big_endian), u16_at(options, 2, big_endian)) else {
            break;
        };
        let length = usize::from(length);
        let Some(value) = options.get(4..4 + length).filter(|_| code != 0) else { break };
        let text = |value: &[u8]| String::from_utf8_lossy(value).trim_end_matches('\0').to_owned();
        match code {
            COMMENT if interface.comment.is_empty() => interface.comment = text(value),
            COMMENT => interface.comment = format!("{}\n{}", interface.comment, text(value)),
            NAME => interface.name = text(value),
            DESCRIPTION => interface.description = text(value),
            SPEED => {
                let bytes = value.first_chunk::<8>().copied().unwrap_or_default();
                interface.speed_bits = if big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) };
            }
            // As text; others are programs.
            FILTER if value.first() == Some(&0) => interface.filter = text(value.get(1..).unwrap_or_default()),
            _ => {}
        }
        options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(interface)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::interface_description;

    #[test]
    fn what_was_encoded_is_read_back() {
        let mut interface = Interface::new("eth0", LinkType(113));
        interface.snap_bytes = 96;
        interface.description = "to the harbour".into();
        interface.speed_bits = 10_000_000_000;
        interface.filter = "tcp port 80".into();
        interface.comment = "the mirror\nof the first switch".into();
        let mut block = Vec::new();
        interface_description(&mut block, &interface);
        let body = &block[8..block.len() - 4];
        assert_eq!(described(body, false), Some(interface));
        for bytes in 0..body.len() {
            assert_eq!(described(&body[..bytes], false).is_some(), bytes >= 8);
        }
    }
}
