//! The captures that a rule declares: `|x, p: f64, bn: BatchNorm|`.

use fx_front::{diag::Code, report::Faults};
use fx_ir::LayerRow;
use fx_ir::layers::layers;
use quote::ToTokens;
use syn::Type;

use crate::parse::{CaptureDef, spelled};
use crate::term::{Capture, Kind};

/// The declared captures; what is wrong with them is reported, and there are none then.
pub(super) fn captures(defs: &[CaptureDef], faults: &mut Faults) -> Option<Vec<Capture>> {
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
        (_, layer) if LayerRow::of_type(layer).is_some() => Kind::Module(layer.to_owned()),
        _ => {
            let layers: Vec<&str> = layers().iter().map(|row| row.name).collect();
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
