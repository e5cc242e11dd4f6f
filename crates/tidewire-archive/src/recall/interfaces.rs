//! Interfaces of captures, as their descriptions have them, and of all captures together.

use tidewire_wire::LinkType;

use crate::block::Interface;

/// Interfaces of a recall at most: frames have 16 bits for them.
const INTERFACES_MAX: usize = 65_535;

/// Reads descriptions as they are met.
#[derive(Debug, Default)]
pub(crate) struct Descriptions {
    big_endian: bool,
    pub found: Vec<Interface>,
}

impl Descriptions {
    /// Reads a section header or an interface description.
    pub fn add(&mut self, block: &[u8]) {
        if block.get(..4) == Some(&0x0a0d_0d0a_u32.to_le_bytes()) {
            self.big_endian = block.get(8..12) == Some(&0x1a2b_3c4d_u32.to_be_bytes());
            return;
        }
        let Some(body) = block.get(8..block.len().saturating_sub(4)) else { return };
        let link = LinkType(self.half(body, 0).unwrap_or_default());
        let mut interface = Interface::new("", link);
        interface.snap_bytes = self.word(body, 4).unwrap_or_default();
        let mut options = body.get(8..).unwrap_or_default();
        while let (Some(code), Some(length)) = (self.half(options, 0), self.half(options, 2)) {
            let length = usize::from(length);
            let Some(value) = options.get(4..4 + length).filter(|_| code != 0) else { break };
            let text = |value: &[u8]| String::from_utf8_lossy(value).trim_end_matches('\0').to_owned();
            match code {
                2 => interface.name = text(value),
                3 => interface.description = text(value),
                8 => {
                    let bytes = value.first_chunk::<8>().copied().unwrap_or_default();
                    interface.speed_bits =
                        if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) };
                }
                11 if value.first() == Some(&0) => interface.filter = text(value.get(1..).unwrap_or_default()),
                _ => {}
            }
            options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
        self.found.push(interface);
    }

    fn half(&self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    fn word(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// Whether options of packets can be copied as they are.
    pub fn is_little_endian(&self) -> bool {
        !self.big_endian
    }
}

/// The interfaces of all captures: equal ones are one.
#[derive(Debug, Default)]
pub(crate) struct Interfaces(pub Vec<Interface>);

impl Interfaces {
    /// The number of an interface.
    pub fn number(&mut self, interface: &Interface) -> u16 {
        let found = self.0.iter().position(|known| known == interface);
        let place = found.unwrap_or_else(|| {
            if self.0.len() < INTERFACES_MAX {
                self.0.push(interface.clone());
            }
            self.0.len() - 1
        });
        place as u16
    }
}
