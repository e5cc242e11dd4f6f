//! Filter expressions, and what stands in their place without the feature `filter`.

#[cfg(not(feature = "filter"))]
pub(crate) use none::{Filter, Fragments};
#[cfg(feature = "filter")]
pub(crate) use tidewire_filter::Filter;
#[cfg(all(feature = "filter", feature = "files"))]
pub(crate) use tidewire_filter::Fragments;

#[cfg(not(feature = "filter"))]
mod none {
    use tidewire_core::wire::LinkType;

    use crate::{Error, SettingError};

    /// There are no filters that accept fragments.
    #[derive(Debug, Default)]
    pub(crate) struct Fragments;

    impl Fragments {
        pub(crate) fn accepts(&mut self, _: LinkType, _: &[u8], _: u32, _: u64, is_accepted: bool) -> bool {
            is_accepted
        }
    }

    /// A filter that cannot be constructed without the feature `filter`.
    #[derive(Clone, Debug)]
    pub(crate) enum Filter {}

    impl Filter {
        pub(crate) fn new(expression: &str) -> Result<Self, Error> {
            Err(SettingError::NoFilters { expression: expression.into() }.into())
        }

        pub(crate) fn expression(&self) -> &str {
            match *self {}
        }

        pub(crate) fn prepare(&mut self, _: LinkType) -> Result<(), SettingError> {
            match *self {}
        }

        pub(crate) fn matches(&mut self, _: LinkType, _: &[u8], _: u32) -> Result<bool, SettingError> {
            match *self {}
        }
    }
}
