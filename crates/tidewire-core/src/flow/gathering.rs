/// A chunk being gathered.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    /// Stream offset of `bytes[0]`.
    pub start: u64,
    pub bytes: Vec<u8>,
    /// How many of `bytes` were delivered before.
    pub repeated: usize,
    /// They are there because the application kept the chunk, not as overlap.
    pub is_kept: bool,
    /// Clock at which the first fresh byte came.
    pub since_ns: u64,
    /// What the budget was charged for it.
    pub charged: u64,
}
