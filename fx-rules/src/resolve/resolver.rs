//! The state of reading one rule: its captures, and what is named or computed on the way.

use fx_front::{diag::Code, report::Faults};
use proc_macro2::Ident;
use quote::ToTokens;
use syn::{Expr, Pat as SynPat, Stmt};

use crate::parse::EXAMPLE;
use crate::term::{Capture, Kind, Pat, Tmpl};

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

impl<'f> Resolver<'f> {
    pub(super) fn new(captures: Vec<Capture>, faults: &'f mut Faults) -> Self {
        Self {
            faults,
            captures,
            parts: Vec::new(),
            is_repeated: false,
            lets: Vec::new(),
            let_names: Vec::new(),
            computed: Vec::new(),
        }
    }
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

    /// The capture behind `..`: a list of tensors.
    pub(crate) fn rest(&mut self, end: &Expr) -> Option<usize> {
        let name = match end {
            Expr::Path(path) => path.path.get_ident(),
            _ => None,
        };
        let Some(name) = name else {
            self.syntax(end, "`..` is followed by a capture");
            return None;
        };
        let slot = self.slot(name)?;
        if self.captures[slot].kind != Kind::Tensors {
            let message = format!("`{name}` is no list: declare `{name}: [Tensor]`");
            self.syntax(end, &message);
            return None;
        }
        Some(slot)
    }
}
