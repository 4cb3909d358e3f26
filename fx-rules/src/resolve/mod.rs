//! One rule resolved: captures typed, pattern and replacement as terms, guards as conditions.

mod embedded;
mod field;
mod guard;
mod list;
mod pattern;
mod schema;
mod template;
mod yields;

use fx_front::{diag::Code, report::Faults};
use proc_macro2::Ident;
use quote::ToTokens;
use syn::{Expr, Pat as SynPat, Stmt, Type};

use self::guard::idents;
use crate::parse::{CaptureDef, EXAMPLE, RuleDef, doc_of, spelled};
use crate::term::{Capture, Kind, Pat, Tmpl};

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

/// The state of reading one rule.
pub(crate) struct Resolver<'f> {
    pub(crate) faults: &'f mut Faults,
    pub(crate) captures: Vec<Capture>,
    /// The parts of the pattern that `let` names.
    pub(crate) parts: Vec<(usize, Pat)>,
    pub(crate) lets: Vec<(Vec<String>, Tmpl)>,
    /// Whether a repeated part of the pattern is being read.
    pub(crate) is_repeated: bool,
    /// The names of the replacement's `let`s.
    pub(crate) let_names: Vec<(String, Tmpl)>,
    pub(crate) computed: Vec<(Expr, Vec<usize>)>,
}

/// Resolves a rule; what is wrong is reported, and there is no rule then.
pub(crate) fn resolve(def: &RuleDef, faults: &mut Faults) -> Option<Resolved> {
    let captures = captures(&def.captures, faults)?;
    let mut resolver = Resolver {
        faults,
        captures,
        parts: Vec::new(),
        is_repeated: false,
        lets: Vec::new(),
        let_names: Vec::new(),
        computed: Vec::new(),
    };
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

fn captures(defs: &[CaptureDef], faults: &mut Faults) -> Option<Vec<Capture>> {
    let mut captures: Vec<Capture> = Vec::new();
    let mut is_sound = true;
    for def in defs {
        let name = def.name.clone();
        if captures.iter().any(|capture| capture.name == name) {
            let message = format!("`{name}` is declared twice");
            faults.push(Code::CaptureTwice, &name, &message, "one capture may stand in several places of the pattern");
            is_sound = false;
            continue;
        }
        let kind = match &def.ty {
            Some(ty) => kind_of(ty, faults),
            None => Some(Kind::Value),
        };
        is_sound &= kind.is_some();
        let (kind, is_typed) = (kind.unwrap_or(Kind::Value), def.ty.is_some());
        captures.push(Capture { name, kind, is_typed, is_let: false, bound: 0, used: 0 });
    }
    is_sound.then_some(captures)
}

fn kind_of(ty: &Type, faults: &mut Faults) -> Option<Kind> {
    let written = spelled(ty.to_token_stream());
    let last = match ty {
        Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default(),
        _ => String::new(),
    };
    let kind = match (written.as_str(), last.as_str()) {
        ("[i64]" | "&[i64]", _) => Kind::Ints,
        ("[Tensor]" | "&[Tensor]", _) => Kind::Tensors,
        (_, "f64") => Kind::Float,
        (_, "i64") => Kind::Int,
        (_, "bool") => Kind::Bool,
        (_, "Tensor") => Kind::Tensor,
        (_, layer) if fx_front::leaf::of_type(layer).is_some() => Kind::Module(layer.to_owned()),
        _ => {
            let layers: Vec<&str> = fx_front::leaf::LEAVES.iter().map(|leaf| leaf.name).collect();
            let near = layers
                .iter()
                .find(|layer| layer.eq_ignore_ascii_case(&last) || layer.starts_with(&last) && !last.is_empty());
            let help = match near {
                Some(near) => format!("the nearest layer is `{near}`"),
                None => {
                    "layers of `nn`, `Tensor`, `f64`, `i64`, `bool`, `[i64]` and `[Tensor]` can be captured".to_owned()
                }
            };
            faults.push(Code::UnknownLayer, ty, &format!("`{written}` is no layer and no literal"), &help);
            return None;
        }
    };
    Some(kind)
}

impl Resolver<'_> {
    pub(crate) fn syntax(&mut self, tokens: impl ToTokens, message: &str) {
        self.faults.push(Code::RuleSyntax, tokens, message, EXAMPLE);
    }

    pub(crate) fn slot_of(&self, name: &Ident) -> Option<usize> {
        self.captures.iter().position(|capture| capture.name == *name)
    }

    /// The capture of that name, reported if it is not declared.
    pub(crate) fn slot(&mut self, name: &Ident) -> Option<usize> {
        let slot = self.slot_of(name);
        if slot.is_none() {
            let names: Vec<String> = self.captures.iter().map(|capture| capture.name.to_string()).collect();
            let message = format!("`{name}` is not captured");
            let help = format!(
                "the captures are declared in front: `|{}|`",
                [names, vec![name.to_string()]].concat().join(", ")
            );
            self.faults.push(Code::UnboundCapture, name, &message, &help);
        }
        slot
    }

    /// A name that `let` gives to a part of the pattern.
    pub(crate) fn name_part(&mut self, name: &Ident) -> Option<usize> {
        if self.slot_of(name).is_some() {
            self.faults.push(
                Code::CaptureTwice,
                name,
                &format!("`{name}` is declared twice"),
                "give the part another name",
            );
            return None;
        }
        let name = name.clone();
        self.captures.push(Capture { name, kind: Kind::Tensor, is_typed: true, is_let: true, bound: 1, used: 0 });
        Some(self.captures.len() - 1)
    }

    /// The statements of a block that are all `let name = value;`, and its last expression.
    pub(crate) fn statements<'e>(&mut self, block: &'e syn::Block) -> Option<(&'e Expr, Vec<(&'e Ident, &'e Expr)>)> {
        let mut lets = Vec::new();
        for (at, statement) in block.stmts.iter().enumerate() {
            match statement {
                Stmt::Local(syn::Local { pat: SynPat::Ident(name), init: Some(init), .. }) => {
                    lets.push((&name.ident, &*init.expr));
                }
                Stmt::Expr(end, None) if at + 1 == block.stmts.len() => return Some((end, lets)),
                other => {
                    self.syntax(other, "a block is made of `let name = ..;` and a last expression");
                    return None;
                }
            }
        }
        self.syntax(block, "the block does not end in a value");
        None
    }

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
