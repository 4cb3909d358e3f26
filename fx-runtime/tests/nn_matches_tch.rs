//! Every layer that tch has, built and run by the same source text once with `tch::nn` and once with `fx_runtime::nn`.
//!
//! Seeds, drawn parameters, names and outputs must be equal to the bit. The file is a process of its own because
//! libtorch's random generator is one for all threads; a lock keeps the tests of this file apart.

#![allow(
    clippy::default_trait_access,
    clippy::redundant_closure_for_method_calls,
    reason = "written as users of tch write"
)]

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use fx_runtime::{Device, Kind, Tensor, nn::VarStore};

static GENERATOR: Mutex<()> = Mutex::new(());

/// Output and variables of a build-and-run from a fixed seed.
fn from_seed(build_and_run: impl Fn(&tch::nn::Path<'_>) -> Tensor) -> (Tensor, BTreeMap<String, Tensor>) {
    let vs = VarStore::new(Device::Cpu);
    tch::manual_seed(20);
    let output = build_and_run(&vs.root());
    (output, vs.variables().into_iter().collect())
}

fn check(ours: impl Fn(&tch::nn::Path<'_>) -> Tensor, theirs: impl Fn(&tch::nn::Path<'_>) -> Tensor) {
    let _alone = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
    let (output, variables) = from_seed(ours);
    let (expected_output, expected_variables) = from_seed(theirs);
    assert_eq!(variables.keys().collect::<Vec<_>>(), expected_variables.keys().collect::<Vec<_>>());
    for (name, variable) in &variables {
        assert_eq!(variable, &expected_variables[name], "{name}");
        assert_eq!(variable.requires_grad(), expected_variables[name].requires_grad(), "{name}");
    }
    assert_eq!(output.size(), expected_output.size());
    assert_eq!(output, expected_output);
}

/// One test per line: `name: |nn, path| output`.
macro_rules! same_as_tch {
    ($($test:ident: |$nn:ident, $p:ident| $output:expr;)*) => {
        $(
            #[test]
            fn $test() {
                #[allow(unused_imports)]
                fn ours($p: &tch::nn::Path<'_>) -> Tensor {
                    use fx_runtime::nn::{self as $nn, Module as _, ModuleT as _};
                    $output
                }
                #[allow(unused_imports)]
                fn theirs($p: &tch::nn::Path<'_>) -> Tensor {
                    use tch::nn::{self as $nn, Module as _, ModuleT as _};
                    $output
                }
                check(ours, theirs);
            }
        )*
    };
}

fn randn(size: &[i64]) -> Tensor {
    Tensor::randn(size, (Kind::Float, Device::Cpu))
}

same_as_tch! {
    conv1d: |nn, p| nn::conv1d(p / "c", 3, 4, 3, nn::ConvConfig { padding: 1, ..Default::default() }).forward(&randn(&[2, 3, 9]));
    conv2d: |nn, p| nn::conv2d(p / "c", 4, 6, 3, nn::ConvConfig { stride: 2, dilation: 2, groups: 2, ..Default::default() })
        .forward(&randn(&[2, 4, 9, 9]));
    conv2d_unbatched: |nn, p| nn::conv2d(p, 3, 4, 3, nn::no_bias()).forward(&randn(&[3, 9, 9]));
    conv3d: |nn, p| nn::conv3d(p, 2, 3, 2, Default::default()).forward(&randn(&[1, 2, 4, 5, 6]));
    conv_asymmetric: |nn, p| nn::conv(p, 2, 3, [3, 1], nn::ConvConfigND::<[i64; 2]> { padding: [1, 0], ..Default::default() })
        .forward(&randn(&[1, 2, 5, 5]));
    conv_reflect: |nn, p| nn::conv2d(p, 2, 3, 3, nn::ConvConfig {
        padding: 1, padding_mode: nn::PaddingMode::Reflect, ..Default::default()
    }).forward(&randn(&[1, 2, 5, 5]));
    conv_replicate: |nn, p| nn::conv1d(p, 2, 3, 3, nn::ConvConfig {
        padding: 2, padding_mode: nn::PaddingMode::Replicate, ..Default::default()
    }).forward(&randn(&[1, 2, 5]));
    conv_circular: |nn, p| nn::conv3d(p, 1, 2, 3, nn::ConvConfig {
        padding: 1, padding_mode: nn::PaddingMode::Circular, ..Default::default()
    }).forward(&randn(&[1, 1, 4, 5, 6]));
    conv_transpose1d: |nn, p| nn::conv_transpose1d(p, 2, 4, 3, Default::default()).forward(&randn(&[1, 2, 5]));
    conv_transpose2d: |nn, p| nn::conv_transpose2d(p, 4, 6, 3, nn::ConvTransposeConfig {
        stride: 2, padding: 1, output_padding: 1, groups: 2, ..Default::default()
    }).forward(&randn(&[1, 4, 5, 5]));
    conv_transpose3d: |nn, p| nn::conv_transpose3d(p, 2, 1, 2, nn::ConvTransposeConfig { bias: false, ..Default::default() })
        .forward(&randn(&[1, 2, 3, 3, 3]));
    batch_norm1d: |nn, p| nn::batch_norm1d(p / "bn", 3, Default::default()).forward_t(&randn(&[4, 3]), false);
    batch_norm2d_train: |nn, p| {
        let bn = nn::batch_norm2d(p / "bn", 3, nn::BatchNormConfig { eps: 1e-3, momentum: 0.3, ..Default::default() });
        let _ = bn.forward_t(&randn(&[2, 3, 4, 4]), true);
        bn.forward_t(&randn(&[2, 3, 4, 4]), false)
    };
    batch_norm3d: |nn, p| nn::batch_norm3d(p, 2, nn::BatchNormConfig { affine: false, ..Default::default() })
        .forward_t(&randn(&[2, 2, 3, 3, 3]), true);
    linear: |nn, p| nn::linear(p / "fc", 5, 4, Default::default()).forward(&randn(&[2, 3, 5]));
    linear_without_bias: |nn, p| nn::linear(p, 5, 4, nn::LinearConfig { bias: false, ..Default::default() }).forward(&randn(&[5]));
    layer_norm: |nn, p| nn::layer_norm(p / "ln", vec![3, 4], Default::default()).forward(&randn(&[2, 3, 4]));
    layer_norm_plain: |nn, p| nn::layer_norm(p, vec![4], nn::LayerNormConfig { elementwise_affine: false, ..Default::default() })
        .forward(&randn(&[2, 4]));
    group_norm: |nn, p| nn::group_norm(p / "gn", 2, 4, Default::default()).forward(&randn(&[2, 4, 3, 3]));
    embedding: |nn, p| nn::embedding(p / "e", 7, 3, Default::default()).forward(&Tensor::from_slice(&[0_i64, 6, 2]));
    lstm: |nn, p| {
        use nn::RNN as _;
        nn::lstm(p / "lstm", 3, 4, Default::default()).seq(&randn(&[2, 5, 3])).0
    };
    sequential: |nn, p| {
        let net = nn::seq().add(nn::linear(p / "0", 3, 4, Default::default())).add_fn(|xs| xs.relu())
            .add(nn::func(|xs| xs * 2));
        let outputs = net.forward_all(&randn(&[2, 3]), Some(2));
        assert_eq!((net.len(), net.is_empty(), outputs.len()), (3, false, 2));
        net.forward(&outputs[0].narrow(1, 0, 3))
    };
    sequential_t: |nn, p| {
        let net = nn::seq_t().add(nn::conv2d(p / "0", 3, 4, 3, nn::no_bias()))
            .add(nn::batch_norm2d(p / "1", 4, Default::default())).add_fn_t(|xs, train| xs.dropout(0.5, train)).add(nn::Id());
        let xs = randn(&[2, 3, 6, 6]);
        let outputs = net.forward_all_t(&xs, true, None);
        xs.apply_t(&net, false).mean(None) + outputs[3].mean(None)
    };
    empty_sequential: |nn, _p| nn::seq_t().forward_t(&nn::seq().forward(&randn(&[3])), true);
}

/// A model as tch users write them, for either `nn`.
macro_rules! tch_style_model {
    ($module:ident, $krate:ident) => {
        mod $module {
            use tch::Tensor;
            use $krate::nn::{self, FuncT, ModuleT};

            fn conv(p: nn::Path, c_in: i64, c_out: i64, ksize: i64, stride: i64) -> nn::Conv2D {
                let config = nn::ConvConfig { stride, padding: ksize / 2, bias: false, ..Default::default() };
                nn::conv2d(p, c_in, c_out, ksize, config)
            }

            fn downsample(p: nn::Path, c_in: i64, c_out: i64, stride: i64) -> impl ModuleT + use<> {
                if stride != 1 || c_in != c_out {
                    nn::seq_t().add(conv(&p / "0", c_in, c_out, 1, stride)).add(nn::batch_norm2d(
                        &p / "1",
                        c_out,
                        Default::default(),
                    ))
                } else {
                    nn::seq_t()
                }
            }

            fn block(p: nn::Path, c_in: i64, c_out: i64, stride: i64) -> impl ModuleT + use<> {
                let conv1 = conv(&p / "conv1", c_in, c_out, 3, stride);
                let bn1 = nn::batch_norm2d(&p / "bn1", c_out, Default::default());
                let downsample = downsample(&p / "downsample", c_in, c_out, stride);
                nn::func_t(move |xs, train| {
                    let ys = xs.apply(&conv1).apply_t(&bn1, train);
                    (xs.apply_t(&downsample, train) + ys).relu()
                })
            }

            fn resnet(p: &nn::Path) -> FuncT<'static> {
                let stem = conv(p / "conv1", 3, 8, 7, 2);
                let layer =
                    nn::seq_t().add(block(p / "layer1" / "0", 8, 8, 1)).add(block(p / "layer1" / "1", 8, 12, 2));
                let fc = nn::linear(p / "fc", 12, 5, Default::default());
                nn::func_t(move |xs, train| {
                    xs.apply(&stem)
                        .relu()
                        .max_pool2d(3, 2, 1, 1, false)
                        .apply_t(&layer, train)
                        .adaptive_avg_pool2d([1, 1])
                        .flat_view()
                        .dropout(0.5, train)
                        .apply(&fc)
                })
            }

            #[derive(Debug)]
            struct Net {
                fc1: nn::Linear,
                dropout: f64,
                head: Option<nn::Linear>,
            }

            impl nn::ModuleT for Net {
                fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
                    xs.apply(&self.fc1).tanh().dropout(self.dropout, train).apply_opt(&self.head)
                }
            }

            pub(super) fn run(p: &nn::Path) -> Tensor {
                let net = resnet(p);
                let head = Net {
                    fc1: nn::linear(p / "fc1", 5, 5, nn::LinearConfig::default()),
                    dropout: 0.25,
                    head: Some(nn::linear(p / "head", 5, 2, nn::LinearConfig::default())),
                };
                let xs = super::randn(&[2, 3, 32, 32]);
                let _ = xs.apply_t(&net, true);
                net.forward_t(&xs, false).apply_t(&head, true)
            }
        }
    };
}

tch_style_model!(with_tch, tch);
tch_style_model!(with_fx_runtime, fx_runtime);

#[test]
fn a_tch_model_moves_over_by_its_import() {
    check(with_fx_runtime::run, with_tch::run);
}
