//! The parts of a statement from text: op, argument, name, origin.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::cursor::{Cursor, ParseError, Parsed};
use super::word::{is_bare, is_ident, print_code};
use crate::nearest::nearest_op;
use crate::ops::OpId;
use crate::{
    Code, CodeForm, CodeScope, CodeVariable, Effect, Host, HostOp, ModuleKind, ModuleScope, Op, Origin, Place,
};

/// An op whose argument count is not known yet.
pub(super) enum Head {
    Op(Op),
    /// `print`, whose template depends on how much is printed.
    Print,
}

impl Head {
    pub(super) fn op(self, arguments: usize) -> Op {
        match self {
            Head::Op(op) => op,
            Head::Print => Op::Rust(print_code(arguments)),
        }
    }
}

impl Op {
    /// The operation of a node with so many arguments from its text form, [`Node::op_text`](crate::Node::op_text). The
    /// patterns of a `match` stand with its regions and are not read.
    ///
    /// # Errors
    /// Where the text is no operation, and why.
    pub fn parse(text: &str, arguments: usize) -> Result<Op, ParseError> {
        let mut cursor = Cursor::new(text);
        if cursor.eat("yield") {
            return Ok(Op::Yield);
        }
        let (head, _) = parse_op(&mut cursor)?;
        if cursor.rest().is_empty() { Ok(head.op(arguments)) } else { Err(cursor.expected("the end of the operation")) }
    }
}

/// The op of a statement, and the name of its node if the text has none.
pub(super) fn parse_op(cursor: &mut Cursor) -> Parsed<(Head, String)> {
    cursor.space();
    let start = cursor.at;
    let word = cursor.word("a statement")?;
    let op = match word.as_str() {
        "placeholder" => Op::Placeholder,
        "get_attr" => Op::GetAttr(bracketed(cursor, "a field")?),
        "call_module" => Op::CallModule(ModuleKind(bracketed(cursor, "a module type")?)),
        "tuple_get" => {
            cursor.expect("[")?;
            let index = cursor.number("an index")?;
            cursor.expect("]")?;
            Op::TupleGet(index)
        }
        "rust" => Op::Rust(parse_code(cursor)?),
        "print" => return Ok((Head::Print, word)),
        "if" => Op::If,
        "match" => Op::Match(Vec::new()),
        "for" => {
            let start = cursor.at;
            let head = bracketed(cursor, "a pattern")?.parse();
            Op::For(head.map_err(|error: ParseError| cursor.error_at(start, error.message))?)
        }
        "while" => Op::While,
        name if name.starts_with(HOST) => Op::Host(parse_host(cursor, &name[HOST.len()..])?),
        name => Op::Call(OpId::lookup(name).ok_or_else(|| cursor.error_at(start, unknown_op(name)))?),
    };
    let base = match &op {
        Op::GetAttr(field) => field,
        Op::CallModule(kind) => &kind.0,
        Op::Call(id) => id.name(),
        Op::Host(host) => host.op.name(),
        _ => &word,
    };
    let base = base.replace(|c: char| !is_ident(c), "_");
    Ok((Head::Op(op), base))
}

fn unknown_op(name: &str) -> String {
    match nearest_op(name) {
        Some(near) => format!("unknown op `{name}`; the nearest is `{near}`"),
        None => format!("unknown op `{name}`"),
    }
}

fn bracketed(cursor: &mut Cursor, what: &str) -> Parsed<String> {
    cursor.expect("[")?;
    let word = cursor.word(what)?;
    cursor.expect("]")?;
    Ok(word)
}

/// The prefix of the name of a host operation.
pub(super) const HOST: &str = "host.";

/// What stands between the brackets behind the name of a host operation, and the operation.
pub(super) fn parse_host(cursor: &mut Cursor, name: &str) -> Parsed<Host> {
    let (mut words, mut effect, mut fallible) = (Vec::new(), Effect::Pure, false);
    let start = cursor.at;
    if cursor.eat("[") {
        let mut count = 0;
        while cursor.next_item("]", count)? {
            count += 1;
            cursor.space();
            if cursor.rest().starts_with('"') {
                words.push(cursor.string()?);
            } else if cursor.eat("fallible") {
                fallible = true;
            } else if let Some(known) = parse_effect(cursor)? {
                effect = known;
            } else {
                return Err(cursor.expected("a word in quotes, an effect or `fallible`"));
            }
        }
    }
    let op = HostOp::parse(name, &words);
    let op = op.ok_or_else(|| cursor.error_at(start, format!("no host operation `{name}` with {words:?}")))?;
    Ok(Host { fallible: op.is_fallible() != fallible, effect, op })
}

/// The word for an effect; none is [`Effect::Pure`].
fn parse_effect(cursor: &mut Cursor) -> Parsed<Option<Effect>> {
    for (word, effect) in [("random", Effect::Random), ("state", Effect::State), ("io", Effect::Io)] {
        if cursor.eat(word) {
            return Ok(Some(effect));
        }
    }
    if !cursor.eat("in_place") {
        return Ok(None);
    }
    cursor.expect("(")?;
    let effect = Effect::InPlace(cursor.number("the position of an argument")?);
    cursor.expect(")")?;
    Ok(Some(effect))
}

fn parse_code(cursor: &mut Cursor) -> Parsed<Code> {
    cursor.expect("[")?;
    let mut code = Code::pure(cursor.string()?);
    while cursor.eat(",") {
        if cursor.eat("reference") {
            code.form = CodeForm::Reference;
        } else if cursor.eat("block") {
            code.form = CodeForm::Block(parse_scope(cursor)?);
        } else if cursor.eat("fallible") {
            code.fallible = true;
        } else if let Some(effect) = parse_effect(cursor)? {
            code.effect = effect;
        } else if cursor.eat("opaque") {
            cursor.expect("(")?;
            code.opaque = Some(cursor.string()?);
            cursor.expect(")")?;
        } else {
            let flags = "`reference`, `block`, `fallible`, `random`, `state`, `io`, `in_place(..)` or `opaque(..)`";
            return Err(cursor.expected(flags));
        }
    }
    cursor.expect("]")?;
    Ok(code)
}

/// What a block declares, behind the word for it.
fn parse_scope(cursor: &mut Cursor) -> Parsed<CodeScope> {
    let mut scope = CodeScope::default();
    loop {
        let before = cursor.at;
        if cursor.eat(",") && cursor.eat("use") {
            scope.uses.push(cursor.string()?);
            continue;
        }
        cursor.at = before;
        if !(cursor.eat(",") && cursor.eat("let")) {
            cursor.at = before;
            return Ok(scope);
        }
        let is_mutable = cursor.eat("mut");
        let name = cursor.word("the name of a variable")?;
        cursor.expect("=")?;
        scope.variables.push(CodeVariable { name, is_mutable, value: cursor.string()? });
    }
}

/// A name, with or without its `%`; `None` and nothing read if there is none.
pub(super) fn parse_name(cursor: &mut Cursor) -> Parsed<Option<String>> {
    if cursor.eat("%") {
        if cursor.rest().starts_with('"') {
            return cursor.string().map(Some);
        }
        let name = cursor.rest().starts_with(is_ident).then(|| cursor.ident()).flatten();
        return name.map(|name| Some(name.to_owned())).ok_or_else(|| cursor.expected("a name after `%`"));
    }
    let before = cursor.at;
    match cursor.ident() {
        Some(name) if is_bare(name) => Ok(Some(name.to_owned())),
        _ => {
            cursor.at = before;
            Ok(None)
        }
    }
}

pub(super) fn parse_origin(cursor: &mut Cursor) -> Parsed<Origin> {
    let mut origin = Origin::default();
    if !cursor.eat("@") {
        return Ok(origin);
    }
    cursor.space();
    let is_word = |text: &str, word: &str| text.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '\t']));
    let rest = cursor.rest();
    if rest.starts_with('"') || rest.starts_with(is_ident) && !["as", "in", "by"].iter().any(|word| is_word(rest, word))
    {
        sum_list(cursor, |cursor| {
            let file = cursor.word("a file")?;
            cursor.expect(":")?;
            origin.places.push(Place { file, line: cursor.number("a line")? });
            Ok(())
        })?;
    }
    if cursor.eat("as") {
        sum_list(cursor, |cursor| cursor.word("a label").map(|label| origin.labels.push(label)))?;
    }
    if cursor.eat("in") {
        sum_list(cursor, |cursor| parse_module(cursor).map(|module| origin.nn_module_stack.push(module)))?;
    }
    if cursor.eat("by") {
        sum_list(cursor, |cursor| cursor.word("a pass").map(|pass| origin.passes.push(interned(&pass))))?;
    }
    Ok(origin)
}

/// `Block[blocks.0]`, or `Net` for the model itself.
fn parse_module(cursor: &mut Cursor) -> Parsed<ModuleScope> {
    let ty = cursor.word("a module type")?;
    let mut path = String::new();
    if cursor.eat("[") {
        path = cursor.word("a path")?;
        cursor.expect("]")?;
    }
    Ok(ModuleScope { path, ty })
}

/// Items with `+` between them: a comma would end the parameter that the origin belongs to.
fn sum_list(cursor: &mut Cursor, mut item: impl FnMut(&mut Cursor) -> Parsed<()>) -> Parsed<()> {
    item(cursor)?;
    while cursor.eat("+") {
        item(cursor)?;
    }
    Ok(())
}

/// A pass's name for the rest of the program: origins hold names of passes as the passes give them, `'static`. Each
/// different name is leaked once.
pub(crate) fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let leaked: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(leaked);
    leaked
}
