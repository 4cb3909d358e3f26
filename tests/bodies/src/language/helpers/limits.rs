//! What dtypes can hold, with errors of another module.

use fx_runtime::Kind;
use tch::Scalar;

use crate::models::gathered::Refused;

pub(crate) fn smallest(kind: Kind) -> Result<Scalar, Refused> {
    Ok(match kind {
        Kind::Uint8 => Scalar::int(u8::MIN.into()),
        Kind::Int64 => Scalar::int(i64::MIN),
        Kind::Float => Scalar::float(f32::MIN.into()),
        Kind::Double => Scalar::float(f64::MIN),
        _ => {
            return Err(Refused(format!("no smallest number of {kind:?}")));
        }
    })
}
