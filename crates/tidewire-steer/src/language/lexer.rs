//! Text to tokens. Lines may begin with the `>` of a configuration file; `--` begins a comment.

use super::ast::Comparator;
use crate::error::{Error, Position};

/// Greatest length of a program's text, in bytes.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A binary operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    /// `>->`
    Compose,
    /// `.&&.`
    And,
    /// `.||.`
    Or,
    /// `.^^.`
    Xor,
    /// `<`, `.<`, `<.` and so on, and a name in backquotes.
    Compare(Comparator),
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Name(String),
    Number(u64),
    /// An address, network or MAC, as written or between quotes.
    Address(String),
    Operator(Operator),
    Open,
    Close,
    OpenList,
    CloseList,
    Comma,
    Semicolon,
    Equals,
    Dollar,
    End,
}

impl Token {
    /// Its name in errors.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Name(name) => format!("`{name}`"),
            Self::Number(number) => format!("the number {number}"),
            Self::Address(text) => format!("`{text}`"),
            Self::Operator(operator) => format!("`{}`", operator.text()),
            Self::Open => "`(`".into(),
            Self::Close => "`)`".into(),
            Self::OpenList => "`[`".into(),
            Self::CloseList => "`]`".into(),
            Self::Comma => "`,`".into(),
            Self::Semicolon => "`;`".into(),
            Self::Equals => "`=`".into(),
            Self::Dollar => "`$`".into(),
            Self::End => "the end of the program".into(),
        }
    }
}

impl Operator {
    /// As it is written.
    pub(crate) fn text(&self) -> &'static str {
        match self {
            Self::Compose => ">->",
            Self::And => ".&&.",
            Self::Or => ".||.",
            Self::Xor => ".^^.",
            Self::Compare(comparator) => comparator.text(),
        }
    }
}

/// A token and its position.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) token: Token,
    pub(crate) at: Position,
    /// The first of its line.
    pub(crate) first: bool,
}

/// All tokens, [`Token::End`] last.
pub(crate) fn tokens(text: &str) -> Result<Vec<Placed>, Error> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the program is {} bytes long, and at most {TEXT_BYTES_MAX} are taken", text.len());
        return Err(Error::new(Position { line: 1, column: 1 }, message, "divide it"));
    }
    let bird = text.lines().map(str::trim_start).find(|line| !line.is_empty()).is_some_and(is_bird);
    let mut found = Vec::new();
    let mut line_number = 0;
    for line in text.lines() {
        line_number += 1;
        let mut lexer = Lexer { rest: line, at: Position { line: line_number, column: 1 }, found: &mut found };
        lexer.line(bird)?;
    }
    let at =
        Position { line: line_number.max(1), column: text.lines().last().map_or(0, |l| l.chars().count()) as u32 + 1 };
    found.push(Placed { token: Token::End, at, first: true });
    Ok(found)
}

/// Whether a line begins with the `>` of a configuration file, not with `>->`.
fn is_bird(line: &str) -> bool {
    line.starts_with('>') && !line.starts_with(">->")
}

struct Lexer<'a, 'b> {
    rest: &'a str,
    at: Position,
    found: &'b mut Vec<Placed>,
}

/// Tokens of punctuation only, longest first.
const SIGNS: &[(&str, Token)] = {
    use Comparator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    use Operator::{And, Compare, Compose, Or, Xor};
    use Token::Operator as Op;
    &[
        (".&&.", Op(And)),
        (".||.", Op(Or)),
        (".^^.", Op(Xor)),
        (">->", Op(Compose)),
        (".<=", Op(Compare(LessOrEqual))),
        (".>=", Op(Compare(GreaterOrEqual))),
        (".==", Op(Compare(Equal))),
        ("./=", Op(Compare(NotEqual))),
        ("<=.", Op(Compare(LessOrEqual))),
        (">=.", Op(Compare(GreaterOrEqual))),
        ("==.", Op(Compare(Equal))),
        ("/=.", Op(Compare(NotEqual))),
        (".<", Op(Compare(Less))),
        (".>", Op(Compare(Greater))),
        ("<=", Op(Compare(LessOrEqual))),
        (">=", Op(Compare(GreaterOrEqual))),
        ("==", Op(Compare(Equal))),
        ("/=", Op(Compare(NotEqual))),
        ("<.", Op(Compare(Less))),
        (">.", Op(Compare(Greater))),
        ("<", Op(Compare(Less))),
        (">", Op(Compare(Greater))),
        ("(", Token::Open),
        (")", Token::Close),
        ("[", Token::OpenList),
        ("]", Token::CloseList),
        (",", Token::Comma),
        (";", Token::Semicolon),
        ("=", Token::Equals),
        ("$", Token::Dollar),
    ]
};

impl Lexer<'_, '_> {
    fn line(&mut self, bird: bool) -> Result<(), Error> {
        self.spaces();
        if bird && !self.rest.is_empty() {
            if !is_bird(self.rest) {
                return Err(Error::new(
                    self.at,
                    "this line does not begin with `>`, and the first one does",
                    "begin every line of the program with `>`, or none",
                ));
            }
            self.step(1);
            self.spaces();
        }
        let mut first = true;
        while !self.rest.is_empty() && !self.rest.starts_with("--") {
            let at = self.at;
            let token = self.token()?;
            self.found.push(Placed { token, at, first });
            first = false;
            self.spaces();
        }
        Ok(())
    }

    /// Advances by this many bytes, which end at a character boundary.
    fn step(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.at.column += passed.chars().count() as u32;
        self.rest = rest;
    }

    fn spaces(&mut self) {
        self.step(self.rest.len() - self.rest.trim_start().len());
    }

    fn token(&mut self) -> Result<Token, Error> {
        let word_bytes = word_bytes(self.rest);
        if word_bytes > 0 {
            let word = self.rest.get(..word_bytes).unwrap_or_default();
            let token = self.word(word)?;
            self.step(word_bytes);
            return Ok(token);
        }
        if let Some((sign, token)) = SIGNS.iter().find(|(sign, _)| self.rest.starts_with(sign)) {
            self.step(sign.len());
            return Ok(token.clone());
        }
        match self.rest.chars().next() {
            Some('"') => self.quoted('"').map(Token::Address),
            Some('`') => {
                let at = self.at;
                let name = self.quoted('`')?;
                Comparator::named(&name).map(|c| Token::Operator(Operator::Compare(c))).ok_or_else(|| {
                    Error::new(at, format!("`{name}` does not compare"), "between backquotes stands any_bit or all_bit")
                })
            }
            other => {
                let message = format!("`{}` means nothing here", other.unwrap_or(' '));
                Err(Error::new(self.at, message, "steps are joined by `>->`, comments begin with `--`"))
            }
        }
    }

    /// The text between two of these signs.
    fn quoted(&mut self, sign: char) -> Result<String, Error> {
        let at = self.at;
        self.step(1);
        let Some(bytes) = self.rest.find(sign) else {
            return Err(Error::new(at, format!("the {sign} that ends this is missing"), "close it on the same line"));
        };
        let inside = self.rest.get(..bytes).unwrap_or_default().to_owned();
        self.step(bytes + 1);
        Ok(inside)
    }

    fn word(&self, word: &str) -> Result<Token, Error> {
        if word.contains([':', '.', '/']) {
            return Ok(Token::Address(word.to_owned()));
        }
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(Token::Name(word.to_owned()));
        }
        let number = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        number.map(Token::Number).map_err(|_| {
            Error::new(
                self.at,
                format!("`{word}` is no number of 64 bits"),
                "write it in decimal, or in hexadecimal after 0x",
            )
        })
    }
}

/// How many bytes from here are one word: a name, a number, or an address of any kind.
fn word_bytes(text: &str) -> usize {
    let mut bytes = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let so_far = text.get(..bytes).unwrap_or_default();
        let digit_next = chars.peek().is_some_and(char::is_ascii_digit);
        let takes = match c {
            '.' => digit_next && so_far.starts_with(|c: char| c.is_ascii_digit() || c == ':'),
            '/' => digit_next && so_far.contains([':', '.']),
            ':' => true,
            '\'' => !so_far.is_empty(),
            _ => c.is_ascii_alphanumeric() || c == '_',
        };
        // An IPv4 address at the end of an IPv6 one (::ffff:1.2.3.4) may begin with letters.
        let takes = takes || (c == '.' && digit_next && so_far.contains(':'));
        if !takes {
            break;
        }
        bytes += c.len_utf8();
    }
    bytes
}
