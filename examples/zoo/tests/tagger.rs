//! The tagger, eager and frozen, gives PyTorch's numbers, and stops where the longest sentence ends.

use fx_runtime::{Freeze, Tensor};
use resnet18::{Error, weights};
use zoo::Tagger;
use zoo::reference::{check, expected, model};
use zoo::tagger::PADDING;

/// Words `[4, 24]`; the longest sentence has 19.
fn words() -> Tensor {
    let words = weights::tokens(4, 24, 999) + 1;
    for (row, length) in (0..).zip([19, 7, 12, 1]) {
        let _ = words.select(0, row).narrow(0, length, 24 - length).fill_(PADDING);
    }
    words
}

#[test]
fn tagger() -> Result<(), Error> {
    let wanted = expected("tagger", "output")?;
    assert_eq!(wanted.size(), [4, 19, 17]);
    let net = model(|p| Tagger::new(p, 1000, 128, 17));
    check("eager", &tch::no_grad(|| net.forward(&words())), &wanted)?;
    let frozen = net.freeze(&Freeze::default())?;
    check("frozen", &frozen.try_forward(&words())?, &wanted)?;
    check("one step", &frozen.try_forward(&words().narrow(1, 0, 1))?, &wanted.narrow(1, 0, 1))
}
