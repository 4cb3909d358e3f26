//! Which kernels serve which layers, on machines that are not there too.

use super::*;
use crate::frame::Cpu;

fn target(device: Device, kind: Kind) -> Target {
    let cpu = Cpu {
        onednn: OneDnnCall::Direct,
        bf16: true,
        f16: false,
        mkl: false,
        amx: Amx::Absent,
        vectors: VectorWidth::Baseline,
    };
    Target { device, kind, memory_format: MemoryFormat::ChannelsLast, backend: Backend::Best, cpu }
}

fn convolution(axes: usize, transposed: bool, act: Activation) -> ConvLayer {
    ConvLayer { axes, transposed, non_finite: false, act, tiles: false, pixels: None, apart: None }
}

fn linear(shape: [i64; 2], has_bias: bool, act: Activation) -> LinearLayer {
    LinearLayer { shape, has_bias, non_finite: false, shared: false, act, format: None, dynamic: None }
}

#[test]
fn the_cpu_packs_what_onednn_computes() {
    for (kind, choices) in [
        (Kind::Float, &[ConvChoice::OneDnn, ConvChoice::Composed][..]),
        (Kind::BFloat16, &[ConvChoice::OneDnn, ConvChoice::Composed]),
        (Kind::Half, &[ConvChoice::Composed]),
        (Kind::Double, &[ConvChoice::Composed]),
        (Kind::Int64, &[ConvChoice::Composed]),
    ] {
        assert_eq!(target(Device::Cpu, kind).conv(convolution(2, false, Activation::Gelu)), choices, "{kind:?}");
    }
    let contiguous = Target { memory_format: MemoryFormat::Contiguous, ..target(Device::Cpu, Kind::Float) };
    assert_eq!(contiguous.conv(convolution(2, false, Activation::Relu)), [ConvChoice::Composed]);
}

#[test]
fn mkl_comes_first_where_one_matrix_serves_every_pixel() {
    use ConvChoice::{Composed, Mkl, OneDnn};
    let amd = target(Device::Cpu, Kind::Float);
    let intel = Target { cpu: Cpu { mkl: true, ..amd.cpu }, ..amd };
    let of = |elements| ConvLayer { pixels: Some(elements), ..convolution(2, false, Activation::Relu) };
    let large = of(512 * 128);
    assert_eq!(intel.conv(large), [Mkl, OneDnn, Composed]);
    assert_eq!(intel.conv(of(64 * 256)), [OneDnn, Composed, Mkl]);
    assert_eq!(intel.conv(ConvLayer { non_finite: true, ..large }), [OneDnn, Composed]);
    assert_eq!(amd.conv(large), [OneDnn, Composed]);
    assert_eq!(Target { kind: Kind::BFloat16, ..intel }.conv(large), [OneDnn, Composed]);
    assert_eq!(Target { memory_format: MemoryFormat::Contiguous, ..intel }.conv(large), [Composed]);
}

#[test]
fn winograd_comes_first_where_it_computes_the_layer() {
    use ConvChoice::{Composed, OneDnn, Winograd};
    let cpu = target(Device::Cpu, Kind::Float);
    for (tiles, choices) in [(true, &[Winograd, OneDnn, Composed][..]), (false, &[OneDnn, Composed])] {
        let layer = ConvLayer { tiles, ..convolution(2, false, Activation::Relu) };
        assert_eq!(cpu.conv(layer), choices, "{tiles}");
        assert_eq!(Target { backend: Backend::Direct, ..cpu }.conv(layer), [OneDnn, Composed]);
        assert_eq!(Target { kind: Kind::BFloat16, ..cpu }.conv(layer), [OneDnn, Composed]);
    }
}

#[test]
fn cuda_fuses_relu_in_two_dimensions() {
    use ConvChoice::{Composed, Cudnn, OnePass};
    let cuda = target(Device::Cuda(0), Kind::Half);
    assert_eq!(cuda.conv(convolution(2, false, Activation::Relu)), [Cudnn, OnePass, Composed]);
    for layer in [
        convolution(2, true, Activation::Relu),
        convolution(3, false, Activation::Relu),
        convolution(2, false, Activation::Silu),
    ] {
        assert_eq!(cuda.conv(layer), [OnePass, Composed], "{layer:?}");
    }
    let patches = ConvLayer { apart: Some(256), ..convolution(2, false, Activation::None) };
    assert_eq!(cuda.conv(patches), [ConvChoice::Lt, OnePass, Composed]);
    let pixels = ConvLayer { apart: Some(1), ..convolution(2, false, Activation::Relu) };
    assert_eq!(cuda.conv(pixels), [Cudnn, OnePass, Composed, ConvChoice::Lt]);
    assert_eq!(target(Device::Cuda(0), Kind::Float).conv(patches), [OnePass, Composed]);
    let double = target(Device::Cuda(0), Kind::Double);
    assert_eq!(double.conv(convolution(2, false, Activation::Relu)), [Composed]);
}

#[test]
fn integers_serve_what_is_large_and_falls_into_groups() {
    use LinearChoice::{Coded, Composed, Dequantized};
    let cpu = target(Device::Cpu, Kind::Float);
    let format = WeightFormat::Int4 { group: 128 };
    let of = |shape| LinearLayer { format: Some(format), ..linear(shape, true, Activation::None) };
    assert_eq!(cpu.linear(of([768, 512]), None), [Coded(format), Dequantized(format)]);
    assert_eq!(cpu.linear(of([1024, 64]), None), [LinearChoice::OneDnn, Composed], "64 is no group");
    assert_eq!(cpu.linear(of([128, 128]), None), [LinearChoice::OneDnn, Composed], "a small weight");
    let composed = Target { backend: Backend::Composed, ..cpu };
    assert_eq!(composed.linear(of([768, 512]), None), [Dequantized(format)]);
    assert_eq!(Target { kind: Kind::BFloat16, ..cpu }.linear(of([768, 512]), None), [Dequantized(format)]);
    let cuda = target(Device::Cuda(0), Kind::Half);
    assert_eq!(cuda.linear(of([768, 512]), None), [Coded(format), Dequantized(format)]);
    let short = LinearLayer { format: Some(WeightFormat::Float8), ..of([768, 512]) };
    assert_eq!(cuda.linear(short, None), [Dequantized(WeightFormat::Float8)]);
}

#[test]
fn products_of_eight_bits_by_device_and_shape() {
    use LinearChoice::{Dynamic, Simulated};
    let (cpu, cuda) = (target(Device::Cpu, Kind::Float), target(Device::Cuda(0), Kind::BFloat16));
    for format in [DynamicFormat::Int8, DynamicFormat::Float8] {
        let of = |shape| LinearLayer { dynamic: Some(format), ..linear(shape, true, Activation::Relu) };
        let (fast, simulated) = (vec![Dynamic(format), Simulated(format)], vec![Simulated(format)]);
        let on_cpu = if format == DynamicFormat::Int8 { &fast } else { &simulated };
        assert_eq!(cpu.linear(of([768, 512]), None), *on_cpu);
        assert_eq!(cuda.linear(of([4096, 1024]), None), fast);
        assert_eq!(Target { backend: Backend::Composed, ..cuda }.linear(of([4096, 1024]), None), simulated);
        assert!(!cuda.linear(of([768, 512]), None).contains(&Dynamic(format)), "a small weight on a GPU");
        assert_eq!(Target { kind: Kind::BFloat16, ..cpu }.linear(of([768, 512]), None), simulated);
        for shape in [[128, 128], [770, 512], [768, 520]] {
            assert!(cpu.linear(of(shape), None).iter().all(|choice| !matches!(choice, Dynamic(_) | Simulated(_))));
        }
    }
}

#[test]
fn linear_layers_by_size_and_device() {
    use LinearChoice::{Composed, Mkl, OneDnn};
    let cpu = target(Device::Cpu, Kind::Float);
    let (usual, large) = (Rows::USUAL, linear([1000, 512], true, Activation::Gelu));
    assert_eq!(cpu.linear(large, None), [OneDnn, Composed]);
    assert_eq!(cpu.linear(linear([64, 64], true, Activation::Relu), None), [Composed, OneDnn]);
    let intel = Target { cpu: Cpu { mkl: true, ..cpu.cpu }, ..cpu };
    assert_eq!(intel.linear(large, None), [Mkl(usual), OneDnn, Composed]);
    assert_eq!(intel.linear(large, Some(Rows(10))), [Mkl(usual), OneDnn, Composed, Mkl(Rows(10))]);
    assert_eq!(intel.linear(LinearLayer { non_finite: true, ..large }, Some(Rows(10))), [OneDnn, Composed]);
    assert_eq!(intel.linear(LinearLayer { shared: true, ..large }, Some(Rows(10))), [Composed]);
    assert_eq!(intel.linear(linear([8, 8], true, Activation::Relu), None), [Composed, Mkl(usual), OneDnn]);
    let tiles = Target { cpu: Cpu { amx: Amx::Own, ..intel.cpu }, ..intel };
    assert_eq!(tiles.linear(large, None), [LinearChoice::Amx, Mkl(usual), OneDnn, Composed]);
    assert_eq!(
        tiles.linear(linear([8, 8], true, Activation::Relu), None),
        [Composed, Mkl(usual), LinearChoice::Amx, OneDnn]
    );
    assert_eq!(tiles.linear(LinearLayer { shared: true, ..large }, None), [Composed]);
    let strangers = Target { cpu: Cpu { amx: Amx::Shared, ..tiles.cpu }, ..tiles };
    assert_eq!(strangers.linear(large, None), [Mkl(usual), OneDnn, Composed, LinearChoice::Amx]);
    for other in [Target { backend: Backend::Direct, ..tiles }, Target { kind: Kind::Double, ..tiles }] {
        assert!(!other.linear(large, None).contains(&LinearChoice::Amx), "{other:?}");
    }
    let half = Target { kind: Kind::BFloat16, ..intel };
    assert_eq!(half.linear(large, Some(Rows(10))), [OneDnn, Composed]);
}

#[test]
fn cuda_fuses_what_follows_a_linear_layer() {
    use LinearChoice::{Composed, CublasLt, Lt};
    let half = target(Device::Cuda(1), Kind::BFloat16);
    let relu = linear([8, 8], true, Activation::Relu);
    assert_eq!(half.linear(relu, None), [Lt(0), CublasLt, Composed, Lt(1), Lt(2), Lt(3)]);
    let of = |act| LinearLayer { act, ..relu };
    assert_eq!(half.linear(of(Activation::Gelu), None), [Lt(0), Composed, Lt(1), Lt(2), Lt(3)]);
    let float = Target { kind: Kind::Float, ..half };
    assert_eq!(float.linear(of(Activation::GeluTanh), None), [CublasLt, Composed]);
    assert_eq!(float.linear(LinearLayer { has_bias: false, ..relu }, None), [Composed]);
}

#[test]
fn small_weights_stay_off_the_team_of_threads() {
    use LinearChoice::{Composed, Dots, Mkl, OneDnn};
    let cpu = Cpu { vectors: VectorWidth::Avx512, ..target(Device::Cpu, Kind::Float).cpu };
    let amd = Target { cpu, ..target(Device::Cpu, Kind::Float) };
    let of = |shape| linear(shape, true, Activation::None);
    assert_eq!(amd.linear(of([10, 512]), None), [Dots, Composed, OneDnn]);
    assert_eq!(amd.linear(of([128, 128]), None), [OneDnn, Composed, Dots]);
    assert_eq!(Target { kind: Kind::BFloat16, ..amd }.linear(of([10, 512]), None), [Composed, OneDnn]);
    let intel = Target { cpu: Cpu { mkl: true, ..cpu }, ..amd };
    assert_eq!(intel.linear(of([10, 512]), None), [Composed, Mkl(Rows::USUAL), OneDnn, Dots]);
    let by_operators = Target { cpu: Cpu { onednn: OneDnnCall::Operator, ..cpu }, ..amd };
    assert_eq!(by_operators.linear(of([128, 128]), None), [Composed, OneDnn, Dots]);
    assert_eq!(by_operators.linear(of([1000, 512]), None), [OneDnn, Composed, Dots]);
}

#[test]
fn a_shared_weight_stays_as_it_lies() {
    use LinearChoice::{Composed, Dots, OneDnn};
    let cpu = target(Device::Cpu, Kind::Float);
    let wide = Target { cpu: Cpu { vectors: VectorWidth::Avx2, mkl: true, amx: Amx::Own, ..cpu.cpu }, ..cpu };
    let table = LinearLayer { shared: true, ..linear([50257, 768], false, Activation::None) };
    assert_eq!(wide.linear(table, None), [Dots, Composed]);
    assert_eq!(wide.linear(LinearLayer { non_finite: true, ..table }, None), [Dots, Composed]);
    assert_eq!(wide.linear(LinearLayer { shape: [50257, 770], ..table }, None), [Composed]);
    assert_eq!(wide.linear(LinearLayer { shape: [64, 64], ..table }, None), [Composed, Dots]);
    assert_eq!(wide.linear(LinearLayer { shared: false, ..table }, None).last(), Some(&Dots));
    assert_eq!(cpu.linear(table, None), [Composed]);
    assert_eq!(Target { kind: Kind::BFloat16, ..wide }.linear(table, None), [Composed]);
    assert_eq!(Target { device: Device::Cuda(0), ..wide }.linear(table, None), [Composed]);
    let alone = Target { cpu: Cpu { vectors: VectorWidth::Avx512, ..cpu.cpu }, ..cpu };
    assert_eq!(alone.linear(LinearLayer { shared: false, ..table }, None), [OneDnn, Composed, Dots]);
}

#[test]
fn composed_means_composed() {
    let cpu = Cpu {
        onednn: OneDnnCall::Direct,
        bf16: true,
        f16: true,
        mkl: true,
        amx: Amx::Own,
        vectors: VectorWidth::Avx512,
    };
    let target = Target { backend: Backend::Composed, cpu, ..target(Device::Cpu, Kind::Float) };
    let small = ConvLayer { tiles: true, ..convolution(2, false, Activation::Relu) };
    assert_eq!(target.conv(small), [ConvChoice::Composed]);
    assert_eq!(target.linear(linear([1024, 1024], true, Activation::Relu), Some(Rows(1))), [LinearChoice::Composed]);
}
