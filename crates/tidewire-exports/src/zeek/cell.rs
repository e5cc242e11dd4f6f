//! A line of a log, value by value by the names of its columns, in their order.

use std::net::IpAddr;

use tidewire::{FlowKey, legible::is_hidden};
use tidewire_protocols::{bytes_of_text, text_of_bytes};
use tidewire_types::{hex, ip_protocol};
use tidewire_wire::icmp_counterpart;

use crate::{
    json::{push_address, push_number, push_string},
    time::push_seconds,
    zeek::uid,
};

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Values separated by tabs, with a header that names them.
    Tsv,
    /// One JSON object a line.
    Json,
}

/// A column: its name and its type.
pub(crate) type Column = (&'static str, &'static str);

/// A line that is written.
pub(super) struct Line<'a> {
    out: &'a mut Vec<u8>,
    form: Form,
    columns: &'static [Column],
    at: usize,
    /// Whether a value was written (JSON leaves unset ones out).
    is_begun: bool,
}

impl<'a> Line<'a> {
    pub(super) fn open(out: &'a mut Vec<u8>, form: Form, columns: &'static [Column]) -> Self {
        if form == Form::Json {
            out.push(b'{');
        }
        Self { out, form, columns, at: 0, is_begun: false }
    }

    /// Columns that got no value are unset.
    pub(super) fn close(mut self) {
        self.pass_to(self.columns.len());
        if self.form == Form::Json {
            self.out.push(b'}');
        }
        self.out.push(b'\n');
    }

    /// The value of a column, which [`col!`] finds by its name. Columns before it that got no value are unset.
    pub(super) fn at(&mut self, column: usize) -> Value<'_, 'a> {
        debug_assert!(self.at <= column, "{} is behind {}", self.columns[self.at].0, self.columns[column].0);
        self.pass_to(column);
        Value { line: self }
    }

    fn pass_to(&mut self, column: usize) {
        while self.at < column {
            self.unset();
        }
    }

    /// A value that is not there.
    fn unset(&mut self) {
        match self.form {
            Form::Tsv => self.next().push(b'-'),
            Form::Json => self.at += 1,
        }
    }

    /// Begins the next value.
    #[inline(always)]
    fn next(&mut self) -> &mut Vec<u8> {
        match self.form {
            Form::Tsv => {
                if self.at > 0 {
                    self.out.push(b'\t');
                }
            }
            Form::Json => {
                if std::mem::replace(&mut self.is_begun, true) {
                    self.out.push(b',');
                }
                self.out.push(b'"');
                let name = self.columns.get(self.at).map_or("", |column| column.0);
                self.out.extend_from_slice(name.as_bytes());
                self.out.extend_from_slice(b"\":");
            }
        }
        self.at += 1;
        self.out
    }

    /// `ts`, `uid` and `id.*` of a stream.
    pub(super) fn identity(&mut self, time_ns: u64, stream: u64, start_ns: u64, key: &FlowKey) {
        self.identity_of(time_ns, &uid::of(stream, start_ns), key);
    }

    /// `uid` and `id.*` of a stream.
    pub(super) fn connection(&mut self, stream: u64, start_ns: u64, key: &FlowKey) {
        self.ends(&uid::of(stream, start_ns), key);
    }

    /// `ts`, `uid` and `id.*` of what has this name.
    pub(super) fn identity_of(&mut self, time_ns: u64, name: &uid::Name, key: &FlowKey) {
        self.at(column(self.columns, "ts")).seconds(time_ns);
        self.ends(name, key);
    }

    fn ends(&mut self, name: &uid::Name, key: &FlowKey) {
        let ([origin, answer], uid) = (ports(key), column(self.columns, "uid"));
        // These five follow each other in every log.
        self.at(uid).name(name);
        self.at(uid + 1).address(key.client.address);
        self.at(uid + 2).count(origin.into());
        self.at(uid + 3).address(key.server.address);
        self.at(uid + 4).count(answer.into());
    }
}

/// The index of a column. An unknown name does not compile where [`col!`] asks for it.
pub(super) const fn column(columns: &[Column], name: &str) -> usize {
    let mut index = 0;
    while index < columns.len() {
        let known = columns[index].0.as_bytes();
        let mut same = known.len() == name.len();
        let mut at = 0;
        while same && at < known.len() {
            same = known[at] == name.as_bytes()[at];
            at += 1;
        }
        if same {
            return index;
        }
        index += 1;
    }
    panic!("no such column")
}

/// The index of a column of this module's log, by its name: found when this is compiled.
macro_rules! col {
    ($name:literal) => {
        const { $crate::zeek::cell::column(COLUMNS, $name) }
    };
}
pub(super) use col;

/// The place of a value.
pub(super) struct Value<'l, 'a> {
    line: &'l mut Line<'a>,
}

impl<'l> Value<'l, '_> {
    fn next(self) -> &'l mut Vec<u8> {
        self.line.next()
    }

    /// A value that is not there.
    fn unset(self) {
        self.line.unset();
    }

    /// A word of Zeek's own, which needs no escapes.
    #[inline]
    pub(super) fn word(self, word: &str) {
        let is_json = self.line.form == Form::Json;
        let out = self.next();
        quote(out, is_json);
        out.extend_from_slice(word.as_bytes());
        quote(out, is_json);
    }

    /// The name of a connection or file.
    pub(super) fn name(self, name: &uid::Name) {
        let is_json = self.line.form == Form::Json;
        let out = self.next();
        quote(out, is_json);
        out.extend_from_slice(name);
        quote(out, is_json);
    }

    pub(super) fn count(self, value: u64) {
        push_number(self.next(), value);
    }

    pub(super) fn count_if(self, value: Option<u64>) {
        match value {
            Some(value) => self.count(value),
            None => self.unset(),
        }
    }

    /// Seconds with six digits behind the point: a time, or how long something took.
    pub(super) fn seconds(self, ns: u64) {
        push_seconds(self.next(), ns);
    }

    pub(super) fn truth(self, value: bool) {
        let form = self.line.form;
        let text: &[u8] = match (form, value) {
            (Form::Tsv, true) => b"T",
            (Form::Tsv, false) => b"F",
            (Form::Json, true) => b"true",
            (Form::Json, false) => b"false",
        };
        self.next().extend_from_slice(text);
    }

    pub(super) fn address(self, address: IpAddr) {
        let is_json = self.line.form == Form::Json;
        let out = self.next();
        quote(out, is_json);
        push_address(out, address);
        quote(out, is_json);
    }

    /// Text out of the network, or any other.
    pub(super) fn text(self, text: &str) {
        match self.line.form {
            Form::Tsv => push_escaped(self.next(), text, false),
            Form::Json => push_string(self.next(), text),
        }
    }

    pub(super) fn text_if(self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.unset(),
        }
    }

    /// Text of a protocol's field, whose bytes are written as Zeek writes them.
    pub(super) fn field(self, text: &str) {
        match self.line.form {
            Form::Tsv => self.bytes(&bytes_of_text(text)),
            Form::Json => self.text(text),
        }
    }

    pub(super) fn field_if(self, text: Option<&str>) {
        match text {
            Some(text) => self.field(text),
            None => self.unset(),
        }
    }

    /// A set or vector of such texts; unset if there is none.
    pub(super) fn fields<'t>(self, texts: impl IntoIterator<Item = &'t str>) {
        self.bytes_list(texts.into_iter().map(bytes_of_text));
    }

    /// Bytes that are mostly text: of others, `\xHH` is written.
    pub(super) fn bytes(self, bytes: &[u8]) {
        let form = self.line.form;
        push_bytes(self.next(), bytes, form, false);
    }

    pub(super) fn bytes_if(self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bytes(bytes),
            None => self.unset(),
        }
    }

    /// A vector of bytes that are mostly text; unset if there is none.
    pub(super) fn bytes_list<T: AsRef<[u8]>>(self, all: impl IntoIterator<Item = T>) {
        self.list(all, |out, bytes, form| push_bytes(out, bytes.as_ref(), form, true));
    }

    /// A set or vector of texts; unset if there is none.
    pub(super) fn texts<T: AsRef<str>>(self, texts: impl IntoIterator<Item = T>) {
        self.list(texts, |out, text, form| match form {
            Form::Tsv => push_escaped(out, text.as_ref(), true),
            Form::Json => push_string(out, text.as_ref()),
        });
    }

    /// A set that is there and has no elements.
    pub(super) fn empty_set(self) {
        let text: &[u8] = if self.line.form == Form::Json { b"[]" } else { b"(empty)" };
        self.next().extend_from_slice(text);
    }

    /// A vector of durations in seconds.
    pub(super) fn intervals(self, ns: impl IntoIterator<Item = u64>) {
        self.list(ns, |out, ns, _| push_seconds(out, ns));
    }

    fn list<T>(self, items: impl IntoIterator<Item = T>, push: impl Fn(&mut Vec<u8>, T, Form)) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_none() {
            self.unset();
            return;
        }
        let form = self.line.form;
        let out = self.next();
        if form == Form::Json {
            out.push(b'[');
        }
        for (index, item) in items.enumerate() {
            if index > 0 {
                out.push(b',');
            }
            push(out, item, form);
        }
        if form == Form::Json {
            out.push(b']');
        }
    }
}

/// The ports, or what stands for them: type and code of ICMP; of messages that ask or answer, type and that of the other one.
fn ports(key: &FlowKey) -> [u16; 2] {
    if !ip_protocol::is_icmp(key.proto) {
        return [key.client.port, key.server.port];
    }
    let [kind, code] = key.icmp;
    [kind.into(), icmp_counterpart(key.proto, kind).unwrap_or(code).into()]
}

fn quote(out: &mut Vec<u8>, is_json: bool) {
    if is_json {
        out.push(b'"');
    }
}

/// Appends bytes that are mostly text: of others, `\xHH` is written.
fn push_bytes(out: &mut Vec<u8>, bytes: &[u8], form: Form, is_in_list: bool) {
    match (std::str::from_utf8(bytes), form) {
        (_, Form::Json) => push_string(out, &text_of_bytes(bytes)),
        (Ok(text), Form::Tsv) => push_escaped(out, text, is_in_list),
        (Err(_), Form::Tsv) => {
            for chunk in bytes.utf8_chunks() {
                if !chunk.valid().is_empty() {
                    push_escaped(out, chunk.valid(), is_in_list);
                }
                chunk.invalid().iter().for_each(|&byte| push_hex(out, byte));
            }
        }
    }
}

/// Appends text so that neither a separator nor the end of a line nor a terminal's control is in it: `\xHH` for each of their bytes.
/// A backslash is escaped, so that readers get back what there was; so is text that would be read as unset or as empty.
fn push_escaped(out: &mut Vec<u8>, text: &str, is_in_list: bool) {
    if text.is_empty() {
        out.extend_from_slice(b"(empty)");
        return;
    }
    // Most texts are names without any of what follows.
    let is_special = |byte: &u8| !(b' '..=b'~').contains(byte) | (*byte == b'\\') | (*byte == b',');
    let is_plain = !text.as_bytes().iter().fold(false, |any, byte| any | is_special(byte));
    if is_plain && !matches!(text.as_bytes()[0], b'-' | b'(' | b'#') {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let is_special = matches!(text, "-" | "(empty)");
    for (index, c) in text.chars().enumerate() {
        let is_separator = is_in_list && c == ',';
        // A line that begins with it would be read as a comment, were it the first value.
        let is_first = index == 0 && (is_special || c == '#');
        let mut bytes = [0; 4];
        let bytes = c.encode_utf8(&mut bytes).as_bytes();
        if !is_first && !is_separator && c != '\\' && !is_hidden(c) {
            out.extend_from_slice(bytes);
            continue;
        }
        bytes.iter().for_each(|&byte| push_hex(out, byte));
    }
}

/// Appends a byte as `\xHH`.
fn push_hex(out: &mut Vec<u8>, byte: u8) {
    let [high, low] = hex::digits(byte);
    out.extend_from_slice(&[b'\\', b'x', high, low]);
}
