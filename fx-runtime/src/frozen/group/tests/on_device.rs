//! The kernels of groups on a GPU, against `ATen` there and against f64. Where there is none the tests say so.

use super::rows::{check_narrow, check_wide};
use super::*;
use crate::ffi::cuda::gpu_or_skip;

/// Products that are added are contracted, so that the last bits may be others than `ATen`'s in every group.
#[test]
fn elements_on_a_gpu_are_those_of_aten() {
    let Some(gpu) = gpu_or_skip("elements on a GPU") else { return };
    for (kind, within, calls) in [(Kind::Float, 4e-6, 100), (Kind::Double, 1e-14, 40)] {
        let (within, most) = (Rounding::Within(within), calls * 4 / 5);
        assert!(check_on::<SquaredRelu, 1, 0, 1>(gpu, Rounding::Same, kind, calls) > most);
        assert!(check_on::<Film, 3, 0, 1>(gpu, within, kind, calls) > most);
        assert!(check_on::<Rotation, 4, 0, 1>(gpu, within, kind, calls) > most);
        assert!(check_on::<Residual, 2, 0, 2>(gpu, Rounding::Same, kind, calls) > most);
        assert!(check_on::<Unlike, 2, 0, 2>(gpu, within, kind, calls) > 0);
        assert!(check_on::<Scaled, 2, 2, 1>(gpu, within, kind, calls) > most);
        // `ATen`'s sixth of hardswish and hardsigmoid is one of f32 there, in f64 too.
        let of_f32 = Rounding::Within(1e-7);
        assert!(
            check_on::<Exact, 2, 0, 1>(gpu, if kind == Kind::Double { of_f32 } else { within }, kind, calls) > most
        );
        assert!(check_on::<Roots, 1, 0, 1>(gpu, within, kind, calls) > most);
        assert!(check_on::<Rounded, 1, 0, 1>(gpu, within, kind, calls) > most);
    }
    let within = Rounding::Within(4e-6);
    assert!(check_on::<QuickGelu, 1, 0, 1>(gpu, within, Kind::Float, 100) > 80);
    assert!(check_on::<Smooth, 2, 0, 1>(gpu, within, Kind::Float, 100) > 30);
    assert!(check_on::<Logarithms, 1, 0, 1>(gpu, within, Kind::Float, 100) > 80);
    assert!(check_on::<Exponents, 1, 0, 1>(gpu, within, Kind::Float, 100) > 80);
    assert!(check_on::<Units, 1, 0, 1>(gpu, within, Kind::Float, 100) > 80);
    assert!(check_on::<Soft, 1, 0, 1>(gpu, within, Kind::Float, 100) > 80);
    assert!(check_on::<Mixed, 2, 1, 1>(gpu, within, Kind::Float, 100) > 80);
    assert_all_compiled();
}

#[test]
fn elements_of_two_bytes_on_a_gpu_are_rounded_once() {
    let Some(gpu) = gpu_or_skip("elements of two bytes on a GPU") else { return };
    for (kind, unit) in [(Kind::BFloat16, 1.0 / 256.0), (Kind::Half, 1.0 / 2048.0)] {
        let within = Rounding::Within(unit);
        assert!(check_on::<SquaredRelu, 1, 0, 1>(gpu, within, kind, 60) > 40);
        assert!(check_on::<Film, 3, 0, 1>(gpu, within, kind, 60) > 40);
        assert!(check_on::<Residual, 2, 0, 2>(gpu, within, kind, 60) > 40);
    }
}

#[test]
fn rows_on_a_gpu_are_as_exact_as_by_aten() {
    let Some(gpu) = gpu_or_skip("rows on a GPU") else { return };
    check_wide(gpu);
    check_narrow(gpu);
    assert_all_compiled();
}

/// All but the groups that another test has refused, on a device that is not there.
fn assert_all_compiled() {
    let here = super::super::uncompiled().into_iter().filter(|text| text.contains("Cuda(0)"));
    assert_eq!(here.collect::<Vec<_>>(), Vec::<String>::new());
}
