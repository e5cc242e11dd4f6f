//! The protocol between spooler and collector: bytes in and out, no connection.

mod batch;
mod error;
mod frame;
mod message;
mod rows;
mod wire;

pub use batch::{Packer, Unpacker};
pub use error::Garbled;
pub use frame::{Assembler, Frame, HEADER_BYTES, put_frame};
pub use message::{Code, Message, StoreId};
pub use rows::{put_row, rows};
