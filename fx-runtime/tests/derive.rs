//! `#[derive(Module)]` as a user meets it, against what the runtime expects of it.

use fx_runtime::{Device, Module, Tensor, nn};

#[derive(Debug, Module)]
struct Head {
    #[module(name = "classifier.0")]
    fc: nn::Linear,
    #[module(buffer)]
    mean: Tensor,
    scale: Option<Tensor>,
    #[module(skip)]
    cache: Option<Tensor>,
    classes: i64,
}

impl nn::Module for Head {
    fn forward(&self, xs: &Tensor) -> Tensor {
        self.fc.forward(&(xs - &self.mean)) * self.classes
    }
}

#[derive(Debug, Module)]
struct Twice<M> {
    layers: [M; 2],
    name: &'static str,
}

fn head(p: &nn::Path<'_>) -> Head {
    Head {
        fc: nn::linear(p / "classifier" / 0, 2, 3, nn::LinearConfig::default()),
        mean: p.ones("mean", &[2]),
        scale: Some(p.ones("scale", &[1])),
        cache: Some(p.zeros_no_train("cache", &[1])),
        classes: 3,
    }
}

fn names<T>(named: &[(String, T)]) -> Vec<&str> {
    named.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn attributes_name_and_sort_the_fields() {
    let vs = nn::VarStore::new(Device::Cpu);
    let head = head(&vs.root());
    assert_eq!(names(&head.state_dict()), ["scale", "mean", "classifier.0.weight", "classifier.0.bias"]);
    assert_eq!(names(&head.named_buffers()), ["mean"]);
    let clone = head.shallow_clone().unwrap();
    assert_eq!((clone.classes, clone.cache.is_some()), (3, true));
}

#[test]
fn generic_structs_have_children_too() {
    let twice = Twice { layers: [nn::dropout(0.1), nn::dropout(0.2)], name: "twice" };
    let clone = twice.shallow_clone().unwrap();
    assert_eq!(names(&clone.named_modules()), ["", "layers", "layers.0", "layers.1"]);
    twice.train();
    assert_eq!((twice.layers[1].training(), clone.name), (Some(true), "twice"));
}

#[test]
fn a_derived_module_is_seen_inside_a_sequential() {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = nn::seq().add(head(&(vs.root() / 0)));
    assert_eq!(names(&net.state_dict()), ["0.scale", "0.mean", "0.classifier.0.weight", "0.classifier.0.bias"]);
}

#[derive(Debug, Module)]
enum Proj {
    Dropout(nn::Dropout),
    Pair(nn::Linear, Option<nn::Linear>),
    Nested(Box<Proj>),
    Named { fc: nn::Linear, scale: i64 },
    Nothing,
}

#[derive(Debug, Module)]
struct Projected {
    proj: Proj,
    all: Vec<Proj>,
}

#[test]
fn an_enum_is_the_variant_that_it_is() {
    let vs = nn::VarStore::new(Device::Cpu);
    let linear = |bias| nn::linear(vs.root(), 2, 3, nn::LinearConfig { bias, ..nn::LinearConfig::default() });
    let all = vec![
        Proj::Pair(linear(false), Some(linear(false))),
        Proj::Named { fc: linear(false), scale: 2 },
        Proj::Nothing,
        Proj::Nested(Box::new(Proj::Dropout(nn::dropout(0.1)))),
    ];
    let net = Projected { proj: Proj::Nested(Box::new(Proj::Pair(linear(true), None))), all };
    let clone = net.shallow_clone().unwrap();
    let tensors = ["proj.0.weight", "proj.0.bias", "all.0.0.weight", "all.0.1.weight", "all.1.fc.weight"];
    assert_eq!((names(&net.state_dict()), names(&clone.state_dict())), (tensors.to_vec(), tensors.to_vec()));
    assert!(matches!(&clone.all[1], Proj::Named { scale, .. } if *scale == 2), "{clone:?}");
    net.train();
    let Proj::Nested(inner) = &net.all[3] else { panic!("{net:?}") };
    assert!(matches!(&**inner, Proj::Dropout(dropout) if dropout.training() == Some(true)), "{net:?}");
}
