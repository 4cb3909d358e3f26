//! How a thread calls libtorch while a forward runs: without gradients, and without what they cost where nobody asks.

use std::marker::PhantomData;

/// What a thread had before, as `cpp/dispatch.cpp` says it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Before {
    left_out: u64,
    is_recording: bool,
}

// SAFETY: the declarations of `cpp/dispatch.cpp`.
unsafe extern "C" {
    safe fn fx_dispatch_begin(without_autograd: bool) -> Before;
    safe fn fx_dispatch_end(before: Before);
}

/// Which kernels of autograd's a call of an operator goes through, although gradients are off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Autograd {
    /// All, which ask whether gradients are wanted: code that is not ours may turn them on.
    Asked,
    /// None: 50 to 150 nanoseconds less for each operator.
    LeftOut,
}

/// Gradients are off on this thread, until it is dropped.
#[derive(Debug)]
#[must_use = "the thread has its gradients back as soon as this is dropped"]
pub(crate) struct NoGrad {
    before: Before,
    _on_this_thread: PhantomData<*mut ()>,
}

impl NoGrad {
    pub(crate) fn begin(autograd: Autograd) -> Self {
        Self { before: fx_dispatch_begin(autograd == Autograd::LeftOut), _on_this_thread: PhantomData }
    }
}

impl Drop for NoGrad {
    fn drop(&mut self) {
        fx_dispatch_end(self.before);
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind, Tensor};

    use super::*;

    fn records() -> bool {
        let weight = Tensor::ones([2], (Kind::Float, Device::Cpu)).set_requires_grad(true);
        tch::with_grad(|| (&weight * 2.0).requires_grad())
    }

    #[test]
    fn autograd_is_as_the_innermost_scope_wants_it() {
        let outer = NoGrad::begin(Autograd::LeftOut);
        assert!(!records());
        {
            let _inner = NoGrad::begin(Autograd::Asked);
            assert!(records());
            let _innermost = NoGrad::begin(Autograd::LeftOut);
            assert!(!records());
        }
        assert!(!records());
        drop(outer);
        let weight = Tensor::ones([2], (Kind::Float, Device::Cpu)).set_requires_grad(true);
        assert!(records() && (&weight * 2.0).requires_grad());
    }

    #[test]
    fn results_are_ordinary_tensors() {
        let input = Tensor::ones([2, 2], (Kind::Float, Device::Cpu));
        let (sum, view) = {
            let _scope = NoGrad::begin(Autograd::LeftOut);
            (&input + 1.0, input.view([4]))
        };
        let weight = Tensor::ones([2, 2], (Kind::Float, Device::Cpu)).set_requires_grad(true);
        (&weight * &sum).sum(Kind::Float).backward();
        assert_eq!(weight.grad(), sum);
        let mut input = input;
        let _ = input.fill_(3.0);
        assert_eq!(view.int64_value(&[3]), 3, "a view of the same memory");
        (&weight * view.view([2, 2])).sum(Kind::Float).backward();
        assert_eq!(weight.grad(), sum + 3.0);
    }
}
