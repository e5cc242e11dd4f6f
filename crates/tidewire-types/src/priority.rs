//! Who loses first where there is no room for all.

use crate::PRIORITIES_MAX;

/// From this level on the lowest priority is shed somewhat later, in thousandths.
const BASE_PERMILLE: u64 = 500;

/// Whether what has this priority (0, the lowest, to 7) is shed at a level of memory or of a ring, in thousandths: the room above the half is
/// divided into as many steps as there are priorities, and the highest priority is never shed (Scap, IMC 2013, section 2.2). So 0 is shed
/// from 563 on, 3 from 751 on, 6 from 938 on.
#[must_use]
pub fn is_shed(priority: u8, level_permille: u32) -> bool {
    let (priorities, priority) = (u64::from(PRIORITIES_MAX), u64::from(priority));
    let mark = BASE_PERMILLE * priorities + (1000 - BASE_PERMILLE) * (priority + 1);
    priority + 1 < priorities && u64::from(level_permille) * priorities > mark
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_priorities_are_shed_earlier_and_the_highest_never() {
        let shed_at = |level| (0..PRIORITIES_MAX).filter(|priority| is_shed(*priority, level)).count();
        assert_eq!([0, 500, 562, 563, 700, 750, 751, 938, 1000, u32::MAX].map(shed_at), [0, 0, 0, 1, 3, 3, 4, 7, 7, 7]);
    }
}
