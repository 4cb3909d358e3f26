//! The pictures: 1,797 of 8 by 8 pixels, in three parts.

use std::io::Read as _;

use tch::{Kind, Tensor};

use crate::Result;

/// `data/README.md` says where they come from.
const PICTURES: &[u8] = include_bytes!("../data/digits.csv.gz");

/// Pictures and their digits.
#[derive(Debug)]
pub struct Part {
    /// `f32[N, 1, 8, 8]` from 0 to 1.
    pub pictures: Tensor,
    /// `i64[N]` from 0 to 9.
    pub digits: Tensor,
}

impl Part {
    /// The pictures of these numbers.
    pub fn batch(&self, numbers: &[i64]) -> Part {
        let numbers = Tensor::from_slice(numbers);
        Part { pictures: self.pictures.index_select(0, &numbers), digits: self.digits.index_select(0, &numbers) }
    }

    /// How many there are.
    pub fn len(&self) -> i64 {
        self.digits.size()[0]
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// All pictures, in an order that is always the same.
#[derive(Debug)]
pub struct Data {
    /// 1,079 to train and to calibrate with.
    pub train: Part,
    /// 359 to choose with.
    pub validation: Part,
    /// 359 that nothing is chosen with.
    pub test: Part,
}

impl Data {
    /// Reads the pictures.
    ///
    /// # Errors
    ///
    /// If the file is not what it was.
    pub fn read() -> Result<Data> {
        let mut text = String::new();
        flate2::read::GzDecoder::new(PICTURES).read_to_string(&mut text)?;
        let numbers: Vec<f32> =
            text.split(['\n', ',']).filter(|number| !number.is_empty()).map(str::parse).collect::<Result<_, _>>()?;
        let table = Tensor::from_slice(&numbers).f_view([-1, 65])?;
        let whole = Part {
            pictures: (table.narrow(1, 0, 64) / 16.0).f_view([-1, 1, 8, 8])?,
            digits: table.select(1, 64).to_kind(Kind::Int64),
        };
        let mut order: Vec<i64> = (0..whole.len()).collect();
        fastrand::Rng::with_seed(8).shuffle(&mut order);
        let (train, rest) = order.split_at(1079);
        let (validation, test) = rest.split_at(359);
        Ok(Data { train: whole.batch(train), validation: whole.batch(validation), test: whole.batch(test) })
    }
}
