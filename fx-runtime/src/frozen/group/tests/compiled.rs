//! The kernels of groups by CUDA's own compiler, which needs no GPU: it has nothing to say about them, keeps what they
//! compute with in registers, and finds their loads of 16 bytes.

use super::rows::{AddNorm, Bare, Centred, Gated, Largest, Masked, Scores, Sums, Twice};
use super::*;
use crate::ffi::nvrtc::{Nvrtc, nvrtc_or_skip};
use crate::ffi::pointwise::device::rows::RowCase;

groups! {
    Extremes<1, 1, 2> -> (Tensor, Tensor) = |[x], [n]| {
        let x = x.clamp_max(f64::INFINITY).clamp_min(f64::NEG_INFINITY) * f64::MAX + 1e-300;
        [x.clone() * n - i64::MAX, x + f64::NAN]
    };
}

/// How the inputs lie: as the results do; the same, but for where they begin; otherwise, or broadcast.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Lie {
    Alike,
    Apart,
    Otherwise,
}

const ALL: [Lie; 3] = [Lie::Alike, Lie::Apart, Lie::Otherwise];
const KINDS: [Kind; 4] = [Kind::Float, Kind::Half, Kind::BFloat16, Kind::Double];

/// Inputs of a shape that lie so.
fn inputs<const I: usize>(sizes: &[i64], kind: Kind, lie: Lie) -> [Tensor; I] {
    let count: i64 = sizes.iter().product();
    let dense = |first: i64| {
        let all = Tensor::zeros([count + first], (kind, Device::Cpu));
        all.narrow(0, first, count).view(sizes)
    };
    std::array::from_fn(|input| match (lie, input % 3) {
        (Lie::Apart, _) => dense(1),
        (Lie::Otherwise, 1) => dense(0).get(0),
        (Lie::Otherwise, 2) => dense(0).transpose(0, 1).contiguous().transpose(0, 1),
        _ => dense(0),
    })
}

/// Compiles a kernel, which loads `width` elements at once.
fn compile(nvrtc: &Nvrtc, what: &str, source: &str, architecture: &str, (kind, width): (Kind, usize)) {
    let architecture = format!("--gpu-architecture={architecture}");
    let told = nvrtc.told("group", source, &[&architecture, "--std=c++17", "--ptxas-options=-v"]);
    let [log, ptx] = told.unwrap_or_else(|error| panic!("{what}: {error}\n{source}"));
    for line in log.lines().filter(|line| !line.trim().is_empty()) {
        let has_no_stack = line.contains(" 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads");
        assert!(line.starts_with("ptxas info") || has_no_stack, "{what}: {log}\n{source}");
    }
    assert!(log.contains("0 bytes stack frame"), "{what}: {log}");
    assert!(!ptx.contains(".local"), "{what} does not keep to registers:\n{ptx}");
    if kind != Kind::Double {
        assert!(!ptx.contains(".f64"), "{what} computes in f64:\n{ptx}");
    }
    let is_vector = |line: &str| line.contains("ld.global") && (line.contains(".v4.") || line.contains(".v2."));
    assert_eq!(ptx.lines().any(is_vector), width > 1, "{what}:\n{ptx}");
}

struct Bench<'n> {
    nvrtc: &'n Nvrtc,
    architecture: &'static str,
}

impl Bench<'_> {
    fn pointwise<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(
        &self,
        kinds: &[Kind],
        lies: &[Lie],
    ) {
        let source = element::<G, I, N, O>();
        for (&kind, &lie) in kinds.iter().flat_map(|kind| lies.iter().map(move |lie| (kind, lie))) {
            let sizes = [6, 16, 32];
            let tensors: [Tensor; I] = inputs(&sizes, kind, lie);
            let operands = tensors.each_ref().map(|tensor| Operand::of(tensor).unwrap());
            let mut case = Case::of(&operands, &sizes, &[512, 32, 1]).unwrap();
            // Huge tensors count in 64 bits.
            case.is_small = kind != Kind::Half;
            let what = format!("{} {kind:?} {lie:?}", std::any::type_name::<G>());
            assert_eq!(case.width > 1, lie != Lie::Apart, "{what}");
            let source = device::source(&source, &case, (I, N, O));
            compile(self.nvrtc, &what, &source, self.architecture, (kind, case.width));
        }
    }

    fn rows<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(
        &self,
        kinds: &[Kind],
        lies: &[Lie],
        is_whole: [bool; O],
    ) {
        let row_functions = functions::<G, I, N, O>();
        for (&kind, &lie) in kinds.iter().flat_map(|kind| lies.iter().map(move |lie| (kind, lie))) {
            let sizes = [6, 16, 32];
            let tensors: [Tensor; I] = inputs(&sizes, kind, lie);
            let operands = tensors.each_ref().map(|tensor| Operand::of(tensor).unwrap());
            let case = RowCase::of(&operands, &sizes, &is_whole).unwrap();
            let what = format!("{} {kind:?} {lie:?}", std::any::type_name::<G>());
            let source = device::rows::source(&row_functions, &case);
            assert_eq!(source.contains("Pack { T of[1]; }"), lie == Lie::Apart, "{what}");
            let width = if lie == Lie::Apart { 1 } else { 2 };
            compile(self.nvrtc, &what, &source, self.architecture, (kind, width));
        }
    }

    fn all(&self, kinds: &[Kind], lies: &[Lie]) {
        self.pointwise::<QuickGelu, 1, 0, 1>(kinds, &lies[..1]);
        self.pointwise::<SquaredRelu, 1, 0, 1>(kinds, &lies[..1]);
        self.pointwise::<Film, 3, 0, 1>(kinds, lies);
        self.pointwise::<Rotation, 4, 0, 1>(kinds, lies);
        self.pointwise::<Residual, 2, 0, 2>(kinds, lies);
        self.pointwise::<Scaled, 2, 2, 1>(kinds, lies);
        self.pointwise::<Exact, 2, 0, 1>(kinds, &lies[..1]);
        self.pointwise::<Roots, 1, 0, 1>(kinds, &lies[..1]);
        self.pointwise::<Smooth, 2, 0, 1>(kinds, &lies[..1]);
        self.pointwise::<Rounded, 1, 0, 1>(kinds, &lies[..1]);
        self.pointwise::<Logarithms, 1, 0, 1>(kinds, &lies[..1]);
        self.pointwise::<Exponents, 1, 0, 1>(kinds, &lies[..1]);
        self.pointwise::<Units, 1, 0, 1>(kinds, &lies[..1]);
        self.pointwise::<Soft, 1, 0, 1>(kinds, &lies[..1]);
        self.pointwise::<Extremes, 1, 1, 2>(kinds, &lies[..1]);
        self.rows::<AddNorm, 4, 1, 2>(kinds, lies, [true, true]);
        self.rows::<Bare, 1, 0, 1>(kinds, &lies[..1], [true]);
        self.rows::<Gated, 3, 0, 1>(kinds, lies, [true]);
        self.rows::<Masked, 2, 1, 1>(kinds, &lies[..1], [true]);
        self.rows::<Scores, 2, 0, 1>(kinds, &lies[..1], [true]);
        self.rows::<Centred, 2, 0, 2>(kinds, lies, [true, false]);
        self.rows::<Sums, 2, 0, 1>(kinds, &lies[..1], [false]);
        self.rows::<Largest, 1, 0, 1>(kinds, &lies[..1], [false]);
        self.rows::<Twice, 2, 0, 1>(kinds, &lies[..1], [true]);
    }
}

#[test]
fn kernels_for_gpus_compile_for_every_dtype() {
    let Some(nvrtc) = nvrtc_or_skip("compiling groups") else { return };
    Bench { nvrtc, architecture: "sm_90" }.all(&KINDS, &ALL);
}

#[test]
fn kernels_for_gpus_compile_for_every_gpu() {
    let Some(nvrtc) = nvrtc_or_skip("compiling groups for other GPUs") else { return };
    for architecture in ["sm_80", "sm_100"] {
        Bench { nvrtc, architecture }.all(&KINDS[..3], &ALL);
    }
}

/// What is not called in any of these groups has not been compiled as code that runs.
#[test]
fn every_function_is_in_a_group() {
    let sources = [
        element::<QuickGelu, 1, 0, 1>(),
        element::<SquaredRelu, 1, 0, 1>(),
        element::<Exact, 2, 0, 1>(),
        element::<Roots, 1, 0, 1>(),
        element::<Smooth, 2, 0, 1>(),
        element::<Rounded, 1, 0, 1>(),
        element::<Logarithms, 1, 0, 1>(),
        element::<Exponents, 1, 0, 1>(),
        element::<Extremes, 1, 1, 2>(),
    ];
    let bodies: String = sources.iter().map(|source| source.split_once("void element").unwrap().1).collect();
    let names = sources[0].lines().filter_map(|line| line.strip_prefix("__device__ R ")?.split('(').next());
    for name in names {
        assert!(bodies.contains(&format!("{name}(")), "{name}");
    }
    for name in [
        "fabs(", "exp(", "log(", "log1p(", "tanh(", "erf(", "sqrt(", "floor(", "rint(", "-(", " + ", " - ", " * ",
        " / ",
    ] {
        assert!(bodies.contains(name), "{name}");
    }
}
