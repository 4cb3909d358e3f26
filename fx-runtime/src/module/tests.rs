//! What the derive gives.

use std::collections::BTreeSet;

use super::probe::Probe;
use super::*;
use crate::nn;

/// A model with every kind of field.
#[derive(Debug, crate::Module)]
struct Model {
    stem: nn::Conv2D,
    scale: Tensor,
    shift: Option<Tensor>,
    blocks: Vec<Block>,
    head: (Box<nn::Linear>, [nn::LayerNorm; 1]),
    table: Vec<Tensor>,
    num_heads: usize,
    label: String,
    sizes: Vec<i64>,
    dropout: nn::Dropout,
    absent: Option<Block>,
}

#[derive(Debug, crate::Module)]
struct Block {
    bn: nn::BatchNorm,
    downsample: Option<nn::Conv2D>,
}

/// A type with a parameter, and fields that cannot be cloned.
struct Generic<M, F> {
    inner: M,
    callback: F,
}

#[allow(clippy::needless_borrow, reason = "the same call for every field")]
impl<M: crate::Module, F> crate::Module for Generic<M, F> {
    fn type_name(&self) -> &'static str {
        "Generic"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn crate::module::Visitor<'a>) {
        use crate::module::probe::{ViaField as _, VisitNothing as _};
        (&&&Probe(&self.inner)).visit("inner", visitor);
        (&&&Probe(&self.callback)).visit("callback", visitor);
    }

    fn placed(&self, place: &mut crate::module::Place<'_>) -> Result<Self, crate::Error> {
        use crate::module::probe::{CloneNothing as _, ViaField as _};
        Ok(Self {
            inner: (&&&Probe(&self.inner)).place_as("inner", place)?,
            callback: (&&&Probe(&self.callback)).place_as("callback", place)?,
        })
    }
}

fn block(p: &nn::Path<'_>, downsample: bool) -> Block {
    Block {
        bn: nn::batch_norm2d(p / "bn", 2, nn::BatchNormConfig::default()),
        downsample: downsample.then(|| nn::conv2d(p / "downsample", 2, 2, 1, nn::no_bias())),
    }
}

fn model(vs: &nn::VarStore) -> Model {
    let p = &vs.root();
    let blocks = p / "blocks";
    Model {
        stem: nn::conv2d(p / "stem", 3, 2, 3, nn::ConvConfig::default()),
        scale: p.ones("scale", &[1]),
        shift: Some(p.zeros_no_train("shift", &[1])),
        blocks: vec![block(&(&blocks / 0), true), block(&(&blocks / 1), false)],
        head: (
            Box::new(nn::linear(p / "head" / 0, 2, 2, nn::LinearConfig::default())),
            [nn::layer_norm(p / "head" / 1 / 0, vec![2], nn::LayerNormConfig::default())],
        ),
        table: vec![(p / "table").zeros_no_train("0", &[1])],
        num_heads: 4,
        label: "label".into(),
        sizes: vec![1],
        dropout: nn::dropout(0.1),
        absent: None,
    }
}

fn names<T>(named: &[(String, T)]) -> Vec<&str> {
    named.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn names_are_those_of_the_state_dict() {
    let vs = nn::VarStore::new(Device::Cpu);
    let model = model(&vs);
    let state = model.state_dict();
    assert_eq!(
        names(&state),
        [
            "scale",
            "shift",
            "stem.weight",
            "stem.bias",
            "blocks.0.bn.weight",
            "blocks.0.bn.bias",
            "blocks.0.bn.running_mean",
            "blocks.0.bn.running_var",
            "blocks.0.downsample.weight",
            "blocks.1.bn.weight",
            "blocks.1.bn.bias",
            "blocks.1.bn.running_mean",
            "blocks.1.bn.running_var",
            "head.0.weight",
            "head.0.bias",
            "head.1.0.weight",
            "head.1.0.bias",
            "table.0",
        ]
    );
    let shown: BTreeSet<_> = state.into_iter().map(|(name, _)| name).collect();
    assert_eq!(shown, vs.variables().into_keys().collect());
}

#[test]
fn parameters_are_those_with_a_gradient() {
    let vs = nn::VarStore::new(Device::Cpu);
    let model = model(&vs);
    assert_eq!(
        names(&model.named_buffers()),
        [
            "shift",
            "blocks.0.bn.running_mean",
            "blocks.0.bn.running_var",
            "blocks.1.bn.running_mean",
            "blocks.1.bn.running_var",
            "table.0"
        ]
    );
    assert_eq!(model.named_parameters().len(), vs.trainable_variables().len());
}

#[test]
fn modules_are_listed_parents_first() {
    let vs = nn::VarStore::new(Device::Cpu);
    let model = model(&vs);
    let listed: Vec<_> =
        model.named_modules().into_iter().map(|(name, module)| format!("{name}: {}", module.type_name())).collect();
    assert_eq!(
        listed,
        [
            ": Model",
            "stem: Conv2D",
            "blocks: Vec",
            "blocks.0: Block",
            "blocks.0.bn: BatchNorm",
            "blocks.0.downsample: Conv2D",
            "blocks.1: Block",
            "blocks.1.bn: BatchNorm",
            "head: tuple",
            "head.0: Linear",
            "head.1: array",
            "head.1.0: LayerNorm",
            "table: Vec",
            "dropout: Dropout",
        ]
    );
}

#[test]
fn training_reaches_every_leaf() {
    let vs = nn::VarStore::new(Device::Cpu);
    let model = model(&vs);
    let modes_of = |model: &Model| (model.blocks[1].bn.training(), model.dropout.training(), model.stem.training());
    assert_eq!(modes_of(&model), (Some(false), Some(false), None));
    model.train();
    assert_eq!(modes_of(&model), (Some(true), Some(true), None));
    model.eval();
    assert_eq!(modes_of(&model), (Some(false), Some(false), None));
}

#[test]
fn shallow_clones_share_storage_but_not_the_mode() {
    let vs = nn::VarStore::new(Device::Cpu);
    let model = model(&vs);
    let clone = model.shallow_clone().unwrap();
    assert_eq!(clone.stem.ws.data_ptr(), model.stem.ws.data_ptr());
    assert_eq!((clone.num_heads, clone.label.as_str(), &clone.sizes[..]), (4, "label", &[1][..]));
    clone.train();
    assert_eq!(model.dropout.training(), Some(false));
}

#[test]
fn maps_name_their_elements_by_keys() {
    #[derive(Debug, fx_macros::Module)]
    struct Heads {
        sorted: std::collections::BTreeMap<String, nn::Linear>,
        hashed: std::collections::HashMap<&'static str, nn::Linear>,
    }

    let vs = nn::VarStore::new(Device::Cpu);
    let linear =
        |name: &str| nn::linear(vs.root() / name, 2, 2, nn::LinearConfig { bias: false, ..Default::default() });
    let heads = Heads {
        sorted: ["b", "a"].map(|name| (name.to_owned(), linear(name))).into(),
        hashed: ["d", "c", "e"].map(|name| (name, linear(name))).into(),
    };
    let expected = ["sorted.a", "sorted.b", "hashed.c", "hashed.d", "hashed.e"].map(|name| format!("{name}.weight"));
    assert_eq!(names(&heads.named_parameters()), expected);
    assert_eq!(heads.shallow_clone().unwrap().hashed["c"].ws, heads.hashed["c"].ws);
}

#[test]
fn a_field_without_clone_is_named() {
    let generic = Generic { inner: nn::relu(), callback: Box::new(|| ()) as Box<dyn Fn()> };
    assert_eq!(names(&generic.named_modules()), ["", "inner"]);
    (generic.callback)();
    let message = generic.shallow_clone().map(|_| ()).map_err(|error| error.to_string());
    // The bound on `F` is what counts inside a generic impl, so that even a `Clone` closure is refused here.
    assert!(message.as_ref().is_err_and(|text| text.starts_with("`callback` cannot be cloned; ")), "{message:?}");
}

#[test]
fn device_and_kind_are_those_of_the_tensors() {
    let vs = nn::VarStore::new(Device::Cpu);
    let model = model(&vs);
    assert_eq!((model.device(), model.kind()), (Some(Device::Cpu), Some(Kind::Float)));
    assert_eq!((nn::relu().device(), nn::relu().kind()), (None, None));
}
