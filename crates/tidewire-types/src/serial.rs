//! Names as values of serde: for types with a list of all values, and a name for each.

use serde::{Deserialize as _, Deserializer, Serialize, Serializer, de::Error as _};

use crate::Direction;

/// Reads a value by its name.
///
/// # Errors
/// A name that none of `all` has.
pub fn by_name<'de, D: Deserializer<'de>, T: Copy>(
    deserializer: D,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<T, D::Error> {
    let given = String::deserialize(deserializer)?;
    all.iter().copied().find(|one| name(*one) == given).ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|one| name(*one)).collect();
        D::Error::custom(format_args!("unknown name `{given}`, expected one of: {}", known.join(", ")))
    })
}

/// Serializes types by `name()`, and reads them back by it out of `ALL`.
#[doc(hidden)]
#[macro_export]
macro_rules! serde_by_name {
    ($($type:ty),+ $(,)?) => { $(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str((*self).name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::serial::by_name(deserializer, &<$type>::ALL[..], <$type>::name)
            }
        }
    )+ };
}

impl Serialize for Direction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> serde::Deserialize<'de> for Direction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        by_name(deserializer, &Self::BOTH, Self::name)
    }
}
