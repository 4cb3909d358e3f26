//! Groups with ops on rows, against `ATen` and against f64.

use super::*;

groups! {
    AddNorm<4, 1, 2, 2> -> (Tensor, Tensor) = |[x, y, weight, bias], [eps]| {
        let sum = (x + y).kept();
        [sum.clone(), sum.layer_norm(Some(weight), Some(bias), eps)]
    };
    Bare<1, 0, 1, 2> -> Tensor = |[x], []| { [x.layer_norm(None, None, 1e-5)] };
    Gated<3, 0, 1, 1> -> Tensor = |[x, gate, weight], []| {
        let ys = (x * gate.silu()).kept();
        [ys.rms_norm(Some(weight), 1e-6) * 2i64]
    };
    Masked<2, 1, 1, 2> -> Tensor = |[scores, mask], [scale]| { [(scores * scale + mask).kept().softmax(None)] };
    Scores<2, 0, 1, 2> -> Tensor = |[x, y], []| { [(x + y).kept().log_softmax(Some(Kind::Float))] };
    Centred<2, 0, 2, 3> -> (Tensor, Tensor) = |[x, y], []| {
        let product = (x.clone() * y).kept();
        let scale = x.clone().abs().amax() + x.sum(None).abs();
        let mean = product.clone().mean(None);
        [(product - mean) / (scale.clone() + 1.0), scale]
    };
    Sums<2, 0, 1, 1> -> Tensor = |[x, y], []| { [(x * y).kept().sum(None) / 2.0] };
    Largest<1, 0, 1, 1> -> Tensor = |[x], []| { [x.neg().kept().amax().neg()] };
    Twice<2, 0, 1, 4> -> Tensor = |[x, y], []| { [(x * y).kept().softmax(None).layer_norm(None, None, 1e-12)] };
}

/// The shape of an input, by that of what a group goes over.
type ShapeOf = fn(&[i64]) -> Vec<i64>;

const LENGTHS: [i64; 9] = [32, 33, 63, 64, 65, 100, 768, 1000, 5003];

/// Values around `mean`; in some rows there is something odd.
fn rows(dice: &mut Dice, sizes: &[i64], kind: Kind, mean: f64, odd: &[f64]) -> Tensor {
    let length = usize::try_from(*sizes.last().unwrap()).unwrap();
    let count = usize::try_from(sizes.iter().product::<i64>()).unwrap();
    let mut values: Vec<f64> =
        (0..count).map(|_| mean + f64::from(dice.number() % (1 << 20)) / 131_072.0 - 4.0).collect();
    for row in values.chunks_mut(length) {
        if !odd.is_empty() && dice.below(3) == 0 {
            let at = dice.below(row.len());
            row[at] = dice.of(odd);
        }
    }
    Tensor::from_slice(&values).to_kind(kind).to_device(dice.1).reshape(sizes)
}

/// Runs a group on random rows; every call has to take the loop, and to be about as exact as `ATen` is.
pub(super) fn check_rows<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(
    device: Device,
    (kind, within): (Kind, f64),
    shapes: [ShapeOf; I],
    odd: &[f64],
) {
    let mut dice = Dice(17 + N as u64, device);
    let numbers = [Number::Float(0.3); N];
    for length in LENGTHS {
        for outer in [&[][..], &[7], &[3, 1, 5]] {
            // Large sums are no numbers in f16, and by ATen before they are divided.
            for mean in if kind == Kind::Half { &[0.0][..] } else { &[0.0, 30.0] } {
                let sizes = [outer, &[length]].concat();
                let inputs = shapes.map(|shape| {
                    let own = shape(&sizes);
                    // Factors and summands of a norm; of one row alone they cannot be told from values.
                    let mean = if own.len() < sizes.len() || outer.is_empty() { 0.0 } else { *mean };
                    rows(&mut dice, &own, kind, mean, odd)
                });
                // A sum of two values around 30, and its mean, are rounded to 2⁻¹⁸ each, before they meet factors up to 4.
                // What is exact for f64 is of f64 too. A thread of a GPU adds up a part of the row, a CPU's lanes smaller ones.
                let room = match kind {
                    Kind::Float if *mean > 0.0 && device.is_cuda() => 8.0,
                    Kind::Float if *mean > 0.0 => 4.0,
                    Kind::Double if *mean > 0.0 => 30.0,
                    _ => 1.0,
                };
                let what = format!("{} {kind:?} {sizes:?} around {mean}", std::any::type_name::<G>());
                let by_aten = composed::<G, I, N, O>(inputs.each_ref(), numbers).unwrap();
                let wide = inputs.each_ref().map(|input| input.to_kind(Kind::Double));
                let exact = composed::<G, I, N, O>(wide.each_ref(), numbers).unwrap();
                let found = in_one_pass::<G, I, N, O>(inputs.each_ref(), &numbers);
                let found = found.unwrap_or_else(|| panic!("{what} is left to ATen")).unwrap();
                for (result, found) in found.iter().enumerate() {
                    let error = |of: &Tensor| {
                        let all = (of.to_kind(Kind::Double) - &exact[result]).abs() / (exact[result].abs() + 1.0);
                        all.nan_to_num(0.0, 0.0, 0.0).max().double_value(&[])
                    };
                    let most = (within * room).max(2.0 * error(&by_aten[result]));
                    compare(&what, found, &by_aten[result], &exact[result], Rounding::Within(most));
                }
            }
        }
    }
}

fn whole(sizes: &[i64]) -> Vec<i64> {
    sizes.to_vec()
}

fn one_row(sizes: &[i64]) -> Vec<i64> {
    sizes[sizes.len() - 1..].to_vec()
}

fn one_each(sizes: &[i64]) -> Vec<i64> {
    [&sizes[..sizes.len() - 1], &[1]].concat()
}

/// Groups of every form, where values stand that are no numbers, and where none do.
pub(super) fn check_all(device: Device, of: (Kind, f64), odd: &[f64]) {
    check_rows::<AddNorm, 4, 1, 2>(device, of, [whole, whole, one_row, one_row], odd);
    check_rows::<AddNorm, 4, 1, 2>(device, of, [whole, one_each, one_row, one_row], odd);
    check_rows::<Bare, 1, 0, 1>(device, of, [whole], odd);
    check_rows::<Centred, 2, 0, 2>(device, of, [whole, one_row], odd);
    check_rows::<Sums, 2, 0, 1>(device, of, [whole, whole], odd);
    check_rows::<Largest, 1, 0, 1>(device, of, [whole], odd);
}

const ODD: [f64; 4] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0];

/// In f32 and f64.
pub(super) fn check_wide(device: Device) {
    for odd in [&[][..], &ODD] {
        check_all(device, (Kind::Float, 4e-6), odd);
        check_all(device, (Kind::Double, 1e-14), odd);
        // ATen's RMS norm on a GPU makes a row of NaN of one with an infinite number, against its own formula.
        let finite = if device.is_cuda() { &[][..] } else { odd };
        check_rows::<Gated, 3, 0, 1>(device, (Kind::Float, 4e-6), [whole, whole, one_row], finite);
        check_rows::<Masked, 2, 1, 1>(device, (Kind::Float, 2e-6), [whole, one_row], odd);
        check_rows::<Scores, 2, 0, 1>(device, (Kind::Float, 4e-6), [whole, whole], odd);
    }
    // The norm multiplies the last digits of a flat softmax, by ATen's operators on a GPU to 1e-5 of the result too.
    let within = if device.is_cuda() { 1e-4 } else { 1e-5 };
    check_rows::<Twice, 2, 0, 1>(device, (Kind::Float, within), [whole, one_each], &[]);
}

/// In the dtypes of two bytes, to which results are rounded once.
pub(super) fn check_narrow(device: Device) {
    for of in [(Kind::BFloat16, 1.0 / 256.0), (Kind::Half, 1.0 / 2048.0)] {
        check_all(device, of, &[]);
        check_rows::<Gated, 3, 0, 1>(device, of, [whole, whole, one_row], &[]);
        check_rows::<Masked, 2, 1, 1>(device, of, [whole, one_row], &ODD);
    }
}

#[test]
fn rows_are_as_exact_as_by_aten() {
    check_wide(Device::Cpu);
}

#[test]
fn rows_of_two_bytes_are_rounded_once() {
    check_narrow(Device::Cpu);
}

#[test]
fn a_long_row_is_summed_without_drift() {
    let kind = (Kind::Float, Device::Cpu);
    let x = Tensor::full([2, 3_000_017], 0.1, kind);
    let y = Tensor::full([3_000_017], 1.0, kind);
    let found = in_one_pass::<Sums, 2, 0, 1>([&x, &y], &[]).unwrap().unwrap();
    let exact = f64::from(0.1f32) * 3_000_017.0 / 2.0;
    for row in 0..2 {
        let difference = (found[0].double_value(&[row, 0]) - exact).abs() / exact;
        assert!(difference < 16.0 / f64::from(1 << 24), "{difference:e}");
    }
}

#[test]
fn rows_are_shared_out_among_threads() {
    let kind = (Kind::Float, Device::Cpu);
    let (x, y) = (Tensor::randn([1025, 768], kind), Tensor::randn([1025, 768], kind));
    let part = Tensor::randn([768], kind);
    let eps = [Number::Float(1e-5)];
    let found = in_one_pass::<AddNorm, 4, 1, 2>([&x, &y, &part, &part], &eps).unwrap().unwrap();
    for at in [0, 1, 511, 512, 513, 1024] {
        let one = [x.get(at), y.get(at)];
        let alone = in_one_pass::<AddNorm, 4, 1, 2>([&one[0], &one[1], &part, &part], &eps).unwrap().unwrap();
        assert!(found[0].get(at) == alone[0] && found[1].get(at) == alone[1], "row {at}");
    }
}

#[test]
fn rows_that_lie_or_are_otherwise_are_atens() {
    let frame = frame(Freeze::new());
    let scope = frame.enter();
    let kind = (Kind::Float, Device::Cpu);
    let (wide, row) = (Tensor::randn([6, 64], kind), Tensor::randn([64], kind));
    let short = Tensor::randn([6, 8], kind);
    for (what, x, y) in [
        ("transposed", Tensor::randn([64, 6], kind).tr(), wide.shallow_clone()),
        ("every second", Tensor::randn([6, 128], kind).slice(1, 0, 128, 2), wide.shallow_clone()),
        ("short", short.shallow_clone(), short),
        ("empty", Tensor::zeros([0, 64], kind), row.shallow_clone()),
        ("no axis", Tensor::from(1.0f32), Tensor::from(2.0f32)),
        ("mixed", wide.to_kind(Kind::BFloat16), wide.shallow_clone()),
    ] {
        assert!(in_one_pass::<Scores, 2, 0, 1>([&x, &y], &[]).is_none(), "{what}");
        let found = Scores::run(&scope, [&x, &y], []);
        match (&x + &y).f_log_softmax(-1, Kind::Float) {
            Ok(expected) => assert!(found.unwrap().allclose(&expected, 1e-6, 1e-6, true), "{what}"),
            Err(_) => assert!(found.is_err(), "{what}"),
        }
    }
    // One row for all: it would be computed again and again.
    assert!(in_one_pass::<Gated, 3, 0, 1>([&wide, &row, &row], &[]).is_none());
    // The softmax is asked for in another dtype than the elements have.
    let half = wide.to_kind(Kind::BFloat16);
    assert!(in_one_pass::<Scores, 2, 0, 1>([&half, &half], &[]).is_none());
    assert_eq!(Scores::run(&scope, [&half, &half], []).unwrap().kind(), Kind::Float);
    let eps = [Number::Float(1e-5)];
    let error = AddNorm::run(&scope, [&wide, &wide, &row.narrow(0, 0, 8), &row], eps).unwrap_err();
    assert!(error.to_string().contains("normalized_shape"), "{error}");
}

#[test]
fn one_norm_over_two_axes_is_atens() {
    let frame = frame(Freeze::new());
    let kind = (Kind::Float, Device::Cpu);
    let (x, part) = (Tensor::randn([3, 4, 64], kind), Tensor::randn([4, 64], kind));
    let eps = [Number::Float(1e-5)];
    assert!(in_one_pass::<AddNorm, 4, 1, 2>([&x, &x, &part, &part], &eps).is_none());
    let (_, found) = AddNorm::run(&frame.enter(), [&x, &x, &part, &part], eps).unwrap();
    assert!(found.allclose(&(&x + &x).layer_norm([4, 64], Some(&part), Some(&part), 1e-5, false), 1e-6, 1e-6, false));
}

/// One group's kernel on the host, in blocks of four threads, on rows that are whole loads, and not.
fn check_row_kernel<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(
    kind: Kind,
    within: f64,
    shapes: [ShapeOf; I],
    odd: &[f64],
) {
    let mut dice = Dice(23, Device::Cpu);
    let numbers = [Number::Float(0.3); N];
    for sizes in [[5, 2, 64], [2, 3, 37]] {
        let inputs = shapes.map(|shape| rows(&mut dice, &shape(&sizes), kind, 0.5, odd));
        let inputs = inputs.each_ref();
        let by_aten = composed::<G, I, N, O>(inputs, numbers).unwrap();
        let wide = inputs.map(|input| input.to_kind(Kind::Double));
        let exact = composed::<G, I, N, O>(wide.each_ref(), numbers).unwrap();
        let name = std::any::type_name::<G>().rsplit("::").next().unwrap();
        let is_whole = by_aten.each_ref().map(|result| result.size() == sizes);
        let name = format!("{name}-{kind:?}-{}", sizes[2]);
        let row_functions = functions::<G, I, N, O>();
        let found: [Tensor; O] =
            device::host::run_rows(&name, &row_functions, inputs, &numbers.map(Number::float), (&sizes, is_whole));
        for (result, found) in found.iter().enumerate() {
            compare(&name, found, &by_aten[result], &exact[result], Rounding::Within(within));
        }
    }
}

#[test]
fn kernels_over_rows_compute_the_same_on_the_host() {
    check_row_kernel::<AddNorm, 4, 1, 2>(Kind::Float, 4e-6, [whole, one_each, one_row, one_row], &ODD);
    check_row_kernel::<Gated, 3, 0, 1>(Kind::Float, 4e-6, [whole, whole, one_row], &[]);
    check_row_kernel::<Masked, 2, 1, 1>(Kind::Float, 2e-6, [whole, one_row], &ODD);
    check_row_kernel::<Scores, 2, 0, 1>(Kind::Float, 4e-6, [whole, whole], &ODD);
    check_row_kernel::<Centred, 2, 0, 2>(Kind::Double, 1e-14, [whole, one_row], &[]);
    check_row_kernel::<AddNorm, 4, 1, 2>(Kind::BFloat16, 1.0 / 256.0, [whole, whole, one_row, one_row], &[]);
    check_row_kernel::<Sums, 2, 0, 1>(Kind::BFloat16, 1.0 / 256.0, [whole, whole], &[]);
}

#[test]
fn a_kernel_over_rows_reads_as_if_written_by_hand() {
    let (x, scale) =
        (Tensor::zeros([4, 6, 64], (Kind::Float, Device::Cpu)), Tensor::zeros([64], (Kind::Float, Device::Cpu)));
    let operands = [&x, &scale].map(|tensor| Operand::of(tensor).unwrap());
    let case = device::rows::RowCase::of(&operands, &[4, 6, 64], &[true]).unwrap();
    let source = device::rows::source(&functions::<Masked, 2, 1, 1>(), &case);
    let (_, rest) = source.split_once("\n__device__ void pass0").unwrap();
    expect![[r#"
        __device__ void pass0(R x0, R x1, R n0, R& y) {
            R v0 = x0 * n0;
            R v1 = v0 + x1;
            y = v1;
        }
        __device__ void pass1(R x0, R x1, R n0, R k0, R& y) {
            R v0 = x0 * n0;
            R v1 = v0 + x1;
            R v2 = v1 - k0;
            R v3 = exp(v2);
            y = v3;
        }
        __device__ void element(R x0, R x1, R n0, R k0, R k1, R& y0) {
            R v0 = x0 * n0;
            R v1 = v0 + x1;
            R v2 = v1 - k0;
            R v3 = exp(v2);
            R v4 = R(1.0) / k1;
            R v5 = v3 * v4;
            y0 = v5;
        }
        __device__ R added(R x, R y) { return x + y; }
        template <R join(R, R)> __device__ R all(R mine, R* warps) {
            for (int step = 16; step > 0; step /= 2) mine = join(mine, __shfl_xor_sync(0xffffffff, mine, step));
            if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
            __syncthreads();
            R whole = warps[0];
            for (int warp = 1; warp < (int)blockDim.x / 32; warp++) whole = join(whole, warps[warp]);
            __syncthreads();
            return whole;
        }
        extern "C" __global__ void fx_group(long long rows, long long length, const T* a0, const T* a1, T* b0, R n0,
            long long l0, long long s0_0, long long s0_1) {
            __shared__ R warps[16];
            for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
                long long rest = row;
                const T* q0 = a0;
                const T* q1 = a1;
                q0 += rest % l0 * s0_0;
                q1 += rest % l0 * s0_1;
                rest /= l0;
                long long at = threadIdx.x * 4;
                Pack p0;
                if (at < length) p0 = *(const Pack*)(q0 + at);
                Pack p1;
                if (at < length) p1 = *(const Pack*)(q1 + at);
                R k0 = -R(1) / R(0);
                if (at < length) {
                    #pragma unroll
                    for (int i = 0; i < 4; i++) {
                        R v;
                        pass0(load(p0.of[i]), load(p1.of[i]), n0, v);
                        k0 = larger(k0, v);
                    }
                }
                k0 = all<larger>(k0, warps);
                R k1 = 0;
                if (at < length) {
                    #pragma unroll
                    for (int i = 0; i < 4; i++) {
                        R v;
                        pass1(load(p0.of[i]), load(p1.of[i]), n0, k0, v);
                        k1 = added(k1, v);
                    }
                }
                k1 = all<added>(k1, warps);
                if (at < length) {
                    Pack r0;
                    #pragma unroll
                    for (int i = 0; i < 4; i++) {
                        R y0;
                        element(load(p0.of[i]), load(p1.of[i]), n0, k0, k1, y0);
                        r0.of[i] = store(y0);
                    }
                    *(Pack*)(b0 + row * length + at) = r0;
                }
            }
        }
    "#]]
    .assert_eq(&format!("__device__ void pass0{rest}"));
}
