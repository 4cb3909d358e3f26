//! BERT, eager and frozen, gives PyTorch's numbers, with and without its optional inputs.

use fx_runtime::{Freeze, Module as _, Tensor};
use resnet18::{Error, weights};
use zoo::BertModel;
use zoo::reference::{check, expected, model};

/// The ids of the reference, and its mask: the second text ends after 100 tokens.
fn input() -> (Tensor, Tensor) {
    let ids = weights::tokens(2, 128, BertModel::VOCABULARY);
    let mask = ids.ones_like();
    let _ = mask.select(0, 1).narrow(0, 100, 28).fill_(0);
    (ids, mask)
}

#[test]
fn bert_base() -> Result<(), Error> {
    let (ids, mask) = input();
    let wanted = [expected("bert_base", "last_hidden_state")?, expected("bert_base", "pooler_output")?];
    let net = model(BertModel::new);
    assert_eq!(net.state_dict().len(), 199);
    let (hidden, pooled) = tch::no_grad(|| net.forward_t(&ids, Some(&mask), None, false));
    check("eager, hidden state", &hidden, &wanted[0])?;
    check("eager, pooler", &pooled, &wanted[1])?;
    let frozen = net.freeze(&Freeze::default())?;
    let (hidden, pooled) = frozen.try_forward_t(&ids, Some(&mask), None, false)?;
    check("frozen, hidden state", &hidden, &wanted[0])?;
    check("frozen, pooler", &pooled, &wanted[1])?;
    let types = ids.remainder(2);
    for (mask, types) in [(None, None), (None, Some(&types)), (Some(&mask), Some(&types))] {
        let (hidden, pooled) = frozen.try_forward_t(&ids, mask, types, false)?;
        let (wanted_hidden, wanted_pooled) = tch::no_grad(|| net.forward_t(&ids, mask, types, false));
        check("hidden state", &hidden, &wanted_hidden)?;
        check("pooler", &pooled, &wanted_pooled)?;
    }
    Ok(())
}
