//! BERT is saved and loaded: the same bits, and without the model.

use std::time::Instant;

use fx_runtime::Freeze;
use resnet18::{Error, weights};
use zoo::BertModel;
use zoo::bert_base::BertModelFrozen;
use zoo::reference::model;

#[test]
fn bert_base_comes_back_bit_for_bit() -> Result<(), Error> {
    let ids = weights::tokens(2, 128, BertModel::VOCABULARY);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("frozen.safetensors");
    let net = model(BertModel::new);
    let start = Instant::now();
    let frozen = net.freeze(&Freeze::default())?;
    let freeze = start.elapsed();
    frozen.save(&path)?;
    drop(net);
    let start = Instant::now();
    let loaded = BertModelFrozen::load(&path, &Freeze::default());
    let load = start.elapsed();
    let loaded = loaded?;
    println!("freeze {freeze:?}, load {load:?}");
    for _ in 0..2 {
        assert_eq!(loaded.try_forward_t(&ids, None, None, false)?, frozen.try_forward_t(&ids, None, None, false)?);
    }
    Ok(())
}
