//! The graphs of the live models, frozen at run time: the numbers of the generated frozen types.

use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::{Freeze, Tensor};
use resnet18::{Error, ResNet18, weights};
use zoo::reference::{check, model};
use zoo::tagger::PADDING;
use zoo::{BertModel, Gpt2, MobileNetV2, ResNet50, Tagger, VitB16};

fn frozen(graph: &GraphModule, inputs: &[Value]) -> Result<Tensor, Error> {
    let frozen = graph.freeze(&Freeze::default())?;
    match frozen.run(inputs)? {
        Value::Tensor(ys) => Ok(ys.shallow_clone()),
        Value::Tuple(parts) => match &parts[0] {
            Value::Tensor(ys) => Ok(ys.shallow_clone()),
            other => panic!("{other} in place of a tensor"),
        },
        other => panic!("{other} in place of a tensor"),
    }
}

#[test]
fn resnet18() -> Result<(), Error> {
    let (xs, net) = (weights::input(2, 224), model(|p| ResNet18::new(p, 1000)));
    let wanted = net.freeze(&Freeze::default())?.try_forward(&xs)?;
    check("frozen graph", &frozen(&net.graph_module()?, &[value(&xs)])?, &wanted)
}

macro_rules! vision {
    ($($name:ident: $model:ty;)+) => {
        $(#[test]
        fn $name() -> Result<(), Error> {
            let (xs, net) = (weights::input(2, 224), model(|p| <$model>::new(p, 1000)));
            let wanted = net.freeze(&Freeze::default())?.try_forward_t(&xs, false)?;
            check("frozen graph", &frozen(&net.graph_module()?, &[value(&xs)])?, &wanted)
        })+
    };
}

vision! {
    resnet50: ResNet50;
    mobilenet_v2: MobileNetV2;
    vit_b_16: VitB16;
}

#[test]
fn bert_base() -> Result<(), Error> {
    let ids = weights::tokens(2, 128, BertModel::VOCABULARY);
    let mask = ids.ones_like();
    let _ = mask.select(0, 1).narrow(0, 100, 28).fill_(0);
    let net = model(BertModel::new);
    let generated = net.freeze(&Freeze::default())?;
    let graph = net.graph_module()?;
    for mask in [Some(&mask), None] {
        let (wanted, _) = generated.try_forward_t(&ids, mask, None, false)?;
        let inputs = [value(&ids), value(mask), value(None::<&Tensor>)];
        check("frozen graph", &frozen(&graph, &inputs)?, &wanted)?;
    }
    Ok(())
}

#[test]
fn gpt2() -> Result<(), Error> {
    let (ids, net) = (weights::tokens(2, 64, Gpt2::VOCABULARY), model(Gpt2::new));
    let wanted = net.freeze(&Freeze::default())?.try_forward_t(&ids, false)?;
    check("frozen graph", &frozen(&net.graph_module()?, &[value(&ids)])?, &wanted)
}

/// A loop that ends where the longest sentence does, which an input decides.
#[test]
fn tagger() -> Result<(), Error> {
    let words = weights::tokens(2, 24, 999) + 1;
    let _ = words.narrow(1, 20, 4).fill_(PADDING);
    let net = model(|p| Tagger::new(p, 1000, 128, 17));
    let wanted = net.freeze(&Freeze::default())?.try_forward(&words)?;
    assert_eq!(wanted.size(), [2, 20, 17]);
    check("frozen graph", &frozen(&net.graph_module()?, &[value(&words)])?, &wanted)
}
