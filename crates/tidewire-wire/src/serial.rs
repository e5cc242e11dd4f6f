//! Values of serde: names as in JSON.

use crate::{Malformation, OtherLink, TunnelKind};

tidewire_types::serde_by_name!(Malformation, OtherLink, TunnelKind);
