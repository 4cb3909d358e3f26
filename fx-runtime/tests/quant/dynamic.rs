//! Dynamically quantized linear layers: PyTorch's integers and results (`reference/dynamic.json`).

use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::instance::Tracer;
use fx_runtime::nn::RNN as _;
use fx_runtime::quant::{
    DynamicGRU, DynamicLSTM, DynamicLinear, ObserverConfig, QConfig, QConfigMapping, WeightFormat, WeightOnlyEmbedding,
    quantize_dynamic, sqnr,
};
use fx_runtime::{Device, Kind, Result, Tensor, nn};
use serde::Deserialize;

use super::{alone, reference, uniform};

#[derive(Deserialize)]
struct Case {
    engine: String,
    weights: String,
    #[serde(rename = "case")]
    index: usize,
    shape: [i64; 3],
    codes: Vec<i64>,
    scale: Vec<f32>,
    y: Vec<f32>,
    tie_y: Vec<f32>,
}

#[expect(clippy::cast_possible_truncation, reason = "the rule rounds to f32")]
fn batch(name: &str, shape: &[i64], amplitude: f32, offset: f32) -> Tensor {
    let count = usize::try_from(shape.iter().product::<i64>()).unwrap_or(0);
    let values: Vec<f32> =
        uniform(name, count).into_iter().map(|u| (2.0 * u - 1.0) as f32 * amplitude + offset).collect();
    Tensor::from_slice(&values).view(shape)
}

impl Case {
    fn is_reduced(&self) -> bool {
        self.engine == "fbgemm"
    }

    fn layer(&self) -> nn::Linear {
        let [_, inputs, outputs] = self.shape;
        let name = |what: &str| format!("dynamic{}.{what}", self.index);
        let bs = (self.index != 1).then(|| batch(&name("bias"), &[outputs], 0.5, 0.0));
        nn::Linear { ws: batch(&name("weight"), &[outputs, inputs], 0.3, 0.0), bs }
    }

    fn qconfig(&self) -> QConfig {
        let QConfig { activation, weight } = QConfig::dynamic();
        let activation = activation.reduce_range(self.is_reduced());
        QConfig { activation, weight: if self.weights == "per_tensor" { QConfig::weight() } else { weight } }
    }

    /// Values halfway between two integers, with an odd zero point.
    #[expect(clippy::cast_possible_truncation, reason = "the rule rounds down")]
    fn ties(&self) -> Tensor {
        let [rows, inputs, _] = self.shape;
        let last = if self.is_reduced() { 127f32 } else { 255f32 };
        let count = usize::try_from(rows * inputs).unwrap_or(0);
        let value = |u: f64| ((u * f64::from(last - 1.0)).floor() as f32 - 31.0) * 0.5 + 0.25;
        let mut values: Vec<f32> =
            uniform(&format!("dynamic{}.ties", self.index), count).into_iter().map(value).collect();
        (values[0], values[1]) = (-15.5, (last - 31.0) / 2.0);
        Tensor::from_slice(&values).view([rows, inputs])
    }

    /// fbgemm multiplies by both scales in another order than qnnpack, which rounds the last places otherwise.
    fn check(&self, what: &str, found: &Tensor, wanted: &[f32]) {
        let wanted = Tensor::from_slice(wanted).view_as(found);
        let off = (found - &wanted).abs().max().double_value(&[]) / wanted.abs().max().double_value(&[]);
        let allowed = if self.is_reduced() { 3e-7 } else { 0.0 };
        assert!(off <= allowed, "{} {} {:?} {what}: {off:e}", self.engine, self.weights, self.shape);
    }
}

fn list(tensor: &Tensor) -> Vec<f32> {
    Vec::try_from(tensor.flatten(0, -1)).expect("numbers")
}

#[test]
fn numbers_are_pytorchs() -> Result<()> {
    let _alone = alone();
    let cases: Vec<Case> = serde_json::from_value(reference("dynamic.json")).expect("cases");
    assert_eq!(cases.len(), 12);
    for case in &cases {
        let [rows, inputs, _] = case.shape;
        let layer = DynamicLinear::new(&case.layer(), &case.qconfig())?;
        let codes = Tensor::from_slice(&case.codes).view([-1, inputs]).to_kind(Kind::Float);
        let weight = codes * Tensor::from_slice(&case.scale).view([-1, 1]);
        assert_eq!(list(&layer.weight()?), list(&weight));
        let xs = batch(&format!("dynamic{}.x", case.index), &[rows, inputs], 2.0, 0.3);
        case.check("y", &layer.forward(&xs)?, &case.y);
        case.check("ties", &layer.forward(&case.ties())?, &case.tie_y);
    }
    Ok(())
}

fn layer() -> nn::Linear {
    nn::Linear { ws: batch("layer.weight", &[6, 20], 1.0, 0.0), bs: Some(batch("layer.bias", &[6], 1.0, 0.0)) }
}

/// With parameters for each token a row has the numbers that it has by itself.
#[test]
fn tokens_are_quantized_by_themselves() -> Result<()> {
    let _alone = alone();
    let layer = layer();
    let (whole, token) = (QConfig::dynamic(), QConfig::dynamic_per_token());
    let (whole, token) = (DynamicLinear::new(&layer, &whole)?, DynamicLinear::new(&layer, &token)?);
    // Rows of sizes apart by a factor of a thousand, of which one scale knows the largest alone.
    let sizes = Tensor::from_slice(&[0.001f32, 1.0, 0.03]).view([3, 1]);
    let xs = batch("tokens", &[2, 3, 20], 1.0, 0.2) * sizes;
    let found = token.forward(&xs)?;
    assert_eq!(found.size(), [2, 3, 6]);
    for row in 0..6 {
        let alone = whole.forward(&xs.view([6, 20]).narrow(0, row, 1))?;
        assert_eq!(list(&found.view([6, 6]).narrow(0, row, 1)), list(&alone));
    }
    let exact = xs.apply(&layer);
    let small = |ys: &Tensor| (ys - &exact).narrow(1, 0, 1).abs().max().double_value(&[]);
    assert!(small(&found) * 20.0 < small(&whole.forward(&xs)?));
    Ok(())
}

#[test]
fn other_dtypes_no_rows_and_faults() -> Result<()> {
    let _alone = alone();
    let quantized = DynamicLinear::new(&layer(), &QConfig::dynamic())?;
    let xs = batch("dtypes", &[3, 20], 1.0, 0.0);
    let half = quantized.forward(&xs.to_kind(Kind::BFloat16))?;
    assert_eq!(half.kind(), Kind::BFloat16);
    assert_eq!(quantized.forward(&xs.narrow(0, 0, 0))?.size(), [0, 6]);
    let nan = quantized.forward(&(&xs / 0.0)).expect_err("infinite").to_string();
    assert_eq!(nan, "quantization of `a dynamic layer`: its input reaches from -inf to inf; it has to be finite");
    assert!(quantized.forward(&xs.narrow(1, 0, 19)).is_err());
    let refused = |qconfig: &QConfig| DynamicLinear::new(&layer(), qconfig).expect_err("a refusal").to_string();
    let message = refused(&QConfig::with_activation(ObserverConfig::histogram()));
    assert!(
        message.contains("its activation is a HistogramObserver of quint8; take `QConfig::dynamic()`"),
        "{message}"
    );
    let message = refused(&QConfig { weight: ObserverConfig::per_channel_min_max(0), ..QConfig::dynamic() });
    assert!(message.contains("its weight is quint8 per_channel_affine; take a symmetric qint8 one"), "{message}");
    Ok(())
}

/// Two linear layers around an activation.
fn net() -> Result<GraphModule> {
    let mut t = Tracer::new("net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.module("fc1", &layer(), &[&xs], 1);
    let ys = t.call("relu", &[&ys], 2);
    let fc2 = nn::Linear { ws: batch("fc2.weight", &[4, 6], 1.0, 0.0), bs: None };
    let ys = t.module("fc2", &fc2, &[&ys], 3);
    t.finish(&[&ys])
}

#[test]
fn linear_layers_of_a_graph_are_replaced() -> Result<()> {
    let _alone = alone();
    let net = net()?;
    let xs = batch("net", &[3, 20], 1.0, 0.0);
    let run = |net: &GraphModule| -> Result<Tensor> {
        let Value::Tensor(ys) = net.run(&[value(&xs)])? else { panic!("one tensor") };
        Ok(ys.shallow_clone())
    };
    let quantized = quantize_dynamic(&net, &QConfigMapping::new().object_type("Linear", QConfig::dynamic()))?;
    let hidden = DynamicLinear::new(&layer(), &QConfig::dynamic())?.forward(&xs)?.relu();
    let fc2 = nn::Linear { ws: batch("fc2.weight", &[4, 6], 1.0, 0.0), bs: None };
    let wanted = DynamicLinear::new(&fc2, &QConfig::dynamic())?.forward(&hidden)?;
    assert_eq!(list(&run(&quantized)?), list(&wanted));
    let one = QConfigMapping::new().global(QConfig::dynamic()).module_name("fc1", None);
    assert_eq!(list(&run(&quantize_dynamic(&net, &one)?)?), {
        let hidden = xs.apply(&layer()).relu();
        list(&DynamicLinear::new(&fc2, &QConfig::dynamic())?.forward(&hidden)?)
    });
    let message = quantize_dynamic(&net, &one.module_name("fc3", None)).expect_err("no such layer").to_string();
    assert!(message.contains("`fc3`: the model has no such module"), "{message}");
    Ok(())
}

/// Layers and directions of both kinds, with and without biases, from zeros and from a state.
#[test]
fn recurrent_layers() -> Result<()> {
    let _alone = alone();
    let _no_grad = tch::no_grad_guard();
    for (case, bidirectional, has_biases, batch_first) in
        [(0, false, true, true), (1, true, true, false), (2, true, false, true)]
    {
        tch::manual_seed(case);
        let vs = nn::VarStore::new(Device::Cpu);
        let config = nn::RNNConfig { num_layers: 2, bidirectional, has_biases, batch_first, ..Default::default() };
        let xs = Tensor::randn(if batch_first { [3, 7, 20] } else { [7, 3, 20] }, (Kind::Float, Device::Cpu));
        let begin = Tensor::randn([if bidirectional { 4 } else { 2 }, 3, 24], (Kind::Float, Device::Cpu)) * 0.3;
        let close = |found: &Tensor, exact: &Tensor, what: &str| -> Result<()> {
            assert_eq!(found.size(), exact.size(), "{what}");
            let decibels = sqnr(exact, found)?;
            assert!(decibels > 25.0 && decibels.is_finite(), "{what} of case {case}: {decibels} dB");
            Ok(())
        };
        let lstm = nn::lstm(vs.root() / "lstm", 20, 24, config);
        let quantized = DynamicLSTM::new(&lstm, &QConfig::dynamic())?;
        let state = nn::LSTMState((begin.shallow_clone(), &begin * 0.5));
        let (ys, end) = quantized.seq_init(&xs, &state)?;
        let (exact, exact_end) = lstm.seq_init(&xs, &state);
        close(&ys, &exact, "lstm")?;
        close(&end.0.0, &exact_end.0.0, "h")?;
        close(&end.0.1, &exact_end.0.1, "c")?;
        // tch begins a sequence with zeros for as many as the first axis has, whatever the configuration.
        close(&quantized.seq(&xs)?.0, &lstm.seq_init(&xs, &lstm.zero_state(3)).0, "lstm from zeros")?;
        let gru = nn::gru(vs.root() / "gru", 20, 24, config);
        let quantized = DynamicGRU::new(&gru, &QConfig::dynamic_per_token())?;
        let state = nn::GRUState(begin);
        let (ys, end) = quantized.seq_init(&xs, &state)?;
        let (exact, exact_end) = gru.seq_init(&xs, &state);
        close(&ys, &exact, "gru")?;
        close(&end.0, &exact_end.0, "h")?;
        close(&quantized.seq(&xs)?.0, &gru.seq_init(&xs, &gru.zero_state(3)).0, "gru from zeros")?;
        let wrong = quantized.seq(&xs.narrow(2, 0, 19)).expect_err("19 inputs").to_string();
        assert!(wrong.contains("20], got"), "{wrong}");
        let nan = quantized.seq(&(&xs / 0.0)).expect_err("infinite").to_string();
        assert!(nan.contains("it has to be finite"), "{nan}");
    }
    Ok(())
}

/// One step of one layer is its two dynamic linear layers and the cell.
#[test]
fn a_step_is_two_dynamic_linear_layers() -> Result<()> {
    let _alone = alone();
    let _no_grad = tch::no_grad_guard();
    tch::manual_seed(5);
    let vs = nn::VarStore::new(Device::Cpu);
    let lstm = nn::lstm(vs.root(), 20, 8, nn::RNNConfig::default());
    let [of_input, of_state, input_bias, state_bias] = &lstm.weights[..] else { panic!("four weights") };
    let dynamic = |ws: &Tensor, bs: &Tensor| {
        DynamicLinear::new(&nn::Linear { ws: ws.shallow_clone(), bs: Some(bs.shallow_clone()) }, &QConfig::dynamic())
    };
    let xs = Tensor::randn([3, 1, 20], (Kind::Float, Device::Cpu));
    let [hidden, memory] = [1.0, 2.0].map(|size| Tensor::randn([1, 3, 8], (Kind::Float, Device::Cpu)) * size);
    let gates = dynamic(of_state, state_bias)?.forward(&hidden.select(0, 0))?
        + dynamic(of_input, input_bias)?.forward(&xs.select(1, 0))?;
    let [input, forget, new, output] = &gates.chunk(4, -1)[..] else { panic!("four gates") };
    let cell = forget.sigmoid() * memory.select(0, 0) + input.sigmoid() * new.tanh();
    let wanted = output.sigmoid() * cell.tanh();
    let quantized = DynamicLSTM::new(&lstm, &QConfig::dynamic())?;
    let (ys, _) = quantized.seq_init(&xs, &nn::LSTMState((hidden, memory)))?;
    assert!(ys.select(1, 0).allclose(&wanted, 1e-6, 1e-6, false));
    Ok(())
}

#[test]
fn recurrent_layers_of_a_graph_are_replaced() -> Result<()> {
    let _alone = alone();
    let _no_grad = tch::no_grad_guard();
    let vs = nn::VarStore::new(Device::Cpu);
    let gru = nn::gru(vs.root() / "gru", 20, 12, nn::RNNConfig::default());
    let mut t = Tracer::new("net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.recurrent("gru", &gru, "(tensor, ?)", &[&xs], 1);
    let net = t.finish(&[&ys])?;
    let quantized = quantize_dynamic(&net, &QConfigMapping::new().object_type("GRU", QConfig::dynamic()))?;
    let xs = Tensor::randn([2, 4, 20], (Kind::Float, Device::Cpu));
    let run = |net: &GraphModule| -> Result<Tensor> {
        let Value::Tuple(parts) = net.run(&[value(&xs)])? else { panic!("a result and a state") };
        let Value::Tensor(ys) = &parts[0] else { panic!("a tensor") };
        Ok(ys.shallow_clone())
    };
    assert_eq!(run(&quantized)?, DynamicGRU::new(&gru, &QConfig::dynamic())?.seq(&xs)?.0);
    assert_ne!(run(&quantized)?, run(&net)?);
    let frozen = quantized.freeze(&fx_runtime::Freeze::new())?;
    assert!(matches!(frozen.run(&[value(&xs)])?, Value::Tuple(_)));
    Ok(())
}

/// A graph that is frozen with weights of eight bits has the tables of its embeddings so, as a frozen type has.
#[test]
fn tables_of_a_frozen_graph_are_integers() -> Result<()> {
    let _alone = alone();
    let _no_grad = tch::no_grad_guard();
    let vs = nn::VarStore::new(Device::Cpu);
    let table = nn::embedding(vs.root() / "table", 1000, 128, nn::EmbeddingConfig::default());
    let mut t = Tracer::new("net");
    let ids = t.input("ids", true);
    let ys = t.module("table", &table, &[&ids], 0);
    let net = t.finish(&[&ys])?;
    let frozen = net.freeze(&fx_runtime::Freeze::new().quantize_weights(WeightFormat::Int8))?;
    let ids = Tensor::from_slice(&[3_i64, 7, 999]);
    let Value::Tensor(found) = frozen.run(&[value(&ids)])? else { panic!("a tensor") };
    assert_eq!(*found, WeightOnlyEmbedding::new(&table, WeightFormat::Int8)?.forward(&ids)?);
    assert_ne!(*found, table.forward(&ids));
    frozen.shared()?;
    Ok(())
}
