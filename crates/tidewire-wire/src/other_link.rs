/// Declares the enum, its complete list and its counter names in one place, so that none can be forgotten.
macro_rules! protocols {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Content of a frame of [`crate::Kind::OtherLink`], where that has a name. Each variant is a counter's name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum OtherLink {
            $($(#[$doc])* $variant,)*
        }

        impl OtherLink {
            /// Every variant; the position equals `variant as usize`. At most 16.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The counter's name, in snake case; part of the output contract.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

protocols! {
    /// 802.11 management and control frames, and data frames without data.
    Ieee80211Control = "ieee80211_control",
    /// Encrypted 802.11 data.
    Ieee80211Encrypted = "ieee80211_encrypted",
    /// A fragment of an 802.11 data frame; fragments are not put together.
    Ieee80211Fragment = "ieee80211_fragment",
    /// 802.15.4 beacons, acknowledgments, commands and frames of later types.
    Ieee802154Control = "ieee802154_control",
    /// 802.15.4 data with a security header.
    Ieee802154Encrypted = "ieee802154_encrypted",
    /// 802.15.4 data that is not 6LoWPAN (ZigBee), or has information elements.
    Ieee802154Data = "ieee802154_data",
    /// 6LoWPAN with a compressed IPv6 header (RFC 6282), which is not unpacked.
    SixLowpanIphc = "sixlowpan_iphc",
    /// 6LoWPAN with the older compression (RFC 4944, 10).
    SixLowpanHc1 = "sixlowpan_hc1",
    /// A fragment of a 6LoWPAN packet (RFC 4944, 5.3); fragments are not put together.
    SixLowpanFragment = "sixlowpan_fragment",
    /// Another 6LoWPAN dispatch value.
    SixLowpanOther = "sixlowpan_other",
    /// MACsec that changes its user data.
    MacsecEncrypted = "macsec_encrypted",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_is_listed_at_its_own_place_under_its_own_name() {
        for (index, &protocol) in OtherLink::ALL.iter().enumerate() {
            assert_eq!(protocol as usize, index);
            assert!(OtherLink::ALL[..index].iter().all(|earlier| earlier.name() != protocol.name()));
        }
        assert!(OtherLink::ALL.len() <= 16);
    }
}
