//! Fields of layers, in patterns and in replacements: `bn.config.eps`.

use fx_front::diag::Code;
use proc_macro2::Ident;
use syn::Expr;

use super::Resolver;
use crate::term::{Kind, Pat};
use fx_ir::LayerRow;
use fx_ir::layers::FieldType;

impl Resolver<'_> {
    /// A field as a part of a pattern.
    pub(crate) fn pat_field(&mut self, expr: &Expr) -> Option<Pat> {
        let (slot, names) = self.field_path(expr)?;
        let path = self.field_types(slot, &names)?;
        self.captures[slot].bound += 1;
        Some(Pat::Field(slot, path.iter().map(|(name, _)| (*name).to_owned()).collect()))
    }

    /// `conv.config.groups`: the layer and the names behind it.
    pub(crate) fn field_path(&mut self, expr: &Expr) -> Option<(usize, Vec<Ident>)> {
        let mut names = Vec::new();
        let mut at = expr;
        while let Expr::Field(field) = at {
            let syn::Member::Named(name) = &field.member else {
                self.syntax(field, "layers have named fields only");
                return None;
            };
            names.insert(0, name.clone());
            at = &field.base;
        }
        let Expr::Path(path) = at else {
            self.syntax(at, "only layers have fields");
            return None;
        };
        let name = path.path.get_ident()?;
        let slot = self.slot(name)?;
        self.check_is_layer(slot, name)?;
        Some((slot, names))
    }

    /// The type of each step of the path.
    pub(crate) fn field_types(&mut self, slot: usize, names: &[Ident]) -> Option<Vec<(&'static str, FieldType)>> {
        let Kind::Module(kind) = self.captures[slot].kind.clone() else { return None };
        let mut fields = LayerRow::of_type(&kind).map_or(&[][..], |row| row.fields);
        let mut path = Vec::new();
        for name in names {
            let Some(field) = fields.iter().find(|field| name == field.name) else {
                let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
                let help =
                    if known.is_empty() { "it has none".to_owned() } else { format!("it has: {}", known.join(", ")) };
                self.faults.push(
                    Code::UnknownLayerField,
                    name,
                    &format!("a `{kind}` has no field `{name}` here"),
                    &help,
                );
                return None;
            };
            path.push((field.name, field.ty));
            fields = match field.ty {
                FieldType::Config(inner) => inner.fields,
                _ => &[],
            };
        }
        Some(path)
    }

    /// Only what is declared as a layer is called or has fields.
    pub(crate) fn check_is_layer(&mut self, slot: usize, name: &Ident) -> Option<()> {
        if matches!(self.captures[slot].kind, Kind::Module(_)) {
            return Some(());
        }
        let help = format!("declare its type: `|{name}: Conv2D|`");
        self.faults.push(Code::NotALayer, name, &format!("`{name}` is not declared as a layer"), &help);
        None
    }
}
