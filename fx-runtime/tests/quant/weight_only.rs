//! Linear layers and embeddings whose weights alone are integers.

use fx_runtime::quant::{
    DType, ObserverConfig, QScheme, Statistic, WeightFormat, WeightOnlyEmbedding, WeightOnlyLinear, sqnr,
};
use fx_runtime::{Device, Kind, Result, Tensor, nn};

use super::alone;

fn layer() -> nn::Linear {
    tch::manual_seed(3);
    let vs = nn::VarStore::new(Device::Cpu);
    nn::linear(vs.root(), 128, 64, nn::LinearConfig::default())
}

#[test]
fn integers_are_near_the_weight_and_small() -> Result<()> {
    let _alone = alone();
    let layer = layer();
    let whole = layer.ws.numel() * 4;
    for (format, decibels, share) in [
        (WeightFormat::Int8, 40.0, 0.27),
        (WeightFormat::Int4 { group: 32 }, 20.0, 0.20),
        (WeightFormat::Int4 { group: 128 }, 18.0, 0.15),
        (WeightFormat::F16, 70.0, 0.51),
        (WeightFormat::Bf16, 50.0, 0.51),
        (WeightFormat::Float8, 30.0, 0.27),
    ] {
        let quantized = WeightOnlyLinear::new(&layer, format)?;
        let found = sqnr(&layer.ws, &quantized.weight()?)?;
        assert!(found > decibels, "{format:?}: {found} dB");
        #[expect(clippy::cast_precision_loss, reason = "bytes of a small layer")]
        let found = quantized.bytes() as f64 / whole as f64;
        assert!(found < share, "{format:?}: {found} of the bytes");
    }
    Ok(())
}

/// The kernel computes what the dequantized weight does.
#[test]
fn the_kernel_is_the_dequantized_layer() -> Result<()> {
    let _alone = alone();
    let layer = layer();
    let formats = [WeightFormat::Int8, WeightFormat::Int4 { group: 64 }, WeightFormat::F16, WeightFormat::Bf16];
    for format in formats.into_iter().chain([WeightFormat::Float8]) {
        let quantized = WeightOnlyLinear::new(&layer, format)?;
        let xs = Tensor::randn([2, 5, 128], (Kind::Float, Device::Cpu));
        let (found, wanted) = tch::no_grad(|| {
            let weight = quantized.weight()?;
            Ok::<_, fx_runtime::Error>((quantized.forward(&xs)?, xs.f_linear(&weight, layer.bs.as_ref())?))
        })?;
        assert_eq!(found.size(), [2, 5, 64]);
        let off = (&found - &wanted).abs().max().double_value(&[]);
        assert!(off < 1e-5, "{format:?}: {off}");
    }
    Ok(())
}

#[test]
fn groups_have_to_fit() {
    let _alone = alone();
    let message = WeightOnlyLinear::new(&layer(), WeightFormat::Int4 { group: 48 }).expect_err("a refusal").to_string();
    assert_eq!(message, "quantization of `weight`: 128 inputs do not fall into groups of 48, which has to be even");
}

/// A table of integers yields the vectors that its numbers stand for, whatever the shape of the indices.
#[test]
fn embeddings() -> Result<()> {
    let _alone = alone();
    let vs = nn::VarStore::new(Device::Cpu);
    let table = nn::embedding(vs.root(), 40, 64, nn::EmbeddingConfig::default());
    for (format, decibels) in [
        (WeightFormat::Int8, 40.0),
        (WeightFormat::Int4 { group: 64 }, 17.0),
        (WeightFormat::Int4 { group: 16 }, 20.0),
        (WeightFormat::Float8, 30.0),
    ] {
        let quantized = WeightOnlyEmbedding::new(&table, format)?;
        let found = sqnr(&table.ws, &quantized.weight()?)?;
        assert!(found > decibels, "{format}: {found} dB");
        let ids = Tensor::from_slice(&[3i64, 39, 0, 3, 17, 8]).view([2, 3]);
        let ys = quantized.forward(&ids)?;
        assert_eq!(ys, Tensor::f_embedding(&quantized.weight()?, &ids, -1, false, false)?, "{format}");
        assert!(quantized.forward(&Tensor::from_slice(&[40i64])).is_err());
    }
    // Each vector is a channel of its own, as with `float_qparams_weight_only_qconfig_4bit`.
    let of = ObserverConfig::new(Statistic::PerChannelMinMax { ch_axis: 0 })
        .dtype(DType::QUInt4x2)
        .qscheme(QScheme::PerChannelAffineFloatQParams);
    let mut observer = of.build()?;
    let weight = table.ws.detach();
    observer.observe(&weight)?;
    let qparams = observer.calculate_qparams()?;
    let wanted = qparams.dequantize(&qparams.quantize(&weight)?)?;
    let found = WeightOnlyEmbedding::new(&table, WeightFormat::Int4 { group: 64 })?.weight()?;
    assert_eq!(found, wanted);
    Ok(())
}

#[test]
fn what_f16_does_not_hold_is_refused() {
    let _alone = alone();
    let mut layer = layer();
    layer.ws = tch::no_grad(|| &layer.ws * 1e7);
    let message = WeightOnlyLinear::new(&layer, WeightFormat::F16).expect_err("a refusal").to_string();
    assert!(message.contains("which f16 weights do not hold"), "{message}");
    assert!(WeightOnlyLinear::new(&layer, WeightFormat::Bf16).is_ok());
}
