//! Lists that become arrays or are refused: `<[Tensor; 2]>::try_from(list)`, `TryInto::<[Tensor; 3]>::try_into(list)`.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// What is not of the length is refused by `let .. else`.
#[derive(Debug, Module)]
pub struct Heads {
    qkv: nn::Linear,
    parts: i64,
}

#[traceable(strict)]
impl Heads {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let qkv = xs.apply(&self.qkv);
        let Ok([q, k, v]) = TryInto::<[Tensor; 3]>::try_into(qkv.chunk(self.parts, -1)) else {
            return qkv.narrow(-1, 0, 4);
        };
        let Ok([first, second]) = <[Tensor; 2]>::try_from(v.chunk(2, -1)) else { panic!("two halves") };
        let Ok([low, _]): Result<[Tensor; 2], _> = k.chunk(2, -1).try_into() else { panic!("two halves") };
        let [rows, columns] = <[i64; 2]>::try_from(q.size()).expect("two axes");
        let scores = q.matmul(&k.tr()).softmax(-1, Kind::Float) / (rows * columns) as f64;
        scores.matmul(&Tensor::cat(&[second * low, first], -1))
    }
}

/// The same as an `if let` and as a `match`, of lists that are as long as the input says.
#[derive(Debug, Module)]
pub struct Rows {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Rows {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, String> {
        let ys = xs.apply(&self.fc);
        let joined = match <[Tensor; 2]>::try_from(ys.unbind(0)) {
            Ok([first, second]) => first * second,
            Err(_) => ys.sum_dim_intlist(&[0i64][..], false, Kind::Float),
        };
        let shape = if let Ok([rows, _]) = TryInto::<[i64; 2]>::try_into(xs.size()) { rows } else { 0 };
        let known = vec![joined.relu(), joined.tanh()];
        let Ok([relu, tanh]) = <[Tensor; 2]>::try_from(known) else { unreachable!() };
        let [only] = <[Tensor; 1]>::try_from(xs.chunk(1, 0)).map_err(|_| format!("{shape} rows"))?;
        Ok((relu - tanh) * shape + only.sum(Kind::Float))
    }
}

const PARTS: usize = 3;

/// What a function hands over is as long as its type says.
fn scaled(xs: &Tensor) -> [Tensor; PARTS] {
    let all: Vec<Tensor> = (0..PARTS).map(|at| xs * at as i64).collect();
    all.try_into().unwrap_or_else(|_| unreachable!())
}

fn halves(xs: &Tensor) -> Result<[Tensor; 2], String> {
    Ok(xs.chunk(2, 1).try_into().unwrap())
}

/// Arrays in variables.
#[derive(Debug, Module)]
pub struct Arrays {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Arrays {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, String> {
        let mut outputs = Vec::new();
        for layer in &self.layers {
            outputs.push(xs.apply(layer));
        }
        let mut outputs: [Tensor; 2] = outputs.try_into().expect("two layers");
        outputs[1] = outputs[1].tanh();
        let parts = <[Tensor; 2]>::try_from(xs.chunk(2, 1)).unwrap();
        let [first, second] = &parts;
        let [left, right] = halves(&(&outputs[0] * &outputs[1]))?;
        let known = vec![first * left, second * right];
        let [low, high]: [Tensor; 2] =
            known.try_into().unwrap_or_else(|all: Vec<Tensor>| panic!("{} parts", all.len()));
        let sizes: [i64; 2] = xs.size().try_into().map_err(|_| "two axes".to_owned())?;
        let scaled = scaled(&(low - high));
        Ok(scaled.iter().fold(&scaled[1] / sizes[0], |sum, part| sum + part.relu())
            + Tensor::cat(&parts, 1).mean(Kind::Float))
    }
}

type Levels = [Tensor; PARTS];

/// The same by another name for the array's type.
#[derive(Debug, Module)]
pub struct Pyramid {
    down: Vec<nn::Linear>,
}

fn joined(levels: &Levels) -> Levels {
    let mut all: Vec<Tensor> = levels.iter().map(Tensor::relu).collect();
    all.reverse();
    all.try_into().unwrap_or_else(|_| unreachable!())
}

#[traceable(strict)]
impl Pyramid {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        let levels: Levels = std::array::from_fn(|at| {
            ys = ys.apply(&self.down[at]).tanh();
            ys.shallow_clone()
        });
        let [first, _, last] = joined(&levels);
        first * last + ys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn let_else() {
        for parts in [3, 2] {
            let make = |p: &nn::Path| Heads { qkv: nn::linear(p / "qkv", 4, 12, Default::default()), parts };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn if_let_and_match() {
        let make = |p: &nn::Path| Rows { fc: nn::linear(p / "fc", 4, 4, Default::default()) };
        agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn in_variables() {
        let linear = |p: nn::Path| nn::linear(p, 4, 4, Default::default());
        let make = |p: &nn::Path| Arrays { layers: vec![linear(p / 0), linear(p / 1)] };
        agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn by_another_name() {
        let make =
            |p: &nn::Path| Pyramid { down: (0..3).map(|at| nn::linear(p / at, 4, 4, Default::default())).collect() };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
