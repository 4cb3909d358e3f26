//! The frozen type: a struct a scope, an enum a choice.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use fx_ir::{HostOp, NodeId};

use super::QUIET;
use super::{
    Emitter,
    entries::Whole,
    holder::Holder,
    labels::origin_doc,
    plan::{Decided, Shape, Stored},
};

impl Emitter<'_> {
    /// Every struct and enum, the frozen type first.
    pub(super) fn types(&self) -> String {
        let body = self.graph.body();
        let mut out = String::new();
        for (&region, scope) in &self.plan.scopes {
            let root = region == body;
            let is_empty = scope.fields.is_empty() && !root && !self.is_turn(region);
            if is_empty || self.plan.only_field(region).is_some() {
                continue;
            }
            let fields: String = scope.fields.iter().map(|&id| self.struct_field(id)).collect();
            // Of several entries none has a frozen type of its own.
            let is_whole = root && self.field.is_none();
            if is_whole && self.has_forms() {
                out.push_str(&self.formed(&fields));
                continue;
            }
            let (doc, frame, visibility) = if is_whole {
                (Whole(std::slice::from_ref(self)).doc(), "frame: ::fx_runtime::frozen::Frame,", "pub ")
            } else {
                (String::new(), "", "")
            };
            // Writing to a string cannot fail.
            let _ = write!(
                out,
                "{doc}{QUIET}\n#[derive(Debug, ::fx_runtime::frozen::State)]\n{visibility}struct {} {{ {frame} {fields} }}\n",
                scope.name
            );
        }
        for decided in
            self.plan.scopes.values().flat_map(|scope| &scope.fields).filter_map(|id| self.plan.decided.get(id))
        {
            if let Shape::Choice(name, variants) = &decided.shape {
                out.push_str(&self.choice(name, variants, decided));
            }
        }
        let captured = self.plan.stored.values().filter_map(|stored| match &stored.kind {
            Holder::Captured(name) => Some(name.as_str()),
            _ => None,
        });
        let cells = self.graph.nodes().into_iter().filter_map(|id| match self.graph.node(id).op.host() {
            Some(HostOp::ForeignCell((ty, _))) => Some(ty.as_str()),
            _ => None,
        });
        let own: BTreeSet<&str> = captured.chain(cells).collect();
        if !own.is_empty() {
            let types = own.into_iter().collect::<Vec<&str>>().join(", ");
            // Writing to a string cannot fail.
            let _ = writeln!(out, "::fx_runtime::own_state!({types});");
        }
        out
    }

    /// The frozen type that computes in one of several forms, and the struct of its kernels.
    fn formed(&self, fields: &str) -> String {
        let (doc, frozen, kernels) = (Whole(std::slice::from_ref(self)).doc(), &self.frozen, self.kernels());
        format!(
            "{doc}{QUIET}\n#[derive(Debug)]\npub struct {frozen} {{ frame: ::fx_runtime::frozen::Frame, \
             form: ::fx_runtime::quant::Form<{kernels}> }}\n\
             {QUIET}\n#[derive(Debug, ::fx_runtime::frozen::State)]\nstruct {kernels} {{ {fields} }}\n\
             ::fx_runtime::formed!({frozen});\n"
        )
    }

    /// Whether the region is one iteration of a loop, which has a struct even when that is empty.
    fn is_turn(&self, region: fx_ir::RegionId) -> bool {
        let decided = self.graph.owner_of(region).and_then(|owner| self.plan.decided.get(&owner));
        decided.is_some_and(|decided| decided.shape == Shape::Each)
    }

    fn struct_field(&self, id: NodeId) -> String {
        let (doc, ty) = self.field_type(id);
        let stored = self.plan.stored.get(&id).map(|stored| &stored.field);
        let decided = self.plan.decided.get(&id).map(|decided| &decided.field);
        stored.or(decided).map_or_else(String::new, |field| format!("{doc}{field}: {ty},\n"))
    }

    /// The type of a field, and where in the model it comes from.
    fn field_type(&self, id: NodeId) -> (String, String) {
        if let Some(Stored { kind, .. }) = self.plan.stored.get(&id) {
            return (origin_doc(self.graph.node(id)), holder_type(kind, self.traced.copies_state));
        }
        let Some(Decided { shape, .. }) = self.plan.decided.get(&id) else { return Default::default() };
        let in_scope = |position: usize, around: &str| {
            let (doc, ty) = self.scope_type(id, position);
            (doc, format!("{around}<{ty}>"))
        };
        match shape {
            Shape::Each => in_scope(0, "Vec"),
            Shape::Maybe(position) => in_scope(*position, "Option"),
            Shape::Choice(name, _) => (String::new(), name.clone()),
        }
    }

    /// The type of the scope of a region of a decision: its struct, or what its one field is.
    fn scope_type(&self, id: NodeId, position: usize) -> (String, String) {
        let Some(region) = self.graph.node(id).regions.get(position) else { return Default::default() };
        match self.plan.only_field(*region) {
            Some(field) => self.field_type(field),
            None => (String::new(), self.plan.scopes.get(region).map_or_else(String::new, |scope| scope.name.clone())),
        }
    }

    fn choice(&self, name: &str, variants: &[(String, bool)], decided: &Decided) -> String {
        let owner = self.plan.decided.iter().find(|(_, other)| std::ptr::eq(*other, decided)).map(|(&id, _)| id);
        let variant = |(position, (variant, full)): (usize, &(String, bool))| {
            let (doc, scope) = owner.map_or_else(Default::default, |owner| self.scope_type(owner, position));
            if *full { format!("{doc}{variant}({scope}),") } else { format!("{variant},") }
        };
        let variants: String = variants.iter().enumerate().map(variant).collect();
        format!("{QUIET}\n#[derive(Debug, ::fx_runtime::frozen::State)]\nenum {name} {{ {variants} }}\n")
    }
}

fn holder_type(kind: &Holder, is_written: bool) -> String {
    match kind {
        Holder::Plain(name) | Holder::Copied(name) => name.clone(),
        Holder::Numbers(name) => format!("Vec<{name}>"),
        Holder::Text => "::std::string::String".to_owned(),
        Holder::Param | Holder::Constant => "::fx_runtime::frozen::Param".to_owned(),
        Holder::OptionalParam => "Option<::fx_runtime::frozen::Param>".to_owned(),
        Holder::Captured(name) if is_written => format!("::fx_runtime::frozen::CapturedState<{name}>"),
        Holder::Captured(name) => format!("::fx_runtime::frozen::Captured<{name}>"),
    }
}
