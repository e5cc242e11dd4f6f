//! `app`: the protocol of a stream, and fields of its transactions, as JSON.

use tidewire_protocols::{App, Transaction};

use crate::json::{Object, push_value};

/// Appends `app`: the protocol, the name, how many transactions there were, and the fields of the first.
pub fn push_app(out: &mut Vec<u8>, app: &App) {
    let mut object = Object::open(out);
    object.plain("service", app.service.name());
    if let Some(name) = app.first.as_ref().and_then(Transaction::name) {
        object.text("name", name);
    }
    object.number("transactions", u64::from(app.transactions));
    if let Some(first) = &app.first {
        push_transaction(&mut object, first);
    }
    object.close();
}

/// The fields of a transaction, as an object with the name of its protocol.
pub fn push_transaction(object: &mut Object<'_>, transaction: &Transaction) {
    object.object(transaction.service.name(), |object| {
        transaction.each(&mut |name, value| push_value(object, name, &value));
    });
}
