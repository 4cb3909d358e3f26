use tch::nn;
use tch::nn::ModuleT;

/// What a closure keeps.
#[derive(Debug)]
pub struct Slope(f64);

fn block(p: nn::Path, width: i64, slope: Slope) -> impl ModuleT {
    let conv = nn::conv2d(&p / "conv", width, width, 1, Default::default());
    nn::func_t(move |xs, _| xs.apply(&conv).relu() * slope.0)
}

/// A model out of closures.
#[must_use]
pub fn net(p: &nn::Path) -> impl ModuleT {
    let first = block(p / 0, 8, Slope(0.1));
    nn::func_t(move |xs, train| xs.apply_t(&first, train))
}

mod inner {
    /// In a module of its own.
    pub fn head(p: &tch::nn::Path) -> tch::nn::Sequential {
        tch::nn::seq().add(tch::nn::linear(p / "head", 8, 2, Default::default()))
    }
}

pub fn with_head(p: &nn::Path) -> nn::FuncT<'static> {
    let head = inner::head(p);
    nn::func_t(move |xs, _| xs.apply(&head))
}
