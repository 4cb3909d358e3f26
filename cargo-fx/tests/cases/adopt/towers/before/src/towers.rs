use tch::nn;

fn residual<'a>(p: nn::Path) -> nn::FuncT<'a> {
    let fc = nn::linear(&p / "fc", 8, 8, Default::default());
    nn::func_t(move |xs, _| xs + xs.apply(&fc).relu())
}

/// A chain of closures that a model of another module keeps.
pub(crate) fn tower(p: &nn::Path, blocks: i64) -> nn::SequentialT {
    let mut net = nn::seq_t();
    for at in 0..blocks {
        net = net.add(residual(p / at));
    }
    net
}
