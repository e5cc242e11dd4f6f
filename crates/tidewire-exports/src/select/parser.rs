//! The grammar, and the names and types in it.

use crate::{
    select::{
        field::{self, Field, Source},
        hint, known,
        lexer::{Token, TokenKind, tokens},
        node::{Atom, Node, SelectError, TESTS_MAX},
        value::{Operator, Test, ValueKind},
    },
    table::Table,
};

/// Parentheses and `not` within each other, at most.
const DEPTH_MAX: usize = 32;

/// All operators, for messages.
const OPERATORS: &str = "= (or ==), !=, <, <=, >, >=, in, contains, starts with, ends with";

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    /// Where the text ends, in characters from 1.
    end: usize,
    table: &'static Table,
    fields: Vec<Field>,
    atoms: Vec<Atom>,
    depth: usize,
}

pub(super) fn parse(text: &str, table: &'static Table) -> Result<(Node, Vec<Atom>), SelectError> {
    let end = text.chars().count() + 1;
    let fields = field::all(table);
    let mut parser = Parser { tokens: tokens(text)?, at: 0, end, table, fields, atoms: Vec::new(), depth: 0 };
    let root = parser.expression()?;
    match parser.tokens.get(parser.at) {
        None => Ok((root, parser.atoms)),
        Some(token) => Err(SelectError { column: token.column, message: "expected 'and', 'or' or the end".into() }),
    }
}

impl<'a> Parser<'a> {
    fn fail<T>(&self, message: impl Into<String>) -> Result<T, SelectError> {
        let column = self.tokens.get(self.at).map_or(self.end, |token| token.column);
        Err(SelectError { column, message: message.into() })
    }

    /// Whether the next word is `keyword`, which is taken then.
    fn takes(&mut self, keyword: &str) -> bool {
        let is_next = matches!(self.tokens.get(self.at), Some(Token { kind: TokenKind::Word(word), .. })
            if word.eq_ignore_ascii_case(keyword));
        self.at += usize::from(is_next);
        is_next
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let is_next =
            matches!(&self.tokens.get(self.at), Some(Token { kind: TokenKind::Sign(next), .. }) if *next == sign);
        self.at += usize::from(is_next);
        is_next
    }

    fn expression(&mut self) -> Result<Node, SelectError> {
        let mut nodes = vec![self.term()?];
        while self.takes("or") {
            nodes.push(self.term()?);
        }
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::Any(nodes) })
    }

    fn term(&mut self) -> Result<Node, SelectError> {
        let mut nodes = vec![self.factor()?];
        while self.takes("and") {
            nodes.push(self.factor()?);
        }
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::All(nodes) })
    }

    fn factor(&mut self) -> Result<Node, SelectError> {
        if self.depth >= DEPTH_MAX {
            return self.fail(format!("more than {DEPTH_MAX} parentheses within each other"));
        }
        self.depth += 1;
        let node = if self.takes("not") {
            Node::Not(Box::new(self.factor()?))
        } else if self.takes_sign("(") {
            let node = self.expression()?;
            if !self.takes_sign(")") {
                return self.fail("expected ')'");
            }
            node
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn test(&mut self) -> Result<Node, SelectError> {
        let field = self.field()?;
        let test = match self.operator(field.kind)? {
            None if self.takes("in") => self.one_of(&field.name, field.kind)?,
            None if field.zero_is_absent => Test::Number(Operator::Greater, 0),
            None => Test::Exists,
            Some(operator) => self.value(&field.name, field.kind, operator)?,
        };
        let Field { name, source, .. } = field;
        // `addr != X`: neither end is X.
        if let (Source::Any(columns), true) = (&source, test.is_exclusion())
            && columns.len() > 1
        {
            let each = |column: &usize| {
                self.atom(Atom { name: name.clone(), source: Source::Any(vec![*column]), test: test.clone() })
            };
            return Ok(Node::All(columns.iter().map(each).collect::<Result<_, _>>()?));
        }
        self.atom(Atom { name, source, test })
    }

    fn atom(&mut self, atom: Atom) -> Result<Node, SelectError> {
        if self.atoms.len() == TESTS_MAX {
            return self.fail(format!("more than {TESTS_MAX} tests"));
        }
        self.atoms.push(atom);
        Ok(Node::Atom(self.atoms.len() - 1))
    }

    fn field(&mut self) -> Result<Field, SelectError> {
        let Some(Token { kind: TokenKind::Word(word), .. }) = self.tokens.get(self.at) else {
            return self.fail("expected the name of a field");
        };
        match field::find(&self.fields, word).cloned() {
            Some(found) => {
                self.at += 1;
                Ok(found)
            }
            None => self.fail(hint::unknown_field(word, &self.fields, self.table)),
        }
    }

    /// The operator that follows; `None`: there is none.
    fn operator(&mut self, kind: ValueKind) -> Result<Option<Operator>, SelectError> {
        let begin = self.at;
        let operator = match self.tokens.get(self.at).map(|token| &token.kind) {
            Some(TokenKind::Sign("=" | "==")) => Operator::Equal,
            Some(TokenKind::Sign("!=")) => Operator::Unequal,
            Some(TokenKind::Sign("<")) => Operator::Less,
            Some(TokenKind::Sign("<=")) => Operator::LessOrEqual,
            Some(TokenKind::Sign(">")) => Operator::Greater,
            Some(TokenKind::Sign(">=")) => Operator::GreaterOrEqual,
            Some(TokenKind::Word(word)) => match word.to_ascii_lowercase().as_str() {
                "contains" => Operator::Contains,
                "starts" | "ends" => {
                    self.at += 1;
                    if !matches!(self.tokens.get(self.at), Some(Token { kind: TokenKind::Word(word), .. })
                        if word.eq_ignore_ascii_case("with"))
                    {
                        return self.fail("expected 'with'");
                    }
                    if word.eq_ignore_ascii_case("starts") { Operator::StartsWith } else { Operator::EndsWith }
                }
                "and" | "or" | "in" => return Ok(None),
                _ => return self.fail(format!("'{word}' is not an operator; expected {OPERATORS}, and, or")),
            },
            _ => return Ok(None),
        };
        self.at += 1;
        if !operator.fits(kind) {
            self.at = begin;
            let expected = match kind {
                ValueKind::Text => "= (or ==), !=, in, contains, starts with, ends with",
                ValueKind::Number | ValueKind::Bytes | ValueKind::Duration => "= (or ==), !=, <, <=, >, >=, in",
                _ => "= (or ==), !=, in",
            };
            return self.fail(format!("the field is {}, which is compared with {expected}", kind.described()));
        }
        Ok(Some(operator))
    }

    fn value(&mut self, field: &str, kind: ValueKind, operator: Operator) -> Result<Test, SelectError> {
        let text = match self.tokens.get(self.at).map(|token| &token.kind) {
            Some(TokenKind::Word(text)) => *text,
            Some(TokenKind::Quoted(text)) => text,
            _ => return self.fail(format!("expected a value: {}", kind.described())),
        };
        let is_whole = matches!(operator, Operator::Equal | Operator::Unequal);
        let known = if is_whole { known::check(field, text) } else { Ok(()) };
        let text = known::canonical(field, text);
        let read = known.and_then(|()| Test::read(kind, operator, text));
        match read.and_then(|test| known::check_range(field, &test).map(|()| test)) {
            Ok(test) => {
                self.at += 1;
                Ok(test)
            }
            Err(message) => self.fail(message),
        }
    }

    /// Values in parentheses, or a single one, as a network.
    fn one_of(&mut self, field: &str, kind: ValueKind) -> Result<Test, SelectError> {
        if !self.takes_sign("(") {
            return self.value(field, kind, Operator::Equal);
        }
        let mut tests = Vec::new();
        loop {
            tests.push(self.value(field, kind, Operator::Equal)?);
            if tests.len() > TESTS_MAX {
                return self.fail(format!("more than {TESTS_MAX} values"));
            }
            if self.takes_sign(")") {
                return Ok(Test::OneOf(tests));
            }
            if !self.takes_sign(",") {
                return self.fail("expected ',' or ')'");
            }
        }
    }
}
