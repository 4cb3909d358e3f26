//! The graphs of the live models, frozen at run time: the numbers of the generated frozen types.

use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::{Freeze, Tensor};
use resnet18::{Error, ResNet18, weights};
use zoo::reference::{check, model};
use zoo::{BertModel, Gpt2, MobileNetV2, ResNet50, VitB16};

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
