//! GPT-2, eager and frozen, gives PyTorch's numbers, and writes the same text with a cache as without.

use fx_runtime::{Error as FxError, Freeze, Kind, Module as _, Tensor};
use resnet18::{Error, weights};
use zoo::gpt2::KeyValue;
use zoo::reference::{check, expected, model};
use zoo::{CachedGpt2, Gpt2};

/// Number of tokens that are written.
const WRITTEN: i64 = 32;

/// The word table and the last layer are one tensor, filled under both its names, last as `lm_head.weight`.
fn gpt2() -> Gpt2 {
    let net = model(Gpt2::new);
    assert_eq!(net.state_dict().last().map(|(name, _)| name.as_str()), Some("lm_head.weight"));
    net
}

fn check_logits(what: &str, logits: &Tensor) -> Result<(), Error> {
    let last = logits.select(1, -1);
    check(&format!("{what}, last"), &last, &expected("gpt2", "logits_last")?)?;
    let means = logits.mean_dim([-1i64].as_slice(), false, Kind::Float);
    check(&format!("{what}, means"), &means, &expected("gpt2", "logits_mean")?)
}

#[test]
fn gpt2_gives_the_numbers_of_pytorch() -> Result<(), Error> {
    let ids = weights::tokens(2, 64, Gpt2::VOCABULARY);
    let net = gpt2();
    assert_eq!(net.state_dict().len(), 149);
    check_logits("eager", &tch::no_grad(|| net.forward_t(&ids, false)))?;
    check_logits("frozen", &net.freeze(&Freeze::default())?.try_forward_t(&ids, false)?)
}

/// The likeliest next tokens, `[N, 1]`.
fn next(logits: &Tensor) -> Tensor {
    logits.select(1, -1).argmax(-1, true)
}

/// Continues `ids`, reading the whole text again for each token.
fn write(ids: &Tensor, forward: impl Fn(&Tensor) -> Result<Tensor, FxError>) -> Result<Vec<i64>, Error> {
    let mut text = ids.shallow_clone();
    for _ in 0..WRITTEN {
        text = Tensor::cat(&[&text, &next(&forward(&text)?)], 1);
    }
    Ok(Vec::try_from(text.flatten(0, -1))?)
}

/// Continues `ids`, reading each token once.
fn write_cached(
    ids: &Tensor,
    empty: Vec<KeyValue>,
    forward: impl Fn(&Tensor, &[KeyValue]) -> Result<(Tensor, Vec<KeyValue>), FxError>,
) -> Result<Vec<i64>, Error> {
    let (mut text, mut ids, mut past) = (ids.shallow_clone(), ids.shallow_clone(), empty);
    for _ in 0..WRITTEN {
        let (logits, present) = forward(&ids, &past)?;
        (ids, past) = (next(&logits), present);
        text = Tensor::cat(&[&text, &ids], 1);
    }
    Ok(Vec::try_from(text.flatten(0, -1))?)
}

#[test]
fn a_cache_changes_nothing() -> Result<(), Error> {
    let ids = weights::tokens(2, 8, Gpt2::VOCABULARY);
    let net = gpt2();
    let frozen = net.freeze(&Freeze::default())?;
    let plain = write(&ids, |ids| frozen.try_forward_t(ids, false))?;
    drop(frozen);
    let cached: CachedGpt2 = net.cached();
    let empty = || cached.empty(2);
    let eager = write_cached(&ids, empty(), |ids, past| Ok(tch::no_grad(|| cached.forward(ids, past))))?;
    assert_eq!(eager, plain, "eager with a cache, frozen without");
    let frozen = cached.freeze(&Freeze::default())?;
    assert_eq!(write_cached(&ids, empty(), |ids, past| frozen.try_forward(ids, past))?, plain, "frozen with a cache");
    Ok(())
}
