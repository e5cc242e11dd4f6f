use std::str::FromStr;

pub(crate) use crate::setting::PLACES;
use crate::{
    random::mix,
    setting::{SIZE_MAX, SIZE_MIN, SettingError},
};

/// FCS, which is not in memory.
pub(crate) const FCS_BYTES: u32 = 4;
/// Greatest number of different sizes.
pub(crate) const SIZES_MAX: usize = 16;

/// Largest frame in memory.
pub const FRAME_BYTES_MAX: usize = (SIZE_MAX - FCS_BYTES) as usize;

/// Sizes of frames on the wire, FCS included, each with its share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    sizes: Vec<(u32, u32)>,
    places: [u8; PLACES],
}

impl Sizes {
    /// One size, 64 to 9018.
    ///
    /// # Errors
    /// It is out of range.
    pub fn fixed(size: u32) -> Result<Self, SettingError> {
        Self::shared(vec![(size, 1)])
    }

    /// Several, with their shares: at most 16, each of at least a 128th of the whole.
    ///
    /// # Errors
    /// There are none, too many, or one is out of range.
    pub fn shared(sizes: Vec<(u32, u32)>) -> Result<Self, SettingError> {
        SettingError::check_count("the number of sizes", SIZES_MAX as u64, sizes.len() as u64)?;
        if let Some(&(bytes, _)) = sizes.iter().find(|(size, _)| !(SIZE_MIN..=SIZE_MAX).contains(size)) {
            return Err(SettingError::FrameBytes { bytes });
        }
        let shares: Vec<u32> = sizes.iter().map(|size| size.1).collect();
        Ok(Self { places: shared_out(&shares)?, sizes })
    }

    /// The sizes in memory: without FCS.
    pub(crate) fn frames(&self) -> impl Iterator<Item = u32> + '_ {
        self.sizes.iter().map(|(size, _)| size - FCS_BYTES)
    }

    /// Bytes in memory of the largest frame.
    #[must_use]
    pub fn bytes_max(&self) -> usize {
        self.frames().max().unwrap_or(SIZE_MIN) as usize
    }

    /// The size in each slot.
    pub(crate) fn places(&self) -> &[u8; PLACES] {
        &self.places
    }

    /// Bytes in memory of a frame chosen by `random`, as the kernel program does it.
    pub(crate) fn pick(&self, random: u64) -> u32 {
        let place = (random >> 32) as usize % PLACES;
        let index = self.places.get(place).copied().unwrap_or(0);
        self.sizes.get(usize::from(index)).map_or(SIZE_MIN, |size| size.0) - FCS_BYTES
    }
}

/// Assigns slots by shares; slots of the same entry are spread out.
pub(crate) fn shared_out(shares: &[u32]) -> Result<[u8; PLACES], SettingError> {
    let whole: u64 = shares.iter().map(|share| u64::from(*share)).sum();
    if whole == 0 {
        return Err(SettingError::NoShare);
    }
    let mut places = [0_u8; PLACES];
    let mut order: Vec<usize> = (0..PLACES).collect();
    order.sort_by_key(|place| mix(*place as u64));
    let mut before = 0_u64;
    let mut taken = 0;
    for (index, share) in shares.iter().enumerate() {
        before += u64::from(*share);
        let end = (before * PLACES as u64).div_ceil(whole) as usize;
        if *share > 0 && end == taken {
            return Err(SettingError::SmallShare { share: *share, whole });
        }
        for place in order.get(taken..end).unwrap_or_default() {
            if let Some(slot) = places.get_mut(*place) {
                *slot = index as u8;
            }
        }
        taken = end;
    }
    Ok(places)
}

impl FromStr for Sizes {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let wrong = |text: &str, problem| SettingError::Size { text: text.to_owned(), problem };
        let read = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong(text, "is not a size"));
        if text == "imix" {
            // IMIX: of 12 frames 7 small, 4 medium, 1 large.
            return Self::shared(vec![(64, 7), (594, 4), (1518, 1)]);
        }
        if let Some((least, most)) = text.split_once('-') {
            let (least, most) = (read(least)?, read(most)?);
            if least > most {
                return Err(wrong(text, "runs backwards"));
            }
            let steps = (most - least).min(SIZES_MAX as u32 - 1);
            let size = |step: u32| least + ((most - least) * step).checked_div(steps).unwrap_or(0);
            return Self::shared((0..=steps).map(|step| (size(step), 1)).collect());
        }
        let sizes = text.split(',').map(|part| match part.split_once(':') {
            Some((size, share)) => Ok((read(size)?, read(share)?)),
            None => Ok((read(part)?, 1)),
        });
        Self::shared(sizes.collect::<Result<_, SettingError>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(sizes: &Sizes) -> Vec<usize> {
        let of = |index: usize| sizes.places.iter().filter(|place| usize::from(**place) == index).count();
        (0..sizes.sizes.len()).map(of).collect()
    }

    #[test]
    fn forms() {
        let read = |text: &str| text.parse::<Sizes>();
        assert_eq!(read("64").unwrap().frames().collect::<Vec<_>>(), [60]);
        assert_eq!(shares(&read("64,128,256,512").unwrap()), [32; 4]);
        let imix = read("imix").unwrap();
        assert_eq!(imix.bytes_max(), 1514);
        assert_eq!(shares(&imix).iter().sum::<usize>(), PLACES);
        assert!(shares(&imix)[0] > shares(&imix)[1] && shares(&imix)[1] > shares(&imix)[2]);
        let range: Vec<_> = read("64-1518").unwrap().frames().collect();
        assert_eq!((range.len(), range[0], range[15]), (16, 60, 1514));
        assert_eq!(read("64-66").unwrap().frames().collect::<Vec<_>>(), [60, 61, 62]);
        for wrong in ["", "63", "9019", "x", "1518-64", "64:0", "65:1000,64:1", "64,"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
