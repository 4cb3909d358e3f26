//! The crate of this case has no build.rs.

use fx_runtime::{Error, Freeze, Tensor, traceable};

pub struct Net;

#[traceable]
impl Net {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

// What would be generated is not complained about again.
fn main() -> Result<(), Error> {
    let frozen: NetFrozen = Net.freeze(&Freeze::default())?;
    let _: Tensor = frozen.forward(&Tensor);
    let _: Tensor = frozen.try_forward(&Tensor)?;
    Ok(())
}
