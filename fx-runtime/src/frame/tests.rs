//! Frames of a model of one weight: what they take in, place, hand out and refuse.

use super::*;
use crate::ffi::{Param, ops};
use crate::frozen::{Activation, oracle};

fn floats(sizes: &[i64]) -> Tensor {
    Tensor::ones(sizes, (Kind::Float, Device::Cpu))
}

#[test]
fn keeps_the_models_device_and_dtype_or_takes_the_options() {
    let frame = oracle::frame(Freeze::new());
    assert_eq!((frame.device(), frame.kind(), frame.model()), (Device::Cpu, Kind::Float, "Probe"));
    assert_eq!(oracle::frame(Freeze::new().kind(Kind::Double)).kind(), Kind::Double);
}

#[test]
fn refuses_what_it_cannot_be_frozen_for() {
    let integers = Frame::new("Probe", &Freeze::new().kind(Kind::Int64), &oracle::model()).unwrap_err();
    assert!(integers.to_string().contains("freezing `Probe` in Int64"), "{integers}");
    let far = Frame::new("Probe", &Freeze::new().device(Device::Cuda(99)), &oracle::model()).unwrap_err();
    assert!(far.to_string().contains("Cuda(99)"), "{far}");
}

#[test]
fn inputs_are_checked() {
    let frame = oracle::frame(Freeze::new());
    let scope = frame.enter();
    let error = scope.input("xs", &floats(&[2]).to_kind(Kind::Half)).unwrap_err();
    assert!(error.to_string().starts_with("`xs` has dtype Half but the model has Float"), "{error}");
    assert!(scope.input("ids", &Tensor::from_slice(&[1i64, 2])).is_ok());
    assert!(scope.input("xs", &Tensor::new()).is_err());
}

#[test]
fn without_weights_inputs_say_the_dtype() {
    let (any, halves) = (Freeze::new(), Freeze::new().kind(Kind::Half));
    let frame = |options: &Freeze| Frame::new("Pool", options, &()).unwrap();
    for kind in [Kind::Float, Kind::Double, Kind::Half] {
        let xs = floats(&[2]).to_kind(kind);
        assert_eq!(frame(&any).enter().input("xs", &xs).unwrap().kind(), kind);
        assert_eq!(frame(&halves).enter().input("xs", &xs).is_ok(), kind == Kind::Half);
    }
}

#[test]
fn a_weight_of_two_names_is_copied_once_while_freezing() {
    let frame = oracle::frame(Freeze::new());
    let (table, other) = (floats(&[4, 3]), floats(&[4, 3]));
    let first = {
        let _freezing = frame.freezing();
        let first = frame.param(&table).unwrap();
        assert_eq!(frame.param(&table.shallow_clone()).unwrap().data_ptr(), first.data_ptr());
        assert_ne!(first.data_ptr(), table.data_ptr());
        for apart in [&other, &table.narrow(0, 0, 2), &table.view([3, 4])] {
            assert_ne!(frame.param(apart).unwrap().data_ptr(), first.data_ptr());
        }
        first
    };
    assert_ne!(frame.param(&table).unwrap().data_ptr(), first.data_ptr(), "the model may have changed since");
}

#[test]
fn training_is_refused() {
    let frame = oracle::frame(Freeze::new());
    let scope = frame.enter();
    assert!(scope.inference_only("train", false).is_ok());
    let error = scope.inference_only("train", true).unwrap_err();
    assert!(error.to_string().starts_with("training (`train` is true) of the frozen `Probe`"), "{error}");
}

#[test]
fn results_have_the_callers_layout() {
    let frame = oracle::frame(Freeze::new());
    let plain = floats(&[2, 3, 4, 5]);
    let last = ops::clone_in(&plain, ops::MemoryFormat::ChannelsLast).unwrap();
    let scope = frame.enter();
    let _ = scope.input("xs", &plain).unwrap();
    assert!(scope.output(last.shallow_clone()).unwrap().is_contiguous());
    let _ = scope.input("xs", &last).unwrap();
    assert_eq!(scope.output(last.shallow_clone()).unwrap().stride(), last.stride());
}

#[test]
fn gradients_are_off_inside_alone() {
    let frame = oracle::frame(Freeze::new());
    let weight = floats(&[2]).set_requires_grad(true);
    {
        let _scope = frame.enter();
        assert!(!(&weight * 2.0).requires_grad());
    }
    assert!((&weight * 2.0).requires_grad());
}

#[test]
fn weights_are_placed_and_their_nan_is_noticed() {
    let frame = oracle::frame(Freeze::new().kind(Kind::Double));
    assert_eq!(frame.param(&floats(&[2])).unwrap().kind(), Kind::Double);
    assert_eq!(frame.param(&Tensor::from_slice(&[1i64])).unwrap().kind(), Kind::Int64);
    assert!(Activation::Relu.may_fuse(&frame.non_finite()));
    frame.param(&Tensor::from_slice(&[1.0, f32::NAN])).unwrap();
    assert!(!Activation::Relu.may_fuse(&frame.non_finite()) && Activation::Silu.may_fuse(&frame.non_finite()));
}

#[test]
fn crosses_threads() {
    fn assert_send_sync<T: Send + Sync>() {}
    assert_send_sync::<Frame>();
    assert_send_sync::<Param>();
}
