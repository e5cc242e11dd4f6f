//! Tokens to a tree, with the layout of `do`: a step begins at the column of the first; deeper lines continue it.

use super::lexer::{Operator, Placed, Token};
use crate::error::{Error, Position};

/// Greatest nesting of expressions.
const DEPTH_MAX: u32 = 48;

/// An expression whose type is not known yet.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) at: Position,
    pub(crate) node: Node,
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// A name with its arguments.
    Name(String, Vec<Tree>),
    Number(u64),
    Address(String),
    List(Vec<Tree>),
    Infix(Operator, Box<Tree>, Box<Tree>),
    /// Steps from left to right; at least one.
    Steps(Vec<Tree>),
}

/// The tree of a whole program.
pub(crate) fn parse(tokens: &[Placed]) -> Result<Tree, Error> {
    let mut parser = Parser { tokens, next: 0, columns: Vec::new(), start: 0, depth: 0 };
    parser.main_equals()?;
    let tree = if parser.is_name("do") { parser.expression()? } else { parser.block()? };
    match parser.raw().token {
        Token::End => Ok(tree),
        Token::Close | Token::CloseList => Err(parser.unexpected("nothing is open here", "remove it")),
        _ => Err(parser.unexpected(
            "this does not belong to the program before it",
            "join steps by `>->`, or begin them in one column",
        )),
    }
}

struct Parser<'a> {
    tokens: &'a [Placed],
    next: usize,
    /// Columns of the open blocks, outermost first; 0 inside parentheses, where layout has no meaning.
    columns: Vec<u32>,
    /// Where the current step begins: that token is at its block's column and belongs to the step.
    start: usize,
    depth: u32,
}

impl Parser<'_> {
    /// The next token, ignoring layout. Never moves past the last one.
    fn raw(&self) -> &Placed {
        const NONE: &Placed = &Placed { token: Token::End, at: Position { line: 1, column: 1 }, first: true };
        self.tokens.get(self.next).or_else(|| self.tokens.last()).unwrap_or(NONE)
    }

    /// The next token, or the end where it begins a new step or leaves the block.
    fn peek(&self) -> &Token {
        let placed = self.raw();
        let column = self.columns.last().copied().unwrap_or(0);
        // An operator at the beginning of a line continues the previous line.
        let goes_on = matches!(placed.token, Token::Operator(_) | Token::Close | Token::CloseList | Token::Dollar);
        if placed.first && placed.at.column <= column && !goes_on && self.next != self.start {
            &Token::End
        } else {
            &placed.token
        }
    }

    fn pass(&mut self) -> Position {
        let at = self.raw().at;
        self.next += 1;
        at
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self.peek(), Token::Name(found) if found == name)
    }

    fn unexpected(&self, why: &str, hint: &str) -> Error {
        Error::new(self.raw().at, format!("{} stands here: {why}", self.raw().token.describe()), hint)
    }

    /// The optional `main =`.
    fn main_equals(&mut self) -> Result<(), Error> {
        if !self.is_name("main") {
            return Ok(());
        }
        self.pass();
        if *self.peek() != Token::Equals {
            return Err(
                self.unexpected("`=` is expected after `main`", "write `main = do`, and a step in each line below")
            );
        }
        self.pass();
        Ok(())
    }

    /// Steps, each at the column of the first.
    fn block(&mut self) -> Result<Tree, Error> {
        let (at, column) = (self.raw().at, self.raw().at.column);
        if self.raw().token == Token::End {
            return Err(Error::new(
                at,
                "a step is missing here",
                "the least program is `unit`, which passes everything",
            ));
        }
        if self.raw().first && column <= self.columns.last().copied().unwrap_or(0) {
            return Err(Error::new(at, "this line is not deeper than the block around it", "indent the steps of `do`"));
        }
        self.columns.push(column);
        let mut steps = Vec::new();
        loop {
            while self.raw().token == Token::Semicolon {
                self.pass();
            }
            let Placed { ref token, at, first } = *self.raw();
            let closes = matches!(token, Token::End | Token::Close | Token::CloseList | Token::Comma);
            if closes || (first && at.column < column) {
                break;
            }
            if !first
                && self.tokens.get(self.next.wrapping_sub(1)).is_some_and(|before| before.token != Token::Semicolon)
                && !steps.is_empty()
            {
                return Err(self.unexpected("it does not belong to the step before it", "join steps by `>->`"));
            }
            self.start = self.next;
            steps.push(self.expression()?);
        }
        self.columns.pop();
        if steps.is_empty() {
            return Err(self.unexpected("a step is expected", "the least program is `unit`, which passes everything"));
        }
        Ok(Tree { at, node: Node::Steps(steps) })
    }

    /// `a >-> b >-> c`
    fn expression(&mut self) -> Result<Tree, Error> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::new(
                self.raw().at,
                format!("this is nested deeper than {DEPTH_MAX} times"),
                "make it flatter",
            ));
        }
        let at = self.raw().at;
        let mut steps = vec![self.level(0)?];
        while *self.peek() == Token::Operator(Operator::Compose) {
            self.pass();
            steps.push(self.level(0)?);
        }
        self.depth -= 1;
        Ok(match steps.pop() {
            Some(only) if steps.is_empty() => only,
            last => Tree { at, node: Node::Steps(steps.into_iter().chain(last).collect()) },
        })
    }

    /// Operators of this precedence and higher: `.||.`, `.^^.`, `.&&.`, comparators, arguments.
    fn level(&mut self, level: u32) -> Result<Tree, Error> {
        if level == 4 {
            return self.application();
        }
        let mut left = self.level(level + 1)?;
        loop {
            let Token::Operator(operator) = self.peek().clone() else { return Ok(left) };
            let fits = match operator {
                Operator::Compose => false,
                Operator::Or => level == 0,
                Operator::Xor => level == 1,
                Operator::And => level == 2,
                Operator::Compare(_) => level == 3,
            };
            if !fits {
                return Ok(left);
            }
            self.pass();
            let right = self.level(level + 1)?;
            left = Tree { at: left.at, node: Node::Infix(operator, Box::new(left), Box::new(right)) };
        }
    }

    /// A name and its arguments, or one atom.
    fn application(&mut self) -> Result<Tree, Error> {
        let mut tree = self.atom()?;
        let mut arguments = Vec::new();
        loop {
            match self.peek() {
                Token::Name(_) | Token::Number(_) | Token::Address(_) | Token::Open | Token::OpenList => {
                    arguments.push(self.atom()?);
                }
                Token::Dollar => {
                    self.pass();
                    arguments.push(self.expression()?);
                    break;
                }
                _ => break,
            }
        }
        let Some(first) = arguments.first() else { return Ok(tree) };
        match &mut tree.node {
            Node::Name(_, taken) if taken.is_empty() => *taken = arguments,
            _ => {
                let message = "an argument stands here, and what is before it takes none";
                return Err(Error::new(first.at, message, "join steps by `>->`, predicates by `.&&.`"));
            }
        }
        Ok(tree)
    }

    fn atom(&mut self) -> Result<Tree, Error> {
        let at = self.raw().at;
        let node = match self.peek().clone() {
            Token::Name(name) if name == "do" => {
                self.pass();
                return self.block();
            }
            Token::Name(name) => Node::Name(name, Vec::new()),
            Token::Number(number) => Node::Number(number),
            Token::Address(text) => Node::Address(text),
            Token::Open => return self.parenthesis(at),
            Token::OpenList => return self.list(at),
            _ => {
                return Err(self.unexpected(
                    "a name, a number, an address or `(` is expected",
                    "an operator needs something on both of its sides",
                ));
            }
        };
        self.pass();
        Ok(Tree { at, node })
    }

    /// The expression between `(` and `)`.
    fn parenthesis(&mut self, at: Position) -> Result<Tree, Error> {
        self.pass();
        self.columns.push(0);
        let inner = self.expression()?;
        self.columns.pop();
        if self.raw().token != Token::Close {
            let message = format!(
                "the `(` of line {}, column {} is not closed before {}",
                at.line,
                at.column,
                self.raw().token.describe()
            );
            return Err(Error::new(self.raw().at, message, "close it with `)`"));
        }
        self.pass();
        Ok(inner)
    }

    /// Numbers or names between `[` and `]`.
    fn list(&mut self, at: Position) -> Result<Tree, Error> {
        self.pass();
        self.columns.push(0);
        let mut items = Vec::new();
        while *self.peek() != Token::CloseList {
            items.push(self.expression()?);
            match self.peek() {
                Token::Comma => drop(self.pass()),
                Token::CloseList => {}
                _ => return Err(self.unexpected("`,` or `]` is expected", "write a list as [1, 2, 3]")),
            }
        }
        self.columns.pop();
        self.pass();
        Ok(Tree { at, node: Node::List(items) })
    }
}
