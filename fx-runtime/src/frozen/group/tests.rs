//! Groups as generated code has them, on tensors of random shapes, strides and values, against `ATen`.

use expect_test::expect;
use tch::{Device, Kind};

use super::super::oracle::frame;
use super::layout::AnyNumber;
use super::*;
use crate::Freeze;
use crate::ffi::pointwise::device::{self, Read};

/// `impl Group` as the printer writes it.
macro_rules! groups {
    ($($name:ident<$inputs:literal, $numbers:literal, $results:literal $(, $reductions:literal)?> -> $type:ty = |$lanes:pat_param, $n:pat_param| $body:block;)*) => {$(
        pub(super) struct $name;

        impl Group<$inputs, $numbers, $results> for $name {
            const OPTIMIZED: bool = true;
            $(const REDUCTIONS: usize = $reductions;)?
            type Results = $type;

            #[inline(always)]
            fn lanes<L: PointwiseOps>($lanes: [L; $inputs], $n: [L::Number; $numbers]) -> [L; $results] {
                $body
            }
        }
    )*};
}

mod compiled;
mod on_device;
mod rows;

const fn instances<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>() -> Instances {
    Instances::of::<G, I, N, O>()
}

fn in_one_pass<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(
    inputs: [&Tensor; I],
    numbers: &[Number; N],
) -> Option<Result<[Tensor; O], Error>> {
    let found = instances::<G, I, N, O>().in_one_pass(&inputs, numbers)?;
    Some(found.map(|found| found.try_into().unwrap()))
}

fn composed<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(
    inputs: [&Tensor; I],
    numbers: [Number; N],
) -> Result<[Tensor; O], tch::TchError> {
    (instances::<G, I, N, O>().composed)(&inputs, &numbers).map(|found| found.try_into().unwrap())
}

/// The functions of a group as CUDA C.
fn functions<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>() -> device::rows::RowFunctions {
    cuda::functions(&instances::<G, I, N, O>())
}

fn element<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>() -> String {
    functions::<G, I, N, O>().source
}

groups! {
    QuickGelu<1, 0, 1> -> Tensor = |[x], []| { [x.clone() * (x * 1.702).sigmoid()] };
    SquaredRelu<1, 0, 1> -> Tensor = |[x], []| { [x.relu().square()] };
    Film<3, 0, 1> -> Tensor = |[x, scale, shift], []| { [x * (scale + 1.0) + shift] };
    Rotation<4, 0, 1> -> Tensor = |[x, cos, rot, sin], []| { [x * cos + rot * sin] };
    Residual<2, 0, 2> -> (Tensor, Tensor) = |[x, y], []| { let sum = x + y; [sum.clone(), sum.relu()] };
    Unlike<2, 0, 2> -> (Tensor, Tensor) = |[x, y], []| { let half = y / 2i64; [x * half.clone(), half] };
    Scaled<2, 2, 1> -> Tensor = |[x, y], [a, b]| { [(x * a).clamp(b, 2.5) - y] };
    Exact<2, 0, 1> -> Tensor = |[x, y], []| {
        let low = x.clone().minimum(y.clone()).hardswish() - y.clone().abs().reciprocal().clamp_max(9.0);
        let high = x.maximum(y.clone()).hardsigmoid() / y.relu6().clamp_min(-1i64).leaky_relu();
        [(low.neg() + high) * 3i64 - 0.25]
    };
    Roots<1, 0, 1> -> Tensor = |[x], []| { [x.clone().abs().rsqrt() + (x.square() + 0.5).sqrt()] };
    Smooth<2, 0, 1> -> Tensor = |[x, y], []| {
        let x = x.clamp(-1e30, 1e30);
        // ATen's vectorised gelu of infinity is NaN.
        [x.clone().gelu("none") + x.clone().gelu("tanh") + x.tanh() * y.clone().silu() + y.clamp(-9.0, 9.0).exp()]
    };
}

groups! {
    Rounded<1, 0, 1> -> Tensor = |[x], []| {
        let whole = x.clone().floor() + x.clone().ceil() * 2i64 + x.clone().round() * 4i64;
        [whole + x.clone().trunc() * 8i64 + x.frac()]
    };
    Logarithms<1, 0, 1> -> Tensor = |[x], []| {
        [x.clone().log() * 0.25 + x.clone().log2() * 0.125 + x.clone().log10() * 0.125 + x.log1p()]
    };
    Exponents<1, 0, 1> -> Tensor = |[x], []| { let x = x.clamp(-1e30, 8.0); [x.clone().expm1() + x.erf()] };
    Units<1, 0, 1> -> Tensor = |[x], []| { [x.clone().elu() + x.clone().selu() + x.celu()] };
    Soft<1, 0, 1> -> Tensor = |[x], []| { [x.clone().softplus() + x.clamp(-1e30, 1e30).mish()] };
    Mixed<2, 1, 1> -> Tensor = |[x, y], [weight]| { [x.lerp(y, weight)] };
}

/// Numbers in a fixed order that looks random, and tensors of them on a device.
struct Dice(u64, Device);

impl Dice {
    fn number(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 33).unwrap()
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.number()).unwrap() % count
    }

    fn axis(&mut self, rank: i64) -> i64 {
        i64::from(self.number()) % rank
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    fn sizes(&mut self) -> Vec<i64> {
        let rank = self.below(6);
        let mut sizes: Vec<i64> = (0..rank).map(|_| self.of(&[1, 2, 3, 5, 8, 17, 33, 64, 65, 130])).collect();
        while sizes.iter().product::<i64>() > 12_000 {
            let at = self.below(rank);
            sizes[at] = 1;
        }
        sizes
    }

    /// A tensor of this shape whose elements lie somehow.
    fn tensor(&mut self, sizes: &[i64], kind: Kind) -> Tensor {
        let mut values: Vec<f64> = Vec::new();
        for _ in 0..sizes.iter().product::<i64>() {
            let plain = f64::from(self.number() % (1 << 20)) / f64::from(1 << 17) - 4.0;
            // On a GPU `ATen`'s clamp makes 0 of -0, by which another result is divided.
            let zero = if self.1 == Device::Cpu { -0.0 } else { 0.0 };
            let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, zero, 1e-30, -1e30, 88.0, -104.0];
            values.push(if self.below(40) == 0 { self.of(&odd) } else { plain });
        }
        let dense = Tensor::from_slice(&values).to_kind(kind).to_device(self.1).reshape(sizes);
        let rank = i64::try_from(sizes.len()).unwrap();
        match self.below(5) {
            0 if rank > 1 => {
                let (a, b) = (self.axis(rank), self.axis(rank));
                dense.transpose(a, b).contiguous().transpose(a, b)
            }
            1 if rank > 0 => {
                let axis = self.axis(rank);
                Tensor::stack(&[&dense, &dense.zeros_like()], axis + 1).select(axis + 1, 0)
            }
            2 if rank > 2 => {
                let forth: Vec<i64> = std::iter::once(0).chain(2..rank).chain([1]).collect();
                let back: Vec<i64> = [0, rank - 1].into_iter().chain(1..rank - 1).collect();
                dense.permute(forth).contiguous().permute(back)
            }
            3 if rank > 0 => {
                let axis = self.axis(rank);
                dense.narrow(axis, 0, 1).expand(sizes, false)
            }
            _ => dense,
        }
    }

    /// A tensor that broadcasts to this shape.
    fn broadcast(&mut self, sizes: &[i64], kind: Kind) -> Tensor {
        let sizes = self.broadcast_shape(sizes);
        self.tensor(&sizes, kind)
    }

    fn broadcast_shape(&mut self, sizes: &[i64]) -> Vec<i64> {
        let is_whole = self.below(2) == 0;
        let first = if is_whole { 0 } else { self.below(sizes.len() + 1) };
        sizes[first..].iter().map(|&size| if is_whole || self.below(2) == 0 { size } else { 1 }).collect()
    }
}

/// What may differ from `ATen`.
#[derive(Clone, Copy, PartialEq)]
enum Rounding {
    /// Nothing.
    Same,
    /// The last bits, from f64 by this part of the largest value that goes into the result.
    Within(f64),
}

/// The elements of `found` and `expected` that are not the same; NaN is NaN.
fn unlike(found: &Tensor, expected: &Tensor) -> [Vec<f64>; 2] {
    let is_same = found.eq_tensor(expected).logical_or(&found.isnan().logical_and(&expected.isnan()));
    let rest = |all: &Tensor| all.masked_select(&is_same.logical_not()).to_kind(Kind::Double);
    [found, expected].map(|all| Vec::<f64>::try_from(rest(all).flatten(0, -1)).unwrap())
}

fn compare(what: &str, found: &Tensor, by_aten: &Tensor, exact: &Tensor, rounding: Rounding) {
    assert_eq!(
        (found.size(), found.stride(), found.kind()),
        (by_aten.size(), by_aten.stride(), by_aten.kind()),
        "{what}"
    );
    let is_exact = match rounding {
        Rounding::Same => by_aten.ones_like(),
        Rounding::Within(_) => by_aten.isfinite().logical_not(),
    };
    let only = |all: &Tensor| all.masked_select(&is_exact.to_kind(Kind::Bool));
    let [wrong, right] = unlike(&only(found), &only(by_aten));
    assert!(wrong.is_empty(), "{what}: {:?} instead of {:?}", wrong.first(), right.first());
    if let Rounding::Within(part) = rounding {
        let difference = (found.to_kind(Kind::Double) - exact).abs() / (exact.abs() + 1.0);
        // In f64 what overflows in f32 may go on, and come to no number.
        let is_finite = by_aten.isfinite().logical_and(&exact.isnan().logical_not());
        let largest = difference.masked_select(&is_finite);
        if largest.numel() > 0 {
            let (error, at) = (largest.max().double_value(&[]), largest.argmax(None, false).int64_value(&[]));
            let [found, by_aten, exact] =
                [found, by_aten, exact].map(|all| all.masked_select(&is_finite).double_value(&[at]));
            assert!(error <= part, "{what}: {error:e}, {found} where ATen has {by_aten}, of {exact}");
        }
    }
}

/// Many random calls on the CPU; how many of them took the loop.
fn check<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(
    rounding: Rounding,
    kind: Kind,
    calls: usize,
) -> usize {
    check_on::<G, I, N, O>(Device::Cpu, rounding, kind, calls)
}

/// The same on a device.
fn check_on<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(
    device: Device,
    rounding: Rounding,
    kind: Kind,
    calls: usize,
) -> usize {
    let (mut dice, mut looped) = (Dice(I as u64 * 31 + O as u64, device), 0);
    let numbers: [Number; N] = std::array::from_fn(|at| if at == 0 { Number::Float(0.3) } else { Number::Int(-1) });
    for call in 0..calls {
        let sizes = dice.sizes();
        let inputs: [Tensor; I] = std::array::from_fn(|_| dice.broadcast(&sizes, kind));
        let shapes: Vec<_> = inputs.iter().map(|input| (input.size(), input.stride())).collect();
        let what = format!("{} {call} {shapes:?}", std::any::type_name::<G>());
        let by_aten = composed::<G, I, N, O>(inputs.each_ref(), numbers).unwrap();
        let wide = inputs.each_ref().map(|input| input.to_kind(Kind::Double));
        let exact = composed::<G, I, N, O>(wide.each_ref(), numbers).unwrap();
        let Some(found) = in_one_pass::<G, I, N, O>(inputs.each_ref(), &numbers) else { continue };
        looped += 1;
        for (result, found) in found.unwrap().iter().enumerate() {
            compare(&what, found, &by_aten[result], &exact[result], rounding);
        }
    }
    looped
}

#[test]
fn results_are_those_of_aten() {
    let within = Rounding::Within(4e-6);
    for (kind, calls) in [(Kind::Float, 300), (Kind::Double, 60)] {
        let most = calls * 4 / 5;
        assert!(check::<SquaredRelu, 1, 0, 1>(Rounding::Same, kind, calls) > most);
        assert!(check::<Film, 3, 0, 1>(Rounding::Same, kind, calls) > most);
        assert!(check::<Rotation, 4, 0, 1>(Rounding::Same, kind, calls) > most);
        assert!(check::<Residual, 2, 0, 2>(Rounding::Same, kind, calls) > most);
        assert!(check::<Unlike, 2, 0, 2>(Rounding::Same, kind, calls) > 0);
        assert!(check::<Scaled, 2, 2, 1>(Rounding::Same, kind, calls) > most);
        assert!(check::<Exact, 2, 0, 1>(Rounding::Same, kind, calls) > most);
        assert!(check::<Roots, 1, 0, 1>(within, kind, calls) > most);
    }
    // Elements of two bytes are rounded once, to half a unit in the last place.
    for (kind, within) in
        [(Kind::BFloat16, Rounding::Within(1.0 / 256.0)), (Kind::Half, Rounding::Within(1.0 / 2048.0))]
    {
        assert!(check::<SquaredRelu, 1, 0, 1>(within, kind, 60) > 40);
        assert!(check::<Film, 3, 0, 1>(within, kind, 60) > 40);
        assert!(check::<Residual, 2, 0, 2>(within, kind, 60) > 40);
    }
    assert!(check::<QuickGelu, 1, 0, 1>(within, Kind::Float, 300) > 200);
    assert!(check::<Smooth, 2, 0, 1>(within, Kind::Float, 300) > 100);
    for kind in [Kind::Float, Kind::Double] {
        assert!(check::<Rounded, 1, 0, 1>(Rounding::Same, kind, 100) > 80);
    }
    assert!(check::<Logarithms, 1, 0, 1>(within, Kind::Float, 100) > 80);
    assert!(check::<Exponents, 1, 0, 1>(within, Kind::Float, 100) > 80);
    assert!(check::<Units, 1, 0, 1>(within, Kind::Float, 100) > 80);
    assert!(check::<Soft, 1, 0, 1>(within, Kind::Float, 100) > 80);
    assert!(check::<Mixed, 2, 1, 1>(within, Kind::Float, 100) > 80);
    // Functions that are slow in f64 are ATen's.
    assert_eq!(check::<QuickGelu, 1, 0, 1>(within, Kind::Double, 5), 0);
}

/// How often contiguous tensors of random shapes are told at once to give what the ops one by one say.
fn check_contiguous<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>() -> usize {
    let (mut dice, mut told) = (Dice(7 * I as u64 + O as u64, Device::Cpu), 0);
    for _ in 0..2000 {
        let sizes = dice.sizes();
        let tensors: [Tensor; I] = std::array::from_fn(|_| {
            let shape = dice.broadcast_shape(&sizes);
            Tensor::empty(shape, (Kind::Float, Device::Cpu))
        });
        let operands = tensors.each_ref().map(|tensor| Operand::of(tensor).unwrap());
        let sources = G::lanes(Sources::of_inputs::<I>(), [AnyNumber; N]);
        let Some(at_once) = Layout::of_contiguous(&operands, &sources) else { continue };
        let (by_ops, is_wasteful) = instances::<G, I, N, O>().one_layout(&operands).unwrap();
        let shapes = tensors.map(|tensor| tensor.size());
        assert_eq!((at_once.sizes(), at_once.strides()), (by_ops.sizes(), by_ops.strides()), "{shapes:?}");
        assert!(!is_wasteful, "{shapes:?}");
        told += 1;
    }
    told
}

#[test]
fn contiguous_tensors_are_told_without_a_look_at_each_op() {
    assert_eq!(check_contiguous::<Film, 3, 0, 1>(), 2000);
    assert_eq!(check_contiguous::<Rotation, 4, 0, 1>(), 2000);
    assert_eq!(check_contiguous::<Residual, 2, 0, 2>(), 2000);
    // Where the costly function's input is the smaller one, and where a result is made of one input.
    let [smooth, unlike] = [check_contiguous::<Smooth, 2, 0, 1>(), check_contiguous::<Unlike, 2, 0, 2>()];
    assert!((500..1900).contains(&smooth) && (500..1900).contains(&unlike), "{smooth} {unlike}");
}

#[test]
fn large_tensors_are_shared_out_among_threads() {
    let kind = (Kind::Float, Device::Cpu);
    for sizes in [&[3, 1_000_003][..], &[257, 129, 65], &[2, 64, 112, 112]] {
        let x = Tensor::randn(sizes, kind);
        for (scale, shift) in [
            (Tensor::randn(sizes, kind), Tensor::randn(sizes, kind)),
            (
                Tensor::randn(&sizes[1..], kind),
                Tensor::randn(
                    [sizes[0], 1].iter().copied().chain(sizes[2..].iter().map(|_| 1)).collect::<Vec<_>>(),
                    kind,
                ),
            ),
            (Tensor::from(0.5f32), Tensor::randn(sizes, kind).transpose(0, 1).contiguous().transpose(0, 1)),
        ] {
            let found = in_one_pass::<Film, 3, 0, 1>([&x, &scale, &shift], &[]).unwrap().unwrap();
            assert!(found[0] == &x * (&scale + 1.0) + &shift, "{sizes:?} {:?}", scale.size());
        }
    }
}

#[test]
fn what_a_loop_cannot_do_is_atens() {
    let frame = frame(Freeze::new());
    let scope = frame.enter();
    let floats = Tensor::from_slice(&[1.0f32, -2.0]);
    for (x, y) in [
        (floats.shallow_clone(), Tensor::from_slice(&[1i64, 2])),
        (Tensor::from_slice(&[3i64, -1]), Tensor::from_slice(&[1i64, 2])),
        (floats.shallow_clone(), Tensor::from(0.5f64)),
        (floats.shallow_clone(), Tensor::zeros([0, 2], (Kind::Float, Device::Cpu))),
        (Tensor::ones([1; 9], (Kind::Float, Device::Cpu)), floats.shallow_clone()),
        (floats.to_mkldnn(), floats.to_mkldnn()),
    ] {
        let what = format!("{:?} {:?}", x.kind(), y.kind());
        assert!(in_one_pass::<Residual, 2, 0, 2>([&x, &y], &[]).is_none(), "{what}");
        let (sum, relu) = Residual::run(&scope, [&x, &y], []).unwrap();
        let expected = &x + &y;
        assert_eq!((sum.kind(), sum.size()), (expected.kind(), expected.size()), "{what}");
        assert_eq!(relu.kind(), expected.kind());
    }
    let error = Residual::run(&scope, [&floats, &Tensor::ones([3], (Kind::Float, Device::Cpu))], []).unwrap_err();
    assert!(error.to_string().contains("must match the size"), "{error}");
}

#[test]
fn a_costly_function_of_a_small_tensor_is_computed_once() {
    let kind = (Kind::Float, Device::Cpu);
    let (x, gate) = (Tensor::randn([8, 64], kind), Tensor::randn([8, 1], kind));
    assert!(in_one_pass::<Smooth, 2, 0, 1>([&x, &gate], &[]).is_none());
    assert!(in_one_pass::<Smooth, 2, 0, 1>([&x, &x], &[]).is_some());
}

/// One group's kernel on the host, with inputs that lie as the results do, are broadcast, and lie otherwise.
fn check_kernel<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(
    rounding: Rounding,
    kind: Kind,
    axes: &[i64],
) {
    let mut dice = Dice(11, Device::Cpu);
    let numbers: [Number; N] = std::array::from_fn(|at| if at == 0 { Number::Float(0.3) } else { Number::Int(-1) });
    let shapes = [axes.to_vec(), axes[1..].to_vec(), axes.to_vec(), axes.iter().map(|_| 1).collect()];
    let inputs: [Tensor; I] = std::array::from_fn(|input| {
        let tensor = dice.tensor(&shapes[input], kind);
        if input == 2 { tensor.transpose(0, 1).contiguous().transpose(0, 1) } else { tensor.contiguous() }
    });
    let inputs = inputs.each_ref();
    let by_aten = composed::<G, I, N, O>(inputs, numbers).unwrap();
    let wide = inputs.map(|input| input.to_kind(Kind::Double));
    let exact = composed::<G, I, N, O>(wide.each_ref(), numbers).unwrap();
    let name = std::any::type_name::<G>().rsplit("::").next().unwrap();
    let shape = (&by_aten[0].size()[..], &by_aten[0].stride()[..]);
    let source = element::<G, I, N, O>();
    let found: [Tensor; O] =
        device::host::run(&format!("{name}-{kind:?}"), &source, inputs, &numbers.map(Number::float), shape);
    for (result, found) in found.iter().enumerate() {
        compare(name, found, &by_aten[result], &exact[result], rounding);
    }
}

#[test]
fn kernels_for_gpus_compute_the_same_on_the_host() {
    for kind in [Kind::Float, Kind::Double] {
        check_kernel::<Film, 3, 0, 1>(Rounding::Same, kind, &[7, 5, 3]);
        check_kernel::<Residual, 2, 0, 2>(Rounding::Same, kind, &[3, 4, 9]);
        check_kernel::<Scaled, 2, 2, 1>(Rounding::Same, kind, &[5, 13]);
        check_kernel::<Exact, 2, 0, 1>(Rounding::Same, kind, &[11, 6]);
    }
    let within = Rounding::Within(4e-6);
    check_kernel::<SquaredRelu, 1, 0, 1>(Rounding::Same, Kind::Float, &[1001]);
    check_kernel::<Rotation, 4, 0, 1>(within, Kind::Float, &[7, 5, 3]);
    check_kernel::<Roots, 1, 0, 1>(within, Kind::Float, &[1001]);
    check_kernel::<QuickGelu, 1, 0, 1>(within, Kind::Float, &[1001]);
    check_kernel::<Smooth, 2, 0, 1>(within, Kind::Float, &[33, 7]);
    check_kernel::<Rounded, 1, 0, 1>(Rounding::Same, Kind::Float, &[1001]);
    check_kernel::<Logarithms, 1, 0, 1>(within, Kind::Float, &[1001]);
    check_kernel::<Exponents, 1, 0, 1>(within, Kind::Float, &[1001]);
    check_kernel::<Units, 1, 0, 1>(within, Kind::Float, &[1001]);
    check_kernel::<Soft, 1, 0, 1>(within, Kind::Float, &[1001]);
    check_kernel::<Mixed, 2, 1, 1>(within, Kind::Float, &[33, 7]);
    // One rounding at the end, half a unit in the last place of bf16.
    check_kernel::<QuickGelu, 1, 0, 1>(Rounding::Within(1.0 / 256.0), Kind::BFloat16, &[1001]);
}

#[test]
fn a_kernel_reads_as_if_written_by_hand() {
    let case = Case {
        stored: device::Stored::F16,
        reads: vec![Read::Linear, Read::Row, Read::Each],
        rank: 2,
        width: 8,
        is_small: true,
    };
    let source = device::source(&element::<Film, 3, 0, 1>(), &case, (3, 0, 1));
    let (types, rest) = source.split_once("__device__ R number").unwrap();
    let (_, rest) = rest.split_once("\n__device__ void element").unwrap();
    expect![[r#"
        typedef unsigned short T;
        typedef float R;
        __device__ R load(T x) { R y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x)); return y; }
        __device__ T store(R x) { T y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y; }
        typedef int Index;
        struct alignas(16) Pack { T of[8]; };
        ..
        __device__ void element(R x0, R x1, R x2, R& y0) {
            R v0 = x1 + R(1.0);
            R v1 = x0 * v0;
            R v2 = v1 + x2;
            y0 = v2;
        }
        extern "C" __global__ void fx_group(long long count, const T* a0, const T* a1, const T* a2, T* b0,
            long long l0, long long s0_1, long long s0_2,
            long long l1, long long s1_1, long long s1_2) {
            long long first = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * 8;
            long long step = gridDim.x * (long long)blockDim.x * 8;
            for (long long at = first; at < count; at += step) {
                int length = count - at < 8 ? (int)(count - at) : 8;
                Pack p0 = {};
                if (length == 8) p0 = *(const Pack*)(a0 + at);
                else {
                #pragma unroll
                for (int i = 0; i < 8; i++) {
                    if (i < length) p0.of[i] = a0[at + i];
                }
                }
                Pack p1 = {};
                Pack p2 = {};
                {
                    Index rest = (Index)(at);
                    const T* q1 = a1;
                    q1 += rest % (Index)l0 * s0_1;
                    rest /= (Index)l0;
                    q1 += rest % (Index)l1 * s1_1;
                    rest /= (Index)l1;
                    p1 = *(const Pack*)q1;
                }
                #pragma unroll
                for (int i = 0; i < 8; i++) {
                    if (i >= length) break;
                    Index rest = (Index)(at + i);
                    const T* q2 = a2;
                    q2 += rest % (Index)l0 * s0_2;
                    rest /= (Index)l0;
                    q2 += rest % (Index)l1 * s1_2;
                    rest /= (Index)l1;
                    p2.of[i] = *q2;
                }
                Pack r0;
                #pragma unroll
                for (int i = 0; i < 8; i++) {
                    R y0;
                    element(load(p0.of[i]), load(p1.of[i]), load(p2.of[i]), y0);
                    r0.of[i] = store(y0);
                }
                if (length == 8) *(Pack*)(b0 + at) = r0;
                else {
                #pragma unroll
                for (int i = 0; i < 8; i++) {
                    if (i < length) b0[at + i] = r0.of[i];
                }
                }
            }
        }
    "#]]
    .assert_eq(&format!("{types}..\n__device__ void element{rest}"));
}
