//! `freeze`: what the live model decides, once.

use std::fmt::Write as _;

use fx_ir::{NodeId, Op, Pattern, RegionId};

use super::{
    Emitter,
    control::{before_brace, fold_tail},
    holder::Holder,
    pattern,
    plan::{Decided, Shape},
    value::Value,
    writer::{Phase, Writer},
};

impl Emitter<'_> {
    /// What computes the fields of the item's struct, and these.
    pub(super) fn freezing(&self) -> (String, String) {
        let mut writer = Writer::new(self, Phase::Freeze);
        self.bind_model(&mut writer);
        writer.region(self.graph.body());
        (self.short(&writer.lines.join("\n")), writer.fields(self.graph.body()))
    }

    /// The model's type as the user's impl writes it, with any lifetime.
    pub(super) fn owner(&self) -> String {
        let Some(mut owner) = self.index.fns[self.traced.item].owner.clone() else { return String::new() };
        syn::visit_mut::VisitMut::visit_type_mut(&mut AnyLifetime, &mut owner);
        let written = quote::ToTokens::to_token_stream(&owner).to_string();
        self.index.named_from(self.home, &written.replace(" :: ", "::")).unwrap_or(written)
    }

    pub(super) fn bind_model(&self, writer: &mut Writer<'_, '_>) {
        if self.traced.signature.has_receiver
            && let Some(&model) = self.graph.region(self.graph.body()).params.first()
        {
            writer.set(model, Value::reference("self"));
        }
    }
}

impl Writer<'_, '_> {
    /// The fields of a scope's struct, in order.
    fn fields(&self, region: RegionId) -> String {
        let plan = &self.emitter.plan;
        let field = |id: &NodeId| {
            let stored = plan.stored.get(id).map(|stored| &stored.field);
            let decided = plan.decided.get(id).map(|decided| &decided.field);
            let field = stored.or(decided).cloned().unwrap_or_default();
            let value = self.field_value(*id);
            if value == field { format!("{field},") } else { format!("{field}: {value},") }
        };
        plan.scopes[&region].fields.iter().map(field).collect()
    }

    /// What goes into a field: a variable that holds it already, or the value as it is read.
    fn field_value(&self, id: NodeId) -> String {
        let value = self.read(id);
        let Some(stored) = self.emitter.plan.stored.get(&id) else { return value.text };
        match &stored.kind {
            Holder::Param => format!("frame.param({})?", value.borrowed()),
            Holder::Constant => format!("frame.constant({})?", value.borrowed()),
            Holder::OptionalParam => format!("{}.as_ref().map(|tensor| frame.param(tensor)).transpose()?", value.text),
            Holder::Numbers(_) => format!("{}.to_vec()", value.text),
            Holder::Text => format!("::std::string::String::from({})", value.text),
            Holder::Captured(ty) if self.emitter.traced.copies_state => format!(
                "::fx_runtime::capture_state!(frame, {}, {:?}, {}, {ty})?",
                value.borrowed(),
                stored.field,
                self.is_whole_model(id)
            ),
            Holder::Captured(_) => format!("::fx_runtime::capture!(frame, {}, {:?})?", value.borrowed(), stored.field),
            Holder::Copied(_) if value.is_ref => format!("*{}", value.text),
            Holder::Plain(_) | Holder::Copied(_) => value.text,
        }
    }

    /// Whether the value is the model itself.
    fn is_whole_model(&self, id: NodeId) -> bool {
        let graph = self.graph();
        self.emitter.traced.signature.has_receiver && graph.region(graph.body()).params.first() == Some(&id)
    }

    /// Computes a value that a field will hold, together with what only it needs.
    pub(super) fn store(&mut self, id: NodeId) {
        let value = self.expression(id);
        self.bind(id, value);
    }

    /// Control flow of which a call runs at least a part: a decision is taken here, anything else is looked into.
    pub(super) fn decision_or_inside(&mut self, id: NodeId) {
        match self.emitter.plan.decided.get(&id) {
            Some(decided) => self.decide(id, decided),
            None => {
                for region in self.graph().node(id).regions.clone() {
                    self.region(region);
                }
            }
        }
    }

    fn decide(&mut self, id: NodeId, decided: &Decided) {
        let name = self.names.fresh(&decided.field);
        let text = match (&self.graph().node(id).op.clone(), &decided.shape) {
            (Op::For(header), _) => {
                self.line(format!("let mut {name} = Vec::new();"));
                let region = self.graph().node(id).regions[0];
                let params = self.graph().region(region).params.clone();
                let carried = self.graph().node(id).args.len() - 1;
                let names = self.names.clone();
                let head = self.for_head(id, header, &params[..params.len() - carried]);
                let (lines, item) = self.scope_struct(region);
                self.names = names;
                self.line(format!("{head} {{ {}\n{name}.push({item}); }}", lines.join("\n")));
                self.set(id, Value::owned(name));
                return;
            }
            (Op::Match(patterns), shape) => {
                let subject = self.subject(id);
                let arms = self.arms(id, patterns, shape);
                let is_copied = self.is_option_of_reference(id);
                let subject = if is_copied { subject.text } else { self.taken_apart(id, &subject) };
                format!("match {} {{ {arms} }}", before_brace(subject))
            }
            (_, shape) => {
                let condition = before_brace(self.subject(id).text);
                let arms = self.arms(id, &pattern::TRUTH, shape);
                format!("match {condition} {{ {arms} }}")
            }
        };
        self.line(format!("let {name} = {text};"));
        self.set(id, Value::owned(name));
    }

    fn arms(&mut self, id: NodeId, patterns: &[Pattern], shape: &Shape) -> String {
        let regions = self.graph().node(id).regions.clone();
        let mut arms = String::new();
        for (position, (&region, pattern)) in regions.iter().zip(patterns).enumerate() {
            let names = self.names.clone();
            let pattern = self.pattern_of(pattern, region);
            let block = self.scope_block(region);
            self.names = names;
            let value = match shape {
                Shape::Maybe(full) if *full == position => format!("Some({block})"),
                Shape::Choice(name, variants) => match &variants[position] {
                    (variant, true) => format!("{name}::{variant}({block})"),
                    (variant, false) => format!("{name}::{variant}"),
                },
                _ => "None".to_owned(),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(arms, "{pattern} => {value},");
        }
        arms
    }

    /// The lines that compute the fields of a region's scope, and the struct of them, or the one field.
    fn scope_struct(&mut self, region: RegionId) -> (Vec<String>, String) {
        let outer = std::mem::take(&mut self.lines);
        self.region(region);
        let plan = &self.emitter.plan;
        let literal = match plan.only_field(region) {
            Some(field) => self.field_value(field),
            None => format!("{} {{ {} }}", plan.scopes[&region].name, self.fields(region)),
        };
        (std::mem::replace(&mut self.lines, outer), literal)
    }

    /// A block that evaluates to the struct of a region's scope.
    fn scope_block(&mut self, region: RegionId) -> String {
        let (mut lines, mut literal) = self.scope_struct(region);
        fold_tail(&mut lines, &mut literal);
        if lines.is_empty() { literal } else { format!("{{ {}\n{literal} }}", lines.join("\n")) }
    }
}

/// `Net<'a>` as `Net<'_>`.
struct AnyLifetime;

impl syn::visit_mut::VisitMut for AnyLifetime {
    fn visit_lifetime_mut(&mut self, lifetime: &mut syn::Lifetime) {
        if lifetime.ident != "static" {
            lifetime.ident = syn::Ident::new("_", lifetime.ident.span());
        }
    }
}
