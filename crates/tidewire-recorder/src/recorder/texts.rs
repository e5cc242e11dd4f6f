//! Bounds what files say of their interfaces.

use tidewire_archive::block::Interface;

/// Bytes of names, descriptions, filters and comments of all interfaces: each segment has them again, however small it is.
const BYTES_MAX: usize = 64 << 10;
/// Beyond, a name has so many bytes, as one in Linux (`IFNAMSIZ`), and nothing else is kept.
const NAME_BYTES: usize = 16;

/// Space left for texts.
#[derive(Debug, Default)]
pub(super) struct Texts {
    bytes: usize,
}

impl Texts {
    /// The interface with as much text as there is room for.
    pub fn bounded(&mut self, mut interface: Interface) -> Interface {
        let bytes =
            [&interface.name, &interface.description, &interface.filter, &interface.comment].map(|text| text.len());
        let all = bytes.iter().sum::<usize>();
        if self.bytes + all <= BYTES_MAX {
            self.bytes += all;
            return interface;
        }
        interface.name.truncate(interface.name.floor_char_boundary(NAME_BYTES));
        Interface {
            speed_bits: interface.speed_bits,
            snap_bytes: interface.snap_bytes,
            ..Interface::new(interface.name, interface.link)
        }
    }
}

#[cfg(test)]
mod tests {
    use tidewire_wire::LinkType;

    use super::*;

    #[test]
    fn thousands_of_interfaces_have_short_names() {
        let mut texts = Texts::default();
        let long = || Interface {
            comment: "c".repeat(4000),
            ..Interface::new("an interface with a name of \u{e4}\u{e4}\u{e4}", LinkType(1))
        };
        let all: Vec<Interface> = (0..3000).map(|_| texts.bounded(long())).collect();
        assert_eq!(all.first(), Some(&long()));
        assert_eq!(all.last(), Some(&Interface::new("an interface wit", LinkType(1))));
        let bytes: usize = all.iter().map(|interface| interface.name.len() + interface.comment.len()).sum();
        assert!(bytes <= BYTES_MAX + 3000 * NAME_BYTES, "{bytes}");
        // There is room for short ones behind.
        assert_eq!(texts.bounded(Interface::new("eth0", LinkType(1))).name, "eth0");
    }
}
