//! What the function of a group comes to over each thing that it is computed on: the part of a group that is compiled in the
//! crate that has it.

use std::any::{TypeId, type_name};

use fx_ir::ops::group::{MOST_INPUTS, MOST_REDUCTIONS, MOST_RESULTS};
use tch::{TchError, Tensor};

use super::cuda::{Name, Tape};
use super::eager_tensor::EagerTensor;
use super::layout::{AnyNumber, Layout, Sources};
use super::loops::Loops;
use super::{Group, Number};

/// The functions of a group, and how many inputs, numbers and results they take.
pub(super) struct Instances {
    pub(super) inputs: usize,
    pub(super) numbers: usize,
    pub(super) results: usize,
    /// Whether it has ops on rows.
    pub(super) has_rows: bool,
    pub(super) id: fn() -> TypeId,
    pub(super) name: fn() -> &'static str,
    /// What each result is made of.
    pub(super) sources: fn(&mut [Sources]),
    /// How the results lie where inputs lie so.
    pub(super) layouts: fn(&[Layout]) -> Vec<Layout>,
    /// By `ATen`'s operators.
    pub(super) composed: Composed,
    /// Writes the function down; the names of the results.
    pub(super) tape: fn(&Tape) -> Vec<Name>,
    pub(super) loops: Loops,
}

type Composed = fn(&[&Tensor], &[Number]) -> Result<Vec<Tensor>, TchError>;

impl Instances {
    /// The functions of a group.
    pub(super) const fn of<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>() -> Self {
        assert!(
            I <= MOST_INPUTS && N <= MOST_INPUTS && O <= MOST_RESULTS && G::REDUCTIONS <= MOST_REDUCTIONS,
            "a group is larger than a pass makes it"
        );
        Self {
            inputs: I,
            numbers: N,
            results: O,
            has_rows: G::REDUCTIONS > 0,
            id: TypeId::of::<G>,
            name: type_name::<G>,
            sources: sources::<G, I, N, O>,
            layouts: layouts::<G, I, N, O>,
            composed: composed::<G, I, N, O>,
            tape: tape::<G, I, N, O>,
            loops: Loops::of::<G, I, N, O>(),
        }
    }
}

fn sources<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(results: &mut [Sources]) {
    results.copy_from_slice(&G::lanes(Sources::of_inputs::<I>(), [AnyNumber; N]));
}

fn layouts<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(inputs: &[Layout]) -> Vec<Layout> {
    let Some(inputs) = inputs.first_chunk::<I>() else { return Vec::new() };
    G::lanes(*inputs, [AnyNumber; N]).to_vec()
}

fn composed<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(
    inputs: &[&Tensor],
    numbers: &[Number],
) -> Result<Vec<Tensor>, TchError> {
    let (Some(inputs), Some(numbers)) = (inputs.first_chunk::<I>(), numbers.first_chunk::<N>()) else {
        return Ok(Vec::new());
    };
    EagerTensor::all(&mut G::lanes(inputs.map(EagerTensor::of), *numbers).into_iter())
}

fn tape<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(tape: &Tape) -> Vec<Name> {
    let (mut inputs, mut numbers) = ([tape.variable(Name::Input(0)); I], [Name::Given(0); N]);
    for (number, input) in inputs.iter_mut().enumerate() {
        *input = tape.variable(Name::Input(number));
    }
    for (at, number) in numbers.iter_mut().enumerate() {
        *number = Name::Given(at);
    }
    G::lanes(inputs, numbers).iter().map(|result| result.name).collect()
}
