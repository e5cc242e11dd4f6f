//! Names of fields in other formats.

/// Where EVE's record `flow` has a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eve {
    /// In `flow`.
    Flow,
    /// In `tidewire`.
    Own,
    /// In `tidewire.toserver`.
    ToServer,
    /// In `tidewire.toclient`.
    ToClient,
    /// Anywhere: its name is a path.
    Composed,
}

impl Eve {
    /// The object that it is in.
    pub(crate) fn object(self) -> &'static str {
        match self {
            Self::Flow => "flow.",
            Self::Own => "tidewire.",
            Self::ToServer => "tidewire.toserver.",
            Self::ToClient => "tidewire.toclient.",
            Self::Composed => "",
        }
    }
}

/// An element of IPFIX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its number.
    pub number: u16,
    /// Its name.
    pub name: &'static str,
    /// Whether it is in IANA's registry; else it is ours, under an enterprise number.
    pub is_iana: bool,
}

/// An element of IANA's registry.
pub(crate) const fn iana(number: u16, name: &'static str) -> Element {
    Element { number, name, is_iana: true }
}

/// An element of ours.
pub(crate) const fn own(number: u16, name: &'static str) -> Element {
    Element { number, name, is_iana: false }
}

/// Names of a field in other formats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aliases {
    /// The member of EVE's record `flow`.
    pub(crate) eve: Option<(Eve, &'static str)>,
    /// Whether EVE's encoder has no code of its own for it, and writes it by its getter.
    pub(crate) is_eve_simple: bool,
    /// The column of Zeek's log `conn`.
    pub(crate) zeek: Option<&'static str>,
    /// Elements of IPFIX: of the reverse direction, their reverse ones.
    pub(crate) ipfix: &'static [Element],
}

impl Aliases {
    pub(crate) const NONE: Self = Self { eve: None, is_eve_simple: false, zeek: None, ipfix: &[] };
}
