//! Inputs as a command line writes them: `1x3x224x224`, `1x16:i64<30522`, `scalar`.

use tch::{Device, Kind, Tensor};

use crate::graph_module::{Value, value};
use crate::{Error, Result};

/// The dtypes by their names.
const KINDS: [(&str, Kind); 9] = [
    ("f32", Kind::Float),
    ("f64", Kind::Double),
    ("f16", Kind::Half),
    ("bf16", Kind::BFloat16),
    ("i64", Kind::Int64),
    ("i32", Kind::Int),
    ("i8", Kind::Int8),
    ("u8", Kind::Uint8),
    ("bool", Kind::Bool),
];

/// What integers are drawn below, where nothing is said.
const BELOW: i64 = 2;

/// The same as a value of a graph.
pub(super) fn parse(text: &str) -> Result<Value> {
    random_input(text).map(value)
}

/// Random values of that shape: from the normal distribution, or integers from 0 up to a bound.
pub fn random_input(text: &str) -> Result<Tensor> {
    let refused = || Error::Unsupported {
        what: format!("the input `{text}`"),
        help: "write sizes, and a dtype where it is not f32: `1x3x224x224`, `8x128:bf16`, integers below 1000 as \
               `1x16:i64<1000`, a tensor without axes as `scalar`"
            .to_owned(),
    };
    let (shape, rest) = text.split_once(':').unwrap_or((text, "f32"));
    let (dtype, below) = rest.split_once('<').map_or((rest, None), |(dtype, below)| (dtype, Some(below)));
    let (_, kind) = KINDS.into_iter().find(|(name, _)| *name == dtype.trim()).ok_or_else(refused)?;
    let below = below.map(|text| text.trim().parse::<i64>().ok().filter(|bound| *bound > 0).ok_or_else(refused));
    let below = below.transpose()?;
    let size = |size: &str| size.trim().parse::<i64>().ok().filter(|size| *size >= 0);
    let shape: Vec<i64> = match shape.trim() {
        "scalar" => Vec::new(),
        shape => shape.split('x').map(size).collect::<Option<_>>().ok_or_else(refused)?,
    };
    let is_float = matches!(kind, Kind::Float | Kind::Double | Kind::Half | Kind::BFloat16);
    if is_float && below.is_some() {
        return Err(refused());
    }
    let tensor = if is_float {
        Tensor::f_randn(&shape, (Kind::Float, Device::Cpu))?
    } else {
        Tensor::f_randint(below.unwrap_or(BELOW), &shape, (Kind::Int64, Device::Cpu))?
    };
    Ok(tensor.f_to_kind(kind)?)
}
