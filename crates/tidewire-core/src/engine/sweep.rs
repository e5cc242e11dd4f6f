/// Where the sweep is.
#[derive(Default)]
pub(crate) struct Sweep {
    pub hand: u32,
    pub paid_until_ns: u64,
    /// State of the random numbers by which holders are looked at.
    pub random: u64,
    /// When the shunt was tidied up last.
    pub tidied_ns: u64,
}
