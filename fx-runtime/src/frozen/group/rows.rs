//! Groups with ops on rows: the same function over elements, once for each thing that it asks of a row, and once more.
//!
//! A [`RowElement`] element knows in which pass it is. What was asked before is an answer that it reads, what is asked in this
//! pass is noted, and all that follows is computed in vain, which the compiler sees and leaves out: which ask is which is
//! known to it, since the function has no branches. The same holds for what is [kept](PointwiseOps::kept): once the element
//! reads it, what it was computed from is left out.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

use std::cell::Cell;
use std::ops::{Add, Div, Mul, Sub};

use fx_ir::ops::group::MOST_REDUCTIONS;
use tch::{Kind, Tensor};

use super::element::{Element, Real};
use super::instances::Instances;
use super::layout::Layout;
use super::loops::{Elements, Loops, elements};
use super::pointwise_ops::param;
use super::{Group, Number, PointwiseOps, cuda, floats, nearest};
use crate::Error;
use crate::ffi::pointwise::device::rows::RowCase;
use crate::ffi::pointwise::rows::{Kept, LEAST_LENGTH, MOST_KEPT, Reduction, RowBlocks};
use crate::ffi::pointwise::{self, BLOCK, Number as _, Operand};

impl Instances {
    /// Runs a group row by row; none where there may be something that it cannot do, or does slower.
    pub(super) fn row_by_row(
        &self,
        operands: &[Operand<'_>],
        inputs: &[&Tensor],
        numbers: &[Number],
    ) -> Option<Result<Vec<Tensor>, Error>> {
        let facts = operands.first()?.facts();
        let layouts: Vec<Layout> = operands.iter().map(Layout::of).collect();
        let results = (self.layouts)(&layouts);
        let shape = Shape::of(&layouts, &results)?;
        let sizes = shape.whole.sizes();
        let is_whole: Vec<bool> = results.iter().map(|result| shape.is_whole(result)).collect();
        if facts.device.0 == 1 {
            let case = RowCase::of(operands, sizes, &is_whole)?;
            let kernel = cuda::row_kernel(self, case, inputs.first()?.device())?;
            return Some(kernel.run(inputs, operands, &floats(numbers), sizes));
        }
        let Loops::Rows { f32, f64 } = &self.loops else { return None };
        if results.iter().any(Layout::is_wasteful) || shape.is_padded() {
            return None;
        }
        let found = if facts.dtype == f64::DTYPE {
            if results.iter().any(Layout::is_costly) {
                return None;
            }
            f64.run(operands, &floats(numbers), sizes, &is_whole)?
        } else if pointwise::has_vectors() && f32::half(facts.dtype).is_ok() {
            f32.run(operands, &nearest(numbers), sizes, &is_whole)?
        } else {
            return None;
        };
        Some(found.map_err(Error::from))
    }
}

/// Rows of fewer elements together are computed in one go however long each is.
///
/// Measured on two cores (Sapphire Rapids) by `cargo bench -p fx-benches --bench grid`: an addition and a softmax over
/// 1576 rows of 197 take 1.4 of the time of `ATen`'s two operators, over rows of 768 and 1000 as long as these.
const PADDED_FROM: i64 = 1 << 15;
/// Up to this part of a row's length may be empty in its last block.
const MOST_EMPTY: usize = 8;

/// The shape that a group on rows goes over.
pub(super) struct Shape {
    whole: Layout,
}

impl Shape {
    /// None where the inputs do not broadcast, an op on rows goes over others than these, or a result has another shape.
    pub(super) fn of(inputs: &[Layout], results: &[Layout]) -> Option<Self> {
        let (first, rest) = inputs.split_first()?;
        let whole = rest.iter().try_fold(*first, |whole, input| whole.broadcast(input))?;
        let shape = Self { whole };
        let length = shape.length()?;
        let is_ours = |result: &Layout| {
            let is_row = result.rows().is_none_or(|rows| rows == (whole.elements(), length));
            result.is_known() && result.is_row_major() && is_row && (shape.is_whole(result) || shape.is_reduced(result))
        };
        (whole.elements() > 0 && length >= i64::try_from(LEAST_LENGTH).ok()? && results.iter().all(is_ours))
            .then_some(shape)
    }

    /// Returns whether rows are so many and leave so much of their last block empty that `ATen`'s operators are faster.
    fn is_padded(&self) -> bool {
        let (Some(length), elements) =
            (self.length().and_then(|length| usize::try_from(length).ok()), self.whole.elements())
        else {
            return false;
        };
        let empty = length.next_multiple_of(BLOCK) - length;
        elements >= PADDED_FROM && empty * MOST_EMPTY > length
    }

    /// Elements of a row.
    fn length(&self) -> Option<i64> {
        self.whole.sizes().last().copied()
    }

    fn is_whole(&self, result: &Layout) -> bool {
        result.sizes() == self.whole.sizes()
    }

    /// Whether it is one element for each row.
    fn is_reduced(&self, result: &Layout) -> bool {
        let (Some((last, outer)), Some((_, whole))) = (result.sizes().split_last(), self.whole.sizes().split_last())
        else {
            return false;
        };
        *last == 1 && outer == whole
    }
}

impl<G: Group<I, N, O>, T: Real, const I: usize, const N: usize, const O: usize> RowBlocks<T, I, N, O> for Elements<G> {
    const REDUCTIONS: usize = G::REDUCTIONS;

    #[inline(always)]
    fn block<const PASS: usize>(
        inputs: [&[T; BLOCK]; I],
        numbers: [T; N],
        known: &[T; MOST_REDUCTIONS],
        kept: &mut Kept<T>,
        values: &mut [T; BLOCK],
        outputs: &mut [[T; BLOCK]; O],
    ) -> Option<Reduction> {
        let numbers = elements(numbers);
        let mut asked = None;
        for at in 0..BLOCK {
            let pass = Pass::<T, PASS> {
                known: *known,
                kept: std::array::from_fn(|slot| kept[slot][at]),
                asked: Cell::new(None),
                keeps: [const { Cell::new(None) }; MOST_KEPT],
                asks: Cell::new(0),
                slots: Cell::new(0),
            };
            let mut lanes = [RowElement { value: Element(T::ZERO), pass: &pass }; I];
            let mut input = 0;
            while input < I {
                lanes[input].value = Element(inputs[input][at]);
                input += 1;
            }
            let results = G::lanes(lanes, numbers);
            if PASS == G::REDUCTIONS {
                let mut output = 0;
                while output < O {
                    outputs[output][at] = results[output].value.0;
                    output += 1;
                }
            } else if let Some((value, reduction)) = pass.asked.get() {
                values[at] = value;
                asked = Some(reduction);
            }
            let mut slot = 0;
            while slot < MOST_KEPT {
                if let Some(value) = pass.keeps[slot].get() {
                    kept[slot][at] = value;
                }
                slot += 1;
            }
        }
        asked
    }
}

/// What is known of a row in one pass, and found out about one of its elements.
struct Pass<T, const PASS: usize> {
    known: [T; MOST_REDUCTIONS],
    kept: [T; MOST_KEPT],
    asked: Cell<Option<(T, Reduction)>>,
    keeps: [Cell<Option<T>>; MOST_KEPT],
    /// What was asked so far, of this element.
    asks: Cell<usize>,
    /// What was kept so far.
    slots: Cell<usize>,
}

/// An element in one of the passes over its row.
#[derive(Clone, Copy)]
pub(super) struct RowElement<'p, T, const PASS: usize> {
    value: Element<T>,
    pass: &'p Pass<T, PASS>,
}

impl<T: Real, const PASS: usize> RowElement<'_, T, PASS> {
    #[inline(always)]
    fn with(self, value: Element<T>) -> Self {
        Self { value, ..self }
    }

    #[inline(always)]
    fn ask(self, reduction: Reduction) -> Self {
        let number = self.pass.asks.get();
        self.pass.asks.set(number + 1);
        if number == PASS {
            self.pass.asked.set(Some((self.value.0, reduction)));
        }
        // More than there are, and the group is none that the printer writes.
        let answer = if number < MOST_REDUCTIONS { self.pass.known[number] } else { T::of(f64::NAN) };
        self.with(Element(answer))
    }
}

macro_rules! operators {
    ($($operator:ident: $method:ident;)*) => {$(
        impl<T: Real, const PASS: usize> $operator for RowElement<'_, T, PASS> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.with($operator::$method(self.value, other.value))
            }
        }
        operators!(@number $operator: $method, Element<T> f64 i64);
    )*};
    (@number $operator:ident: $method:ident, $($number:ty)*) => {$(
        impl<T: Real, const PASS: usize> $operator<$number> for RowElement<'_, T, PASS> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, number: $number) -> Self {
                self.with($operator::$method(self.value, number))
            }
        }
    )*};
}

operators! {
    Add: add;
    Sub: sub;
    Mul: mul;
    Div: div;
}

/// The methods of `PointwiseOps` on the element itself.
macro_rules! elementwise {
    ($($id:ident = row($($row:tt)*) $(.$column:ident($($value:tt)*))*
        $(: $name:ident($x:ident $(, $param:ident: $kind:ident)*) = $body:expr, by $method:ident
            $(=> $act:ident $in_place:ident)?)?;)*) => {$($(
        #[inline(always)]
        fn $name(self $(, $param: param!($kind))*) -> Self {
            self.with(PointwiseOps::$name(self.value $(, elementwise!(@ $kind $param))*))
        }
    )?)*};
    (@ lane $param:ident) => { $param.value };
    (@ $kind:ident $param:ident) => { $param };
}

impl<T: Real, const PASS: usize> PointwiseOps for RowElement<'_, T, PASS> {
    type Number = Element<T>;

    fx_ir::op_table!(elementwise);

    /// Written in the pass in which all that it needs is known first, and read in later ones.
    #[inline(always)]
    fn kept(self) -> Self {
        let (slot, known) = (self.pass.slots.get(), self.pass.asks.get());
        self.pass.slots.set(slot + 1);
        if slot >= MOST_KEPT || PASS < known {
            return self;
        }
        if PASS == known {
            self.pass.keeps[slot].set(Some(self.value.0));
            return self;
        }
        self.with(Element(self.pass.kept[slot]))
    }
    #[inline(always)]
    fn sum(self, _: Option<Kind>) -> Self {
        self.ask(Reduction::Sum)
    }
    #[inline(always)]
    fn mean(self, _: Option<Kind>) -> Self {
        self.ask(Reduction::Mean)
    }
    #[inline(always)]
    fn log_sum(self) -> Self {
        self.ask(Reduction::LogSum)
    }
    #[inline(always)]
    fn amax(self) -> Self {
        self.ask(Reduction::Max)
    }
}
