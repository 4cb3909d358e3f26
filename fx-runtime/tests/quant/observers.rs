//! The 960 cases of `reference/observers.json`: each observer on the batches that PyTorch's saw.

use fx_runtime::quant::{DType, ObserverConfig, QParams, QScheme, Statistic, ZeroPoint};
use fx_runtime::{Result, Tensor};
use serde::Deserialize;

use super::{reference, uniform};

/// One case; `reference/README.md` says what its fields mean.
#[derive(Deserialize)]
struct Case {
    #[serde(rename = "case")]
    index: usize,
    observer: String,
    args: Args,
    shape: Vec<i64>,
    batches: u16,
    amplitude: f32,
    growth: f64,
    offset: f32,
    scale: Vec<f32>,
    zero_point: ZeroPoint,
}

#[derive(Deserialize)]
struct Args {
    dtype: DType,
    qscheme: Scheme,
    #[serde(default)]
    reduce_range: bool,
    quant_min: Option<i64>,
    quant_max: Option<i64>,
    eps: Option<f32>,
    averaging_constant: Option<f64>,
    #[serde(default)]
    ch_axis: i64,
}

/// PyTorch spells a scheme of ours otherwise than serde would.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::enum_variant_names, reason = "PyTorch's names")]
enum Scheme {
    PerTensorAffine,
    PerTensorSymmetric,
    PerChannelAffine,
    PerChannelSymmetric,
    PerChannelAffineFloatQparams,
}

impl Case {
    fn config(&self) -> ObserverConfig {
        let (ch_axis, averaging_constant) = (self.args.ch_axis, self.args.averaging_constant.unwrap_or(0.01));
        let statistic = match self.observer.as_str() {
            "MinMaxObserver" => Statistic::MinMax,
            "MovingAverageMinMaxObserver" => Statistic::MovingAverageMinMax { averaging_constant },
            "PerChannelMinMaxObserver" => Statistic::PerChannelMinMax { ch_axis },
            "MovingAveragePerChannelMinMaxObserver" => {
                Statistic::MovingAveragePerChannelMinMax { averaging_constant, ch_axis }
            }
            "HistogramObserver" => Statistic::Histogram { bins: 2048 },
            other => panic!("no observer `{other}`"),
        };
        let scheme = match self.args.qscheme {
            Scheme::PerTensorAffine => QScheme::PerTensorAffine,
            Scheme::PerTensorSymmetric => QScheme::PerTensorSymmetric,
            Scheme::PerChannelAffine => QScheme::PerChannelAffine,
            Scheme::PerChannelSymmetric => QScheme::PerChannelSymmetric,
            Scheme::PerChannelAffineFloatQparams => QScheme::PerChannelAffineFloatQParams,
        };
        let config = ObserverConfig::new(statistic).dtype(self.args.dtype).qscheme(scheme);
        let config = config.reduce_range(self.args.reduce_range).eps(self.args.eps.unwrap_or(f32::EPSILON));
        match (self.args.quant_min, self.args.quant_max) {
            (Some(low), Some(high)) => config.quant_range(low, high),
            _ => config,
        }
    }

    /// Batch `k`: `(2u - 1) * amplitude * (1 + growth * k) + offset`, each of the three rounded to `f32` first.
    #[expect(clippy::cast_possible_truncation, reason = "the rule rounds to f32")]
    fn batch(&self, k: u16) -> Tensor {
        let count = usize::try_from(self.shape.iter().product::<i64>()).unwrap_or(0);
        let amplitude = (f64::from(self.amplitude) * (1.0 + self.growth * f64::from(k))) as f32;
        let value = |u: f64| (2.0 * u - 1.0) as f32 * amplitude + self.offset;
        let values: Vec<f32> = uniform(&format!("obs{}.{k}", self.index), count).into_iter().map(value).collect();
        Tensor::from_slice(&values).view(self.shape.as_slice())
    }
}

#[test]
fn all_cases_are_pytorchs_bit_for_bit() -> Result<()> {
    let cases: Vec<Case> = serde_json::from_value(reference("observers.json")).expect("cases");
    assert_eq!(cases.len(), 960);
    let mut wrong = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let mut observer = case.config().build()?;
        assert_eq!(observer.name(), case.observer);
        for k in 0..case.batches {
            observer.observe(&case.batch(k))?;
        }
        let found = observer.calculate_qparams()?;
        let bits = |scale: &[f32]| scale.iter().map(|scale| scale.to_bits()).collect::<Vec<_>>();
        let same_zero = match (&found.zero_point, &case.zero_point) {
            (ZeroPoint::Float(found), ZeroPoint::Float(wanted)) => bits(found) == bits(wanted),
            (ZeroPoint::Int(found), ZeroPoint::Int(wanted)) => found == wanted,
            _ => false,
        };
        if bits(&found.scale) != bits(&case.scale) || !same_zero {
            wrong.push(format!("{at}: {} {:?}", case.observer, case.shape));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    Ok(())
}

fn observed(config: &ObserverConfig, batches: &[&[f32]]) -> Result<QParams> {
    let mut observer = config.build()?;
    batches.iter().try_for_each(|batch| observer.observe(&Tensor::from_slice(batch)))?;
    observer.calculate_qparams()
}

fn refusal(config: &ObserverConfig, batches: &[&[f32]]) -> String {
    observed(config, batches).expect_err("a refusal").to_string()
}

#[test]
fn faults_of_the_data_are_errors() {
    for config in [ObserverConfig::min_max(), ObserverConfig::histogram(), ObserverConfig::moving_average_min_max()] {
        let name = config.name();
        let unseen = refusal(&config, &[&[]]);
        assert!(unseen.contains(name) && unseen.contains("has seen no value"), "{unseen}");
        assert_eq!(
            refusal(&config, &[&[1.0, f32::NAN]]),
            format!("quantization of `{name}`: the observed value holds NaN")
        );
    }
    let infinite = refusal(&ObserverConfig::min_max(), &[&[1.0, f32::INFINITY]]);
    assert!(infinite.contains("reach from 1 to inf"), "{infinite}");
}

#[test]
fn a_histogram_ignores_infinite_values() -> Result<()> {
    let config = ObserverConfig::histogram();
    let with = observed(&config, &[&[-1.0, f32::INFINITY, 1.0], &[f32::NEG_INFINITY]])?;
    assert_eq!(with, observed(&config, &[&[-1.0, 1.0]])?);
    Ok(())
}

/// The scale of a constant is its distance from zero over the steps; PyTorch's documentation says 1 and is wrong.
#[test]
fn constants() -> Result<()> {
    for config in [ObserverConfig::min_max(), ObserverConfig::histogram()] {
        let two = observed(&config, &[&[2.0, 2.0]])?;
        assert_eq!((two.scale[0] * 255.0, two.zero_point), (2.0, ZeroPoint::Int(vec![0])), "{}", config.name());
        assert_eq!(observed(&config, &[&[0.0]])?.scale, [f32::EPSILON]);
    }
    Ok(())
}

#[test]
fn percentile_and_mse_cut_outliers_off() -> Result<()> {
    let mut values: Vec<f32> = (0..10_000u16).map(|at| f32::from(at % 100) / 100.0).collect();
    values.push(10.0);
    let scale = |config: ObserverConfig| Ok(observed(&config.quant_range(0, 15), &[&values])?.scale[0]) as Result<f32>;
    let whole = scale(ObserverConfig::min_max())?;
    assert_eq!(scale(ObserverConfig::percentile(100.0))?.to_bits(), whole.to_bits());
    for config in [ObserverConfig::percentile(99.9), ObserverConfig::mse()] {
        let name = config.name();
        let cut = scale(config)?;
        assert!(cut < whole / 2.0, "{name}: {cut} of {whole}");
    }
    Ok(())
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |config: ObserverConfig| config.build().expect_err("a refusal").to_string();
    assert!(refused(ObserverConfig::min_max().quant_range(1, 4)).contains("has no zero"));
    assert!(refused(ObserverConfig::min_max().quant_range(0, 300)).contains("wider than the dtype"));
    assert!(refused(ObserverConfig::min_max().qscheme(QScheme::PerChannelAffine)).contains("does not go with"));
    let reuse = ObserverConfig::reuse_input().build().and_then(|observer| observer.calculate_qparams());
    assert!(reuse.is_err_and(|error| error.to_string().contains("the observer of its input")));
}
