//! What is wrong with rules that are each well formed: one that never comes to its turn, one that never comes to an end.

use fx_front::{diag::Code, report::Faults};
use fx_ir::{OpId, Operator, ops};

use crate::canonical;
use crate::parse::{EXAMPLE, PassDef, RuleDef, spelled};
use crate::resolve::Resolved;
use crate::term::{Capture, Kind, Literal, Pat, Tmpl};

/// Checks the rules of one pass against each other and each against itself.
pub(crate) fn check(pass: &PassDef, rules: &[(&RuleDef, Resolved)], faults: &mut Faults) {
    for (at, (def, rule)) in rules.iter().enumerate() {
        if is_endless(rule) {
            let help = "the result is matched again and again; turn the rule round, or guard it";
            faults.push(Code::Endless, &def.after, "the rule matches its own result", help);
        }
        let earlier = rules[..at].iter().find(|(_, earlier)| earlier.guards.is_empty() && covers_all(earlier, rule));
        if let Some((earlier, _)) = earlier {
            let message = "the rule never applies: an earlier one matches wherever it does";
            let text = spelled(quote::ToTokens::to_token_stream(&earlier.before));
            faults.push(Code::Shadowed, &def.before, message, &format!("put it before `{text}`"));
        }
        let labels = rules[..at].iter().filter_map(|(_, earlier)| earlier.label.as_ref());
        if let Some(label) = &rule.label
            && labels.into_iter().any(|earlier| earlier == label)
        {
            faults.push(
                Code::RuleNames,
                label,
                &format!("two rules are called `{label}`"),
                "give each a name of its own",
            );
        }
    }
    if pass.rules.is_empty() {
        faults.push(Code::RuleNames, &pass.name, &format!("the pass `{}` has no rules", pass.name), EXAMPLE);
    }
}

fn covers_all(general: &Resolved, special: &Resolved) -> bool {
    let mut cover =
        Cover { general: &general.captures, special: &special.captures, map: vec![None; general.captures.len()] };
    general.before.len() == special.before.len()
        && general.before.iter().zip(&special.before).all(|(general, special)| cover.covers(general, special))
}

fn is_endless(rule: &Resolved) -> bool {
    let ([pattern], true) = (&rule.before[..], rule.guards.is_empty()) else { return false };
    let mut parts = Vec::new();
    rule.after.iter().for_each(|after| subterms(&term(after, rule), &mut parts));
    parts.iter().any(|part| {
        let mut cover =
            Cover { general: &rule.captures, special: &rule.captures, map: vec![None; rule.captures.len()] };
        cover.covers(pattern, part)
    })
}

fn subterms(pat: &Pat, out: &mut Vec<Pat>) {
    out.push(pat.clone());
    match pat {
        Pat::Call(_, params) => params.iter().for_each(|(.., part)| subterms(part, out)),
        Pat::Operator(_, parts) => parts.iter().for_each(|part| subterms(part, out)),
        Pat::Module(_, parts) | Pat::List(parts) => parts.iter().for_each(|part| subterms(part, out)),
        Pat::Repeat(inner) => subterms(inner, out),
        _ => {}
    }
}

/// A replacement as the pattern that its result is.
fn term(tmpl: &Tmpl, rule: &Resolved) -> Pat {
    let each = |parts: &[Tmpl]| parts.iter().map(|part| term(part, rule)).collect::<Vec<Pat>>();
    match tmpl {
        Tmpl::Capture(slot) => Pat::Capture(*slot),
        Tmpl::Let(at) => rule.lets.get(*at).map_or(Pat::Any, |(_, value)| term(value, rule)),
        Tmpl::Literal(literal) => Pat::Literal(literal.clone()),
        Tmpl::List(parts) => Pat::List(each(parts)),
        Tmpl::Call(op, args) => {
            let params = each(args).into_iter().enumerate().map(|(position, part)| (position, "", part));
            Pat::Call(*op, params.collect())
        }
        Tmpl::Operator(operator, parts) => {
            let parts = [term(&parts[0], rule), term(&parts[1], rule)];
            let is_number = [&parts[0], &parts[1]].map(|part| is_number(part, rule));
            match operator {
                Operator::Sub | Operator::Div if is_number[0] => canonical::operator(*operator, parts, is_number),
                _ => Pat::Operator(*operator, Box::new(parts)),
            }
        }
        Tmpl::Neg(inner) => Pat::Call(ops::NEG, vec![(0, "", term(inner, rule))]),
        Tmpl::Module(slot, parts) => Pat::Module(*slot, each(parts)),
        Tmpl::Field(slot, path) => Pat::Field(*slot, path.iter().map(|(name, _)| (*name).to_owned()).collect()),
        Tmpl::Splice(slot) => Pat::Rest(Some(*slot)),
        Tmpl::Part(..) | Tmpl::Or(_) | Tmpl::Computed(_) | Tmpl::Expr(..) | Tmpl::Rust { .. } => Pat::Any,
    }
}

fn is_number(part: &Pat, rule: &Resolved) -> bool {
    match part {
        Pat::Literal(_) => true,
        Pat::Capture(slot) => matches!(rule.captures[*slot].kind, Kind::Float | Kind::Int),
        _ => false,
    }
}

/// Does one pattern match wherever another does? Where that is not certain, no.
struct Cover<'a> {
    general: &'a [Capture],
    special: &'a [Capture],
    /// What each capture of the general pattern stands for in the special one.
    map: Vec<Option<Pat>>,
}

impl Cover<'_> {
    fn covers(&mut self, general: &Pat, special: &Pat) -> bool {
        match (general, special) {
            (Pat::Named(_, general), special) => self.covers(general, special),
            (general, Pat::Named(_, special)) => self.covers(general, special),
            (Pat::Any, _) => true,
            (general, Pat::Either(parts)) => parts.iter().all(|part| self.attempt(|cover| cover.covers(general, part))),
            (Pat::Either(parts), special) => parts.iter().any(|part| self.attempt(|cover| cover.covers(part, special))),
            (Pat::Optional(slot), special) => self.bind(*slot, special),
            (Pat::Capture(slot), special) => self.takes(*slot, special) && self.bind(*slot, special),
            (Pat::Literal(a), Pat::Literal(b)) => is_same(a, b),
            (Pat::List(a), Pat::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.covers(a, b)),
            (Pat::Call(a, params), Pat::Call(b, others)) => a == b && self.params(*a, params, others),
            (Pat::Operator(a, parts), Pat::Operator(b, others)) => {
                let in_order =
                    |cover: &mut Self, x: &Pat, y: &Pat| cover.covers(&parts[0], x) && cover.covers(&parts[1], y);
                a == b
                    && (self.attempt(|cover| in_order(cover, &others[0], &others[1]))
                        || a.commutes() && self.attempt(|cover| in_order(cover, &others[1], &others[0])))
            }
            (Pat::Module(a, parts), Pat::Module(b, others)) => {
                let same_kind = self.general[*a].kind == self.special[*b].kind && self.bind(*a, &Pat::Capture(*b));
                same_kind && parts.len() == others.len() && parts.iter().zip(others).all(|(a, b)| self.covers(a, b))
            }
            (Pat::Field(a, path), Pat::Field(b, other)) => path == other && self.bind(*a, &Pat::Capture(*b)),
            _ => false,
        }
    }

    fn params(&mut self, op: OpId, params: &[(usize, &str, Pat)], others: &[(usize, &str, Pat)]) -> bool {
        let unlisted = others.iter().any(|(position, _, part)| {
            let is_listed = params.iter().any(|(listed, ..)| listed == position);
            !is_listed && !is_default(op, *position, part)
        });
        let commutes = op.row().is_some_and(|row| row.commutative);
        let find = |position: usize| others.iter().find(|(other, ..)| *other == position).map(|(.., part)| part);
        let in_order = |cover: &mut Self, swap: bool| {
            params.iter().all(|(position, _, part)| {
                let position = if swap && *position < 2 { 1 - position } else { *position };
                match find(position) {
                    Some(other) => cover.covers(part, other),
                    None => matches!(part, Pat::Any | Pat::Optional(_)),
                }
            })
        };
        !unlisted
            && (self.attempt(|cover| in_order(cover, false)) || commutes && self.attempt(|cover| in_order(cover, true)))
    }

    fn attempt(&mut self, way: impl FnOnce(&mut Self) -> bool) -> bool {
        let saved = self.map.clone();
        let fits = way(self);
        if !fits {
            self.map = saved;
        }
        fits
    }

    fn bind(&mut self, slot: usize, special: &Pat) -> bool {
        self.map[slot].get_or_insert_with(|| special.clone()) == special
    }

    /// Can the general capture be bound to whatever the special term stands for?
    fn takes(&self, slot: usize, special: &Pat) -> bool {
        let of = |special: &Pat| match special {
            Pat::Capture(slot) => Some(self.special[*slot].kind.clone()),
            _ => None,
        };
        match (&self.general[slot].kind, special) {
            (_, Pat::Any | Pat::Optional(_)) => false,
            (Kind::Value, Pat::Literal(literal)) => *literal != Literal::Absent,
            (Kind::Value, _)
            | (Kind::Tensor, Pat::Call(..) | Pat::Operator(..) | Pat::Module(..))
            | (Kind::Float, Pat::Literal(Literal::Int(_) | Literal::Float(_)))
            | (Kind::Int, Pat::Literal(Literal::Int(_)))
            | (Kind::Bool, Pat::Literal(Literal::Bool(_))) => true,
            (Kind::Float, special) => matches!(of(special), Some(Kind::Float | Kind::Int)),
            (kind, special) => of(special).as_ref() == Some(kind),
        }
    }
}

fn is_same(a: &Literal, b: &Literal) -> bool {
    #[allow(clippy::cast_precision_loss, clippy::float_cmp, reason = "a literal is meant to the last digit")]
    match (a, b) {
        (Literal::Int(a), Literal::Float(b)) | (Literal::Float(b), Literal::Int(a)) => *a as f64 == *b,
        _ => a == b,
    }
}

/// Is the part what the parameter would be if it were left out?
fn is_default(op: OpId, position: usize, part: &Pat) -> bool {
    let Some(entry) = op.entry() else { return false };
    let receiver = usize::from(entry.receiver != fx_ir::catalog::Receiver::Free);
    let param = position.checked_sub(receiver).and_then(|position| entry.params.get(position));
    let Some(default) = param.and_then(fx_ir::catalog::Param::default_arg) else { return false };
    match (default, part) {
        (fx_ir::Arg::None, Pat::Literal(Literal::Absent)) => true,
        (fx_ir::Arg::Int(a), Pat::Literal(Literal::Int(b))) => a == *b,
        #[allow(clippy::float_cmp, reason = "a literal is meant to the last digit")]
        (fx_ir::Arg::Float(a), Pat::Literal(Literal::Float(b))) => a == *b,
        (fx_ir::Arg::Bool(a), Pat::Literal(Literal::Bool(b))) => a == *b,
        (fx_ir::Arg::Str(a), Pat::Literal(Literal::Str(b))) => a == *b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{codes, rule};

    fn covers(general: &str, special: &str) -> bool {
        let read = |text: &str| rule(text).unwrap_or_else(|codes| panic!("{text}: {codes:?}"));
        covers_all(&read(general), &read(special))
    }

    #[test]
    fn the_general_covers_the_special() {
        assert!(covers("|x, y| x + y => x * y", "|x| x + x.relu() => x"));
        assert!(!covers("|x| x + x.relu() => x", "|x, y| x + y => x * y"));
        assert!(covers("|x| x.relu() + x => x", "|x| x + x.relu() => x"), "in both orders");
        assert!(!covers("|x| x + x => x", "|x, y| x + y => x * y"), "one capture is one value");
    }

    #[test]
    fn a_rule_that_matches_its_result_is_endless() {
        assert_eq!(codes("A { |x, y| x + y => y + x }"), ["FX0112"]);
        assert_eq!(codes("A { |x| x.relu().relu() => x.relu() }"), Vec::<String>::new());
    }

    #[test]
    fn rules_are_checked_against_those_before() {
        assert_eq!(codes("A { |x| x.relu() => x.tanh(), |x| x.tanh().relu() => x.tanh() }"), ["FX0111"]);
        assert_eq!(codes("A { a: |x| x.relu() => x, a: |x| x.tanh() => x }"), ["FX0122"]);
        assert_eq!(codes("A { }"), ["FX0122"]);
    }
}
