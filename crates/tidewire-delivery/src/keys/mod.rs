//! Keys and certificates: made, read and checked.

mod authority;
mod certificate;
mod credentials;
mod error;
pub mod files;
pub mod identity;
mod refused;

pub use authority::{Authority, Validity};
pub use certificate::{Facts, Role};
pub use credentials::{Credentials, Places, certificates};
pub use error::KeyError;
pub use refused::Refused;
