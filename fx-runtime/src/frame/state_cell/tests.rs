//! Cells: what they share, what they begin with, and what they refuse.

use tch::{Device, Kind};

use super::*;
use crate::Freeze;
use crate::frozen::oracle::frame;

fn floats(numbers: &[f32]) -> Tensor {
    Tensor::from_slice(numbers)
}

fn assert_send_sync<T: Send + Sync>() {}

#[test]
fn a_field_is_one_cell_while_the_model_is_frozen() {
    let frame = frame(Freeze::new());
    let fields = (Some(floats(&[1.0])), 7_i64);
    let scope = frame.freezing();
    let one = StateCell::of(&frame, &fields.0).unwrap();
    let same = StateCell::of(&frame, &fields.0).unwrap();
    let other = StateCell::of(&frame, &fields.1).unwrap();
    drop(scope);
    one.set(None);
    assert!(same.lock().is_none());
    assert_eq!(other.value().unwrap(), 7);
    let later = StateCell::of(&frame, &fields.0).unwrap();
    assert!(later.lock().is_some(), "an address says nothing any more once the model is frozen");
}

#[test]
fn nothing_is_shared_with_the_model_or_with_the_start() {
    let frame = frame(Freeze::new());
    let field = vec![floats(&[1.0, 2.0])];
    let kept = StateCell::of(&frame, &field).unwrap();
    let _ = field[0].shallow_clone().zero_();
    assert_eq!(kept.lock()[0], floats(&[1.0, 2.0]));
    let _ = kept.value().unwrap()[0].zero_();
    assert_eq!(kept.lock()[0], floats(&[0.0, 0.0]));
    frame.reset_state().unwrap();
    assert_eq!(kept.lock()[0], floats(&[1.0, 2.0]));
}

#[test]
fn floats_are_of_the_frames_dtype_and_undefined_tensors_stay() {
    let frame = frame(Freeze::new().kind(Kind::Double));
    let field = (floats(&[1.0]), Tensor::from_slice(&[1_i64]), Tensor::new());
    let kept = StateCell::of(&frame, &field).unwrap();
    let value = kept.lock();
    assert_eq!((value.0.kind(), value.1.kind(), value.2.defined()), (Kind::Double, Kind::Int64, false));
    assert_eq!(value.0.device(), Device::Cpu);
}

#[test]
fn a_type_of_the_programs_own_is_cloned_or_refused() {
    #[derive(Clone)]
    struct Words(Vec<&'static str>);
    struct Lone;
    let frame = frame(Freeze::new());
    let kept = crate::state_cell!(&frame, &Words(vec!["a"]), "words", Words).unwrap();
    kept.lock().0.push("b");
    frame.reset_state().unwrap();
    assert_eq!(kept.lock().0, ["a"]);
    let refused = crate::state_cell!(&frame, &Lone, "lone", Lone).unwrap_err().to_string();
    assert!(refused.contains("`lone`") && refused.contains("make its type `Clone` and `Send`"), "{refused}");
    let refused = crate::state_cell!(&frame, &std::rc::Rc::new(1), "count", std::rc::Rc<i32>).unwrap_err();
    assert!(refused.to_string().contains("`count`"));
}

#[test]
fn cells_cross_threads() {
    assert_send_sync::<StateCell<Option<(Tensor, Tensor)>>>();
    assert_send_sync::<StateCell<std::cell::Cell<i32>, Foreign>>();
}
