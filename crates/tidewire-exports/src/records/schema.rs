//! JSON schemas of records: the files of `docs/schemas`.

use crate::{
    json::push_string,
    records::{
        Absent, DatagramKind, Description, EventKind, Field, FileKind, FlowKind, Form, Get, MatchKind, RecordKind,
        TransactionKind, ordered,
    },
    table::{Column, Kind},
};

/// A member of an object, with those that it has itself.
struct Member {
    name: &'static str,
    is_required: bool,
    schema: String,
}

/// The schema of a form: its file is `NAME.json`. `rules`: further lines.
pub(super) fn schema<K: RecordKind>(
    fields: &[Field<K>],
    form: Form,
    name: &str,
    description: &str,
    rules: &[&str],
) -> String {
    let begin = [
        r#""$schema": "https://json-schema.org/draft/2020-12/schema""#.to_owned(),
        format!(r#""$id": "https://github.com/tidewire/tidewire/docs/schemas/{name}.json""#),
        format!(r#""title": "tidewire.{name}/1""#),
        format!(r#""description": {}"#, quoted(description)),
        r#""type": "object""#.to_owned(),
    ];
    let members = members(&ordered(fields, form), form, None);
    let lines = begin.into_iter().chain(object(&members)).chain(rules.iter().map(|&rule| rule.to_owned()));
    format!("{{\n{}\n}}\n", indented(lines))
}

/// The schemas of all kinds of records, by the names of their files.
#[must_use]
pub fn schemas() -> Vec<(String, String)> {
    const TEXT: &str = "Names may be added; programs ignore those that they do not know.";
    let about = |what: &str| format!("{what} {TEXT}");
    let fold = about(
        "A row of `tidewire events --json`: one event, or several that were folded. `--expand --json` prints them (event.json).",
    );
    let rules = [
        r#""dependentRequired": { "event": ["varied"], "varied": ["event"] }"#,
        r#""oneOf": [{ "required": ["event"] }, { "required": ["encrypted"] }]"#,
    ];
    let named = |name: &str, text: String| (format!("{name}.json"), text);
    let flow = |name: &str, form| {
        named(name, schema(FlowKind::FIELDS, form, name, &about(&format!("A line of `tidewire {name}s --json`.")), &[]))
    };
    let datagram = about("A line of `tidewire datagrams --json`: a datagram that came in fragments.");
    let found = about("A line of `tidewire match --json`.");
    let file = about("A line of the index of `tidewire extract`.");
    let transaction =
        about("A line of `tidewire transactions --json`. The fields of a protocol are a member with its name.");
    vec![
        flow("flow", Form::JSON),
        flow("stream", Form::STREAM_JSON),
        named("transaction", schema(TransactionKind::FIELDS, Form::JSON, "transaction", &transaction, &[])),
        named("datagram", schema(DatagramKind::FIELDS, Form::JSON, "datagram", &datagram, &[])),
        named("match", schema(MatchKind::FIELDS, Form::JSON, "match", &found, &[])),
        named("file", schema(FileKind::FIELDS, Form::JSON, "file", &file, &[])),
        named("fold", schema(EventKind::FIELDS, Form::JSON, "fold", &fold, &rules)),
    ]
}

/// The members of an object: of the record, or of one that is nested in it. `within`: of that, and whether they have meanings of their own.
fn members<K: RecordKind>(fields: &[&Field<K>], form: Form, within: Option<bool>) -> Vec<Member> {
    let mut all: Vec<Member> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let (of, name) = field.path(form);
        match (of, within) {
            (Some(of), None) if all.last().is_none_or(|last| last.name != of) => {
                let is_of = |other: &&&Field<K>| other.path(form).0 == Some(of);
                let inner: Vec<&Field<K>> = fields[index..].iter().take_while(is_of).copied().collect();
                let kind = if field.absent == Absent::Null { r#"["object", "null"]"# } else { r#""object""# };
                let mut lines = vec![format!("\"type\": {kind}")];
                let is_one = inner.iter().all(|other| other.meaning == field.meaning);
                lines.extend(is_one.then(|| format!("\"description\": {}", quoted(field.meaning))));
                lines.extend(object(&members(&inner, form, Some(!is_one))));
                let schema = format!("{{\n{}\n}}", indented(lines));
                all.push(Member { name: of, is_required: true, schema });
            }
            (Some(_), None) => {}
            // The name of a protocol, which is a value.
            _ if name.is_empty() => {}
            _ => {
                let is_required = match field.get {
                    Get::Number(_) => true,
                    Get::Cell(_) => field.absent != Absent::Omitted || !field.column.is_optional,
                    Get::Raw(_) => false,
                };
                let is_nullable = field.absent == Absent::Null && within.is_none();
                let schema = match field.schema {
                    Some(schema) => schema.to_owned(),
                    None => format!("{{ {} }}", type_of(field.column.kind, is_nullable)),
                };
                let open = schema.strip_suffix(" }").unwrap_or(&schema);
                let schema = match within {
                    Some(false) => schema,
                    _ => format!("{open}, \"description\": {} }}", quoted(field.meaning)),
                };
                all.push(Member { name, is_required, schema });
            }
        }
    }
    all
}

/// The lines `required` and `properties`.
fn object(members: &[Member]) -> [String; 2] {
    let required = members.iter().filter(|member| member.is_required).map(|member| format!("\"{}\"", member.name));
    let required = format!("\"required\": [{}]", required.collect::<Vec<_>>().join(", "));
    let properties = members.iter().map(|member| format!("\"{}\": {}", member.name, member.schema));
    [required, format!("\"properties\": {{\n{}\n}}", indented(properties))]
}

fn type_of(kind: Kind, is_nullable: bool) -> String {
    let named = |name: &str| match is_nullable {
        true => format!("\"type\": [\"{name}\", \"null\"]"),
        false => format!("\"type\": \"{name}\""),
    };
    match kind {
        Kind::Time | Kind::Long | Kind::Int if is_nullable => format!("{}, \"minimum\": 0", named("integer")),
        Kind::Time | Kind::Long | Kind::Int => r##""$ref": "event.json#/$defs/whole""##.to_owned(),
        Kind::Truth => named("boolean"),
        Kind::Text => named("string"),
        Kind::List(Kind::Object([])) => named("array"),
        Kind::List(of) => format!("{}, \"items\": {{ {} }}", named("array"), type_of(*of, false)),
        Kind::Object([]) => named("object"),
        Kind::Object(columns) => {
            let names = columns.iter().map(|column| format!("\"{}\"", column.name)).collect::<Vec<_>>().join(", ");
            let property = |column: &Column| format!("\"{}\": {{ {} }}", column.name, type_of(column.kind, false));
            let properties = columns.iter().map(property).collect::<Vec<_>>().join(", ");
            format!("{}, \"required\": [{names}], \"properties\": {{ {properties} }}", named("object"))
        }
    }
}

fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    push_string(&mut out, text);
    String::from_utf8(out).unwrap_or_default()
}

/// Lines with commas between, two blanks further in.
fn indented(lines: impl IntoIterator<Item = String>) -> String {
    let lines = lines.into_iter().collect::<Vec<_>>().join(",\n");
    lines.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
