//! One rule resolved: captures typed, pattern and replacement as terms, guards as conditions.

mod captures;
mod embedded;
mod field;
mod guard;
mod literal;
mod pattern;
mod resolver;
mod schema;
mod template;
mod yields;

use fx_front::{diag::Code, report::Faults};
use proc_macro2::Ident;
use quote::ToTokens;
use syn::Expr;

pub(crate) use self::resolver::Resolver;

use self::captures::captures;
use self::guard::idents;
use crate::parse::{RuleDef, doc_of, spelled};
use crate::term::{Capture, Pat, Tmpl};

/// A rule whose names are resolved.
pub(crate) struct Resolved {
    pub(crate) label: Option<Ident>,
    pub(crate) doc: String,
    pub(crate) text: [String; 3],
    pub(crate) captures: Vec<Capture>,
    pub(crate) before: Vec<Pat>,
    pub(crate) guards: Vec<(Expr, Vec<usize>)>,
    pub(crate) computed: Vec<(Expr, Vec<usize>)>,
    pub(crate) lets: Vec<(Vec<String>, Tmpl)>,
    pub(crate) after: Vec<Tmpl>,
}

/// Resolves a rule; what is wrong is reported, and there is no rule then.
pub(crate) fn resolve(def: &RuleDef, faults: &mut Faults) -> Option<Resolved> {
    let captures = captures(&def.captures, faults)?;
    let mut resolver = Resolver::new(captures, faults);
    let before = resolver.outputs(&def.before)?;
    resolver.check_pattern(def, &before)?;
    let after = resolver.replacement(&def.after, &before);
    let guards = resolver.guards(def.guard.as_ref());
    let (after, guards) = (after?, guards?);
    resolver.check_used(def)?;
    let Resolver { captures, lets, computed, .. } = resolver;
    let guard = def.guard.as_ref().map(|guard| spelled(guard.to_token_stream())).unwrap_or_default();
    let text = [spelled(def.before.to_token_stream()), spelled(def.after.to_token_stream()), guard];
    Some(Resolved {
        label: def.label.clone(),
        doc: doc_of(&def.attrs),
        text,
        captures,
        before,
        guards,
        computed,
        lets,
        after,
    })
}

impl Resolver<'_> {
    fn check_pattern(&mut self, def: &RuleDef, before: &[Pat]) -> Option<()> {
        if before.iter().any(|pat| matches!(pat, Pat::Capture(_) | Pat::Any | Pat::Optional(_) | Pat::Literal(_))) {
            let help = "begin with an op or a layer: `x.relu()`";
            self.faults.push(Code::BareCapture, &def.before, "the pattern would match everywhere", help);
            return None;
        }
        if let Some(pat) = before.iter().find(|pat| matches!(pat, Pat::Field(..) | Pat::List(_))) {
            let what = if matches!(pat, Pat::List(_)) { "a list" } else { "a field of a layer" };
            self.syntax(&def.before, &format!("a pattern begins with an op or a layer, not with {what}"));
            return None;
        }
        if before.len() > 1 {
            let slots: Vec<Vec<usize>> = before.iter().map(slots_in).collect();
            let apart = slots[1..].iter().any(|slots_of| !slots_of.iter().any(|slot| slots[0].contains(slot)));
            if apart {
                let help = "every output has to share a capture with the first, or it could be anywhere";
                self.faults.push(Code::Unconnected, &def.before, "the outputs have no capture in common", help);
                return None;
            }
        }
        Some(())
    }

    /// Every capture is in the pattern, and it is there for something.
    fn check_used(&mut self, def: &RuleDef) -> Option<()> {
        let mut is_sound = true;
        for capture in &self.captures {
            let name = &capture.name;
            if capture.bound == 0 {
                let (message, help) = if capture.used == 0 {
                    (format!("the capture `{name}` is not used"), "take it out")
                } else {
                    (format!("the pattern does not bind `{name}`"), "it has to stand in the pattern too")
                };
                let code = if capture.used == 0 { Code::UnusedCapture } else { Code::UnboundCapture };
                self.faults.push(code, name, &message, help);
                is_sound = false;
            } else if capture.used == 0 && capture.bound == 1 && !capture.is_typed {
                let message = format!("`{name}` is bound and not used");
                self.faults.push(Code::UnusedCapture, name, &message, "write `_` in its place");
                is_sound = false;
            } else if capture.is_let && capture.used == 0 && !mentions(&def.before, name) {
                self.faults.push(Code::UnusedCapture, name, &format!("`{name}` is not used"), "take the `let` out");
                is_sound = false;
            }
        }
        is_sound.then_some(())
    }
}

fn mentions(expr: &Expr, name: &Ident) -> bool {
    let mut names = Vec::new();
    idents(expr.to_token_stream(), &mut names);
    // Once where it is declared.
    names.iter().filter(|one| name == one).count() > 1
}

/// The captures in a pattern.
pub(crate) fn slots_in(pat: &Pat) -> Vec<usize> {
    let mut out = Vec::new();
    collect(pat, &mut out);
    out
}

fn collect(pat: &Pat, out: &mut Vec<usize>) {
    match pat {
        Pat::Capture(slot) | Pat::Optional(slot) | Pat::Field(slot, _) | Pat::Collect(slot) => out.push(*slot),
        Pat::Rest(slot) => out.extend(slot),
        Pat::Repeat(inner) => collect(inner, out),
        Pat::List(parts) | Pat::Either(parts) => parts.iter().for_each(|part| collect(part, out)),
        Pat::Call(_, params) => params.iter().for_each(|(.., part)| collect(part, out)),
        Pat::Operator(_, parts) => parts.iter().for_each(|part| collect(part, out)),
        Pat::Module(slot, parts) => {
            out.push(*slot);
            for part in parts {
                collect(part, out);
            }
        }
        Pat::Named(slot, inner) => {
            out.push(*slot);
            collect(inner, out);
        }
        Pat::Any | Pat::Literal(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::term::{Kind, Literal, Pat, Tmpl};
    use crate::testing::rule;

    #[test]
    fn names_become_ops_captures_and_literals() {
        let Ok(rule) = rule("|x, p: f64| (x * p).relu() => x.leaky_relu()") else { panic!("a sound rule") };
        let kinds: Vec<&Kind> = rule.captures.iter().map(|capture| &capture.kind).collect();
        assert_eq!(kinds, [&Kind::Tensor, &Kind::Float]);
        let [Pat::Call(op, params)] = &rule.before[..] else { panic!("one call: {:?}", rule.before) };
        assert_eq!((op.name(), params.len()), ("relu", 1));
        assert!(matches!(&rule.after[..], [Tmpl::Call(op, _)] if op.name() == "leaky_relu"));
    }

    #[test]
    fn fields_and_guards_know_what_they_read() {
        let Ok(rule) = rule("|x, bn: BatchNorm| bn(x) => x * bn.config.eps if bn.calls() == 1 && is_float(x)") else {
            panic!("a sound rule")
        };
        let read: Vec<&[usize]> = rule.guards.iter().map(|(_, slots)| &slots[..]).collect();
        assert_eq!(read, [&[1][..], &[0]]);
        assert!(
            matches!(&rule.after[..], [Tmpl::Operator(_, parts)] if matches!(&parts[1], Tmpl::Field(1, path) if path.len() == 2))
        );
    }

    #[test]
    fn an_argument_that_is_not_written_is_not_in_the_pattern() {
        let Ok(rule) = rule("|x, d: i64| x.softmax(d, _).sum_dim_intlist(1) => x.relu()") else {
            panic!("a sound rule")
        };
        let [Pat::Call(_, params)] = &rule.before[..] else { panic!("one call: {:?}", rule.before) };
        assert!(params.iter().any(|(.., part)| *part == Pat::Literal(Literal::Int(1))), "{params:?}");
    }

    #[test]
    fn what_cannot_be_meant_has_a_number() {
        let code = |text| rule(text).err().unwrap_or_default().join(" ");
        assert_eq!(code("|x| x.rleu() => x"), "FX0102");
        assert_eq!(code("|x| x => x.relu()"), "FX0110");
        assert_eq!(code("|x, c: Conv9D| c(x) => x"), "FX0114");
        assert_eq!(code("|x, x| x.relu() => x"), "FX0107");
    }
}
