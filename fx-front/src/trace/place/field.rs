//! Fields: reading a part of a value, and what the user would call that part.

use fx_ir::layers::{Config, FieldType};
use fx_ir::{HostOp, LayerRow, Op};
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::diag::{Code, Severity};
use crate::trace::types::label::join_path;
use crate::trace::{RefKind, Result, Tracer, Ty, Val, asked, unsupported};

impl Tracer<'_> {
    pub(in crate::trace) fn field_expr(&mut self, field: &syn::ExprField) -> Result<Val> {
        let name = field.member.to_token_stream().to_string();
        if let Some(value) = self.read_part(&syn::Expr::Field(field.clone()), name.trim_start_matches("r#"))? {
            return Ok(value);
        }
        let base = self.expr(asked::base(&field.base))?;
        match &field.member {
            syn::Member::Named(name) => self.field(&base, &name.to_string(), name.span()),
            syn::Member::Unnamed(index) => match base.ty() {
                Ty::Struct(_) | Ty::Leaf(_) => self.field(&base, &index.index.to_string(), index.span()),
                _ => self.tuple_part(&base, index.index as usize, field.span()),
            },
        }
    }

    /// The field of a value.
    pub(in crate::trace) fn field(&mut self, base: &Val, name: &str, span: Span) -> Result<Val> {
        match base {
            Val::MutRef(_, inner) => return self.field(inner, name, span),
            Val::Place(place) => {
                let part = self.part_of(place, name, span)?;
                return self.value_of(part, name, span);
            }
            Val::Fields(shape, parts) => {
                let at = shape.names.iter().position(|known| known == name);
                return at.map_or_else(|| unsupported(span, format!("the field `{name}`")), |at| Ok(parts[at].clone()));
            }
            _ => {}
        }
        let Val::Node(id, ty, _) = base else { return unsupported(span, "a field of a literal") };
        let made = self.facts.made.get(id).and_then(|fields| fields.iter().find(|(member, _)| member == name));
        if let Some((_, value)) = made {
            return Ok(value.clone());
        }
        let field_ty = match ty {
            Ty::Struct(owner) => self.struct_field(*owner, name, span)?,
            Ty::Leaf(leaf) => leaf_field(leaf, name),
            other => match config_field(other, name) {
                Some(ty) => Ty::Rust(ty.to_owned()),
                None => {
                    return unsupported(span, format!("the field `{name}` of a value {}", self.index.of_type(other)));
                }
            },
        };
        if let Ty::Struct(owner) = ty
            && self.is_kept(*owner, name)
            && self.path_of(base).is_some()
        {
            return self.read_field(base, name, span);
        }
        let known = match ty {
            Ty::Struct(owner) => self.index.field(*owner, name).map(|field| field.label.as_str()),
            _ => None,
        };
        let path = self.path_of(base).map(|path| join_path(&path, known.unwrap_or(name)));
        let label = path.clone().unwrap_or_else(|| name.to_owned());
        let value = self.push_labelled(Op::GetAttr(name.to_owned()), vec![(*id).into()], name, &label, field_ty, span);
        if let (Some(node), Some(path)) = (value.node(), path) {
            self.facts.set_path(node, path);
        }
        match (value.node(), ty) {
            (Some(node), Ty::Struct(owner)) if self.is_reference_to_tensor(*owner, name) => {
                let reference = self.host_node(HostOp::BorrowTensor, vec![node.into()], name, Ty::Tensor, span);
                Ok(reference.with_ref_kind(RefKind::Ref))
            }
            _ => Ok(value.with_ref_kind(RefKind::Value)),
        }
    }

    /// Whether the field is declared as `&Tensor`.
    fn is_reference_to_tensor(&self, owner: usize, name: &str) -> bool {
        self.index.field(owner, name).is_some_and(|field| {
            matches!(field.ty, syn::Type::Reference(_)) && self.index.field_ty(owner, field) == Ty::Tensor
        })
    }

    fn struct_field(&mut self, owner: usize, name: &str, span: Span) -> Result<Ty> {
        let item = &self.index.structs[owner];
        let Some(field) = self.index.field(owner, name) else {
            let message = format!("`{}` has no field `{name}`", item.name);
            let names: Vec<String> = item.fields.iter().map(|field| format!("`{}`", field.name)).collect();
            self.report(
                Code::NoSuchField,
                Severity::Error,
                span,
                message.clone(),
                &format!("it has {}", names.join(", ")),
            );
            return unsupported(span, message);
        };
        let root = self.home();
        if !self.index.can_read(root, owner, field) {
            let message = format!("the field `{name}` of `{}` is private to its module", item.name);
            return unsupported(span, format!("{message}; derive `Module` on it, or make the field `pub(crate)`"));
        }
        // A Sequential built in a constructor has layers of known types.
        let ty = self.index.field_ty(owner, field);
        if self.index.private_type(root, &ty) {
            return unsupported(span, self.private_parts(root, owner));
        }
        if let Ty::Rust(path) = &ty
            && let Some(layer) = path.strip_prefix("::tch::nn::").filter(|layer| LayerRow::of_type(layer).is_some())
        {
            let message = format!("`{name}` of `{}` is tch's own `{layer}`, which fx cannot see into", item.name);
            let help = "take it from `fx_runtime::nn`, where it has the same name and is made in the same way";
            self.report(Code::ForeignLayer, Severity::Warning, span, message, help);
        }
        Ok(ty)
    }

    /// Why nothing of the struct can be inlined in the module `root`, and what to do.
    fn private_parts(&self, root: &str, owner: usize) -> String {
        let private = self.index.private_types(root, &Ty::Struct(owner));
        let shown: Vec<String> =
            private.iter().map(|path| format!("`{}`", path.trim_start_matches("crate::"))).collect();
        let are = if shown.len() == 1 { "is" } else { "are" };
        let name = &self.index.structs[owner].name;
        format!("{} {are} private to another module; `pub(crate)` lets `{name}` be inlined here", shown.join(", "))
    }

    /// Reads a written field where it stands.
    pub(in crate::trace) fn read_field(&mut self, base: &Val, name: &str, span: Span) -> Result<Val> {
        let place = self.cell(base, name, span)?;
        self.read_place(&place, name, span)
    }
}

/// The type of a field of a layer's configuration, which a struct of the crate may hold without the layer.
fn config_field(ty: &Ty, name: &str) -> Option<&'static str> {
    let Ty::Rust(path) = ty else { return None };
    let (_, config) = path.rsplit_once("nn::")?;
    match Config::of_type(config)?.field(name)?.ty {
        FieldType::Rust(ty) => Some(ty),
        _ => None,
    }
}

/// The type of a public field of a layer.
fn leaf_field(leaf: &str, name: &str) -> Ty {
    match LayerRow::of_type(leaf).and_then(|row| row.field(name)).map(|field| field.ty) {
        Some(FieldType::Tensor) => Ty::Tensor,
        Some(FieldType::OptTensor) => Ty::Option(Box::new(Ty::Tensor)),
        _ => Ty::Unknown,
    }
}
