//! Filling the `$n` of opaque code.

use std::collections::BTreeSet;

use fx_ir::template::{Piece, holes, pieces};
use fx_ir::{Code, CodeForm, CodeScope, CodeVariable, Node};

use super::value::Value;

/// The code with every `$n` replaced by `value(n)`; `&$n` of what is a reference already stays a plain reference.
///
/// A block begins with variables under the user's names, `let mut ys = $0;`. Where one of them would hide a generated
/// variable that a later one is made of, all are bound at once.
pub(super) fn fill(code: &Code, value: &dyn Fn(usize) -> Value) -> String {
    match &code.form {
        CodeForm::Block(scope) => bound_at_once(scope, &code.template, value),
        _ => None,
    }
    .unwrap_or_else(|| filled(&code.text(), value))
}

/// The same of a block, taken apart: the variables that are of values of the code's own, by the position of their
/// argument, and the block without them. `None` where there are none.
pub(super) fn opened(
    code: &Code,
    scope: &CodeScope,
    value: &dyn Fn(usize) -> Value,
    is_handle: &dyn Fn(usize) -> bool,
) -> Option<(Vec<CodeVariable>, String)> {
    let (opened, others): (Vec<CodeVariable>, Vec<CodeVariable>) =
        scope.variables.iter().cloned().partition(|variable| is_opened(variable, is_handle));
    let opened: Vec<CodeVariable> =
        opened.into_iter().map(|variable| CodeVariable { value: filled(&variable.value, value), ..variable }).collect();
    let is_bare = others.is_empty() && scope.uses.is_empty();
    let rest = CodeScope { uses: scope.uses.clone(), variables: others };
    let rest = fill(&Code { form: CodeForm::Block(rest), ..code.clone() }, value);
    (!opened.is_empty()).then(|| (opened, if is_bare { format!("{{\n{rest}\n}}") } else { rest }))
}

/// Whether the variable is of a value of the code's own, by the position of its argument.
pub(super) fn is_opened(variable: &CodeVariable, is_handle: &dyn Fn(usize) -> bool) -> bool {
    let mut pieces = pieces(&variable.value);
    matches!((pieces.next(), pieces.next()), (Some(Piece::Hole(position)), None) if is_handle(position))
}

fn bound_at_once(scope: &CodeScope, template: &str, value: &dyn Fn(usize) -> Value) -> Option<String> {
    let (made, others): (Vec<&CodeVariable>, Vec<&CodeVariable>) =
        scope.variables.iter().partition(|variable| holes(&variable.value).next().is_some());
    let texts: Vec<String> = made.iter().map(|variable| filled(&variable.value, value)).collect();
    let hides = |(at, variable): (usize, &&CodeVariable)| {
        texts[at + 1..].iter().any(|text| words(text).any(|word| word == variable.name))
    };
    // A variable of the code's may have the name of what the code reaches where it lies.
    let is_hidden = |position: &usize| {
        let reached = value(*position).text;
        let root = words(&reached).next().unwrap_or_default();
        let is_other = |(variable, text): (&&CodeVariable, &String)| {
            variable.name == root && text.trim_matches(['(', ')']) != root
        };
        made.iter().zip(&texts).any(is_other)
    };
    let hidden: BTreeSet<usize> = holes(template).filter(is_hidden).collect();
    if hidden.is_empty() && !made.iter().enumerate().any(hides) {
        return None;
    }
    let borrowed = |position: usize| format!("borrowed_{position}");
    let reached = |position: usize| match value(position) {
        value if !hidden.contains(&position) => value,
        Value { is_ref: true, .. } => Value::variable(borrowed(position), true),
        _ => Value::owned(format!("(*{})", borrowed(position))),
    };
    let pattern = |one: &&CodeVariable| if one.is_mutable { format!("mut {}", one.name) } else { one.name.clone() };
    let patterns: Vec<String> = made.iter().map(pattern).collect();
    let mut out = vec!["{".to_owned()];
    out.extend(scope.uses.iter().cloned());
    out.extend(hidden.iter().map(|&position| format!("let {} = {};", borrowed(position), value(position).borrowed())));
    match (patterns.as_slice(), texts.as_slice()) {
        ([], _) => {}
        ([pattern], [text]) => out.push(format!("let {pattern} = {text};")),
        _ => out.push(format!("let ({}) = ({});", patterns.join(", "), texts.join(", "))),
    }
    out.extend(others.iter().map(ToString::to_string));
    out.push(format!("{}\n}}", filled(template, &reached)));
    Some(out.join("\n"))
}

/// The variables of opaque code whose value may hold references to them: it is neither a tensor
/// nor made of numbers.
pub(super) fn lent_by<'n>(code: &'n Code, node: &Node) -> Option<&'n CodeScope> {
    let CodeForm::Block(scope) = &code.form else { return None };
    let holds_none = node.ty.is_tensor() || node.ty.is_plain();
    (!holds_none && !code.fallible && !scope.variables.is_empty()).then_some(scope)
}

/// The variables that opaque code has of its own, where generated values stand between them: a generated variable of
/// such a name would be hidden there.
pub(super) fn own_variables(code: &Code) -> impl Iterator<Item = &str> {
    let is_mixed = holes(&code.template).next().is_some();
    let scope = match &code.form {
        CodeForm::Block(scope) => scope.variables.as_slice(),
        _ => &[],
    };
    let bound = scope.iter().map(|variable| variable.name.as_str());
    bound.chain(variables(&code.template)).filter(move |_| is_mixed)
}

/// The functions that code calls by a bare name: a generated variable of such a name would be called in their place.
pub(super) fn called_functions(code: &Code) -> impl Iterator<Item = &str> {
    names(&code.template).filter(|(_, after)| after.starts_with('(')).map(|(word, _)| word)
}

/// The words of a text that can be variables: neither fields and methods nor what is called.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    names(text).filter(|(_, after)| !after.starts_with(['(', '!'])).map(|(word, _)| word)
}

/// The words of a text that stand for something by themselves, no part of another thing, and what follows each.
fn names(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let starts = text.char_indices().filter(move |&(at, c)| is_word(c) && !text[..at].ends_with(is_word));
    let words = starts.map(move |(at, _)| {
        let word = text[at..].split(|c| !is_word(c)).next().unwrap_or_default();
        (text[..at].trim_end(), word, text[at + word.len()..].trim_start())
    });
    let is_name = |(before, word, _): &(&str, &str, &str)| {
        let is_part = before.ends_with('.') && !before.ends_with("..");
        word.starts_with(|c: char| c.is_lowercase()) && !is_part && !before.ends_with("::")
    };
    words.filter(is_name).map(|(_, word, after)| (word, after))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

fn filled(template: &str, value: &dyn Fn(usize) -> Value) -> String {
    let mut out = String::new();
    let mut pieces = pieces(template).peekable();
    while let Some(piece) = pieces.next() {
        let position = match piece {
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Hole(position) => position,
        };
        let behind = match pieces.peek() {
            Some(Piece::Text(text)) => *text,
            Some(Piece::Hole(_)) | None => "",
        };
        let value = value(position);
        let is_whole = !behind.starts_with(['.', '[', '(', '?']);
        if value.is_ref && is_whole && out.ends_with('&') {
            out.pop();
        }
        // In front of a block, or in the head of a loop, a struct literal would be read as a path and that block.
        let ends = behind.trim_start().chars().next().is_none_or(|next| [',', ';', ')', ']', '}'].contains(&next));
        if value.text.ends_with('}') && !ends {
            out.extend(["(", &value.text, ")"]);
        } else {
            out.push_str(&value.text);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_not_borrowed_again() {
        let value = |position: usize| Value::variable(["a", "b"][position], position == 0);
        assert_eq!(fill(&Code::pure("f(&$0, &$1) + $1[$0] $$"), &value), "f(a, &b) + b[a] $");
        assert_eq!(fill(&Code::pure("&$0[0] + &$0.0"), &value), "&a[0] + &a.0");
    }

    #[test]
    fn a_struct_literal_is_no_path_and_a_block() {
        let value = |_| Value::owned("P { a: 1 }");
        assert_eq!(fill(&Code::pure("for i in $0.all() {}"), &value), "for i in (P { a: 1 }).all() {}");
        assert_eq!(fill(&Code::pure("f($0, $0)"), &value), "f(P { a: 1 }, P { a: 1 })");
        assert_eq!(fill(&Code::pure("$0"), &value), "P { a: 1 }");
    }

    #[test]
    fn variables_of_opaque_code_are_told_from_fields_and_calls() {
        let text =
            "for h in 0 .. n { let mut e = $0 . iter () . map (| x | x . k + f (a)) ; println ! (b) ; crate :: c }";
        assert_eq!(own_variables(&Code::pure(text)).filter(|word| word.len() == 1).collect::<String>(), "hnexxab");
        assert_eq!(own_variables(&Code::pure("f (a)")).count(), 0);
        assert_eq!(called_functions(&Code::pure("f (a.g(b), c::h(1)) + i(j!(k))")).collect::<String>(), "fi");
        let code = block(&[CodeVariable::new("a", "$1")], "$0 + 1");
        assert_eq!(own_variables(&code).collect::<Vec<_>>(), ["a"]);
    }

    fn block(variables: &[CodeVariable], template: &str) -> Code {
        let scope = CodeScope { uses: Vec::new(), variables: variables.to_vec() };
        Code::pure(template).of_form(CodeForm::Block(scope))
    }

    #[test]
    fn variables_that_hide_each_other_are_bound_at_once() {
        let value = |position: usize| Value::owned(["b", "a", "b.flag"][position]);
        let a = CodeVariable::mutable("a", "$0");
        let variables = [a.clone(), CodeVariable::new("b", "&$1"), CodeVariable::new("c", "&mut *a")];
        let expected = "{\nlet (mut a, b) = (b, &a);\nlet c = &mut *a;\nlet value = f(a, b);\n(value, a,)\n}";
        assert_eq!(fill(&block(&variables, "let value = f(a, b);\n(value, a,)"), &value), expected);
        let reached = "{\nlet borrowed_0 = &b;\nlet b = &a;\nf(b, (*borrowed_0))\n}";
        assert_eq!(fill(&block(&variables[1..2], "f(b, $0)"), &value), reached);
        let apart = block(&[a, CodeVariable::new("self_flag", "&$2")], "f(a)");
        assert_eq!(fill(&apart, &value), "{\nlet mut a = b;\nlet self_flag = &b.flag;\nf(a)\n}");
    }
}
