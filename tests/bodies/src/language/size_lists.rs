//! Lists of sizes as they are built for views, and other small values: appended, reversed, cut, reduced.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A view whose sizes are gathered from the input's.
#[derive(Debug, Module)]
pub struct Extended {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Extended {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let size = xs.size();
        let mut shape = vec![size[0]];
        shape.extend_from_slice(&[2, -1]);
        let ys = xs.apply(&self.fc).view(shape.as_slice());
        let mut dims = Vec::with_capacity(3);
        dims.extend_from_slice(&ys.size()[..1]);
        dims.extend_from_slice(&[-1, 1]);
        ys.reshape(&dims)
    }
}

/// Axes from the last to the first.
#[derive(Debug, Module)]
pub struct Reversed {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Reversed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut dims: Vec<i64> = (0..ys.dim() as i64).collect();
        dims.reverse();
        let mut size = ys.size();
        size.reverse();
        ys.permute(&dims).contiguous().view(&size[..]) * 2.0
    }
}

/// The leading sizes, and one more behind them.
#[derive(Debug, Module)]
pub struct Leading {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Leading {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut shape: Vec<i64> = ys.size().iter().take(2).cloned().collect();
        shape.push(2);
        shape.push(-1);
        let zs = ys.reshape(&shape);
        let mut size = zs.size();
        size.push(1);
        zs.view(size.as_slice()).squeeze_dim(-1)
    }
}

/// Lists that are joined, and a size that is at least one.
#[derive(Debug, Module)]
pub struct Appended {
    fc: nn::Linear,
    heads: i64,
}

#[traceable(strict)]
impl Appended {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let heads = 1.max(self.heads / 2);
        let mut shape = ys.size()[..1].to_vec();
        let mut rest = vec![heads, -1];
        shape.append(&mut rest);
        ys.view(&shape[..]).sum_dim_intlist([-1].as_slice(), false, None) / heads as f64
    }
}

/// What branches yield, reduced.
#[derive(Debug, Module)]
pub struct Reduced {
    branches: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Reduced {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let outs: Vec<Tensor> = self.branches.iter().map(|branch| branch.forward(xs).relu()).collect();
        let sum = outs.into_iter().reduce(|a, b| a + b).unwrap();
        let other = self.branches.iter().map(|branch| xs.apply(branch)).reduce(|a, b| a * b).unwrap();
        sum - other
    }
}

/// Operators by their traits' functions.
#[derive(Debug, Module)]
pub struct Spelled {
    fc: nn::Linear,
    scale: f32,
    shift: f64,
}

#[traceable(strict)]
impl Spelled {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = std::ops::Mul::mul(xs.apply(&self.fc), Tensor::from(self.scale));
        let zs = std::ops::Add::add(&ys, Tensor::from_slice(&[self.shift]).to_kind(ys.kind()).to_device(xs.device()));
        let bound = Tensor::from(1.5f32);
        std::ops::Neg::neg(zs.minimum(&bound)) - Tensor::from_slice(&[0.5f32]).to_device(xs.device())
    }
}

/// Handles of what is there.
#[derive(Debug, Module)]
pub struct Handles {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Handles {
    pub fn forward(&self, xs: &Tensor, residual: Option<&Tensor>) -> Tensor {
        let ys = xs.apply(&self.fc);
        let kept = residual.map(Tensor::shallow_clone);
        let all: Vec<Tensor> = [&ys, xs].into_iter().map(Tensor::shallow_clone).collect();
        let sum = Tensor::stack(&all, 0).sum_dim_intlist([0].as_slice(), false, None);
        match kept {
            Some(kept) => sum + kept,
            None => sum,
        }
    }
}

/// The type of a convolution as tch's own functions spell it.
#[derive(Debug, Module)]
pub struct Spatial {
    conv: nn::Conv<[i64; 2]>,
    up: Vec<nn::Conv<[i64; 2]>>,
}

#[traceable(strict)]
impl Spatial {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.apply(&self.conv).relu();
        for conv in &self.up {
            ys = ys.apply(conv).relu();
        }
        ys
    }
}

/// Elements that a chain picks out of a list or a range by their numbers.
#[derive(Debug, Module)]
pub struct Picked {
    fcs: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Picked {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut shape = xs.size().into_iter().take(1).collect::<Vec<i64>>();
        shape.push(-1);
        let order: Vec<i64> = (0..4i64).rev().step_by(2).collect();
        let mut outs: Vec<Tensor> = self.fcs.iter().map(|fc| xs.apply(fc)).collect();
        outs.push(xs.tanh());
        let last = outs.into_iter().skip(1).collect::<Vec<Tensor>>();
        let mut back = xs.size();
        back.push(1);
        let back: Vec<i64> = back.into_iter().rev().skip(1).collect();
        let ys = Tensor::cat(&last, 1).view(shape.as_slice());
        ys * (order[0] + order[1] * 10 + order.len() as i64) + back[0]
    }
}

/// Sizes that a helper yields out of nested branches, written out in one of them and a tensor's own in another.
#[derive(Debug, Module)]
pub struct Embedded {
    fc: nn::Linear,
}

fn embedded(
    ids: Option<&Tensor>,
    given: Option<&Tensor>,
    fc: &nn::Linear,
) -> Result<(Option<Tensor>, Vec<i64>), String> {
    Ok(match (ids, given) {
        (Some(_), Some(_)) => {
            return Err("both".into());
        }
        (Some(ids), None) => (Some(ids.apply(fc)), ids.size()),
        (None, Some(given)) => {
            let size = vec![given.size()[0], given.size()[1]];
            (None, size)
        }
        (None, None) => {
            return Err("none".into());
        }
    })
}

#[traceable(strict)]
impl Embedded {
    pub fn forward(&self, ids: Option<&Tensor>, given: Option<&Tensor>) -> Result<Tensor, String> {
        let (made, shape) = embedded(ids, given, &self.fc)?;
        let ys = given.unwrap_or_else(|| made.as_ref().unwrap());
        let mut whole = shape;
        whole.push(*ys.size().last().unwrap() / 2);
        Ok(ys.repeat([1, 2]).view([whole[0], 2, 2, whole[2]]))
    }
}

/// Lists of one number, of which what is written to them, or what reads them, says the type.
#[derive(Debug, Module)]
pub struct Filled {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Filled {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut times = vec![1; ys.dim() + 1];
        times[1] = xs.size()[1];
        let mut shape = vec![1; ys.dim() + 1];
        for (at, size) in ys.size().into_iter().enumerate() {
            shape[at] = size;
        }
        let ones = vec![1; ys.dim()];
        ys.unsqueeze(1).repeat(times.as_slice()).sum_dim_intlist([1].as_slice(), false, None).reshape(&shape).squeeze()
            + ys.mean(None).view(&ones[..])
    }
}

/// The same where another branch, or a helper, says the type.
#[derive(Debug, Module)]
pub struct Ones {
    fc: nn::Linear,
    is_flat: bool,
}

fn repeated(xs: &Tensor, times: &[i64]) -> Tensor {
    xs.repeat(times)
}

#[traceable(strict)]
impl Ones {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let shape = if self.is_flat { vec![1; ys.dim()] } else { ys.size() };
        let times = vec![1; ys.dim()];
        let mut counts = vec![0; ys.dim()];
        counts[0] += 2;
        repeated(&ys, &times) + ys.mean(None).view(&vec![1; ys.dim()][..]).expand(&shape, true) * (counts[0] as f64)
    }
}

/// Lists that are moved into another as they are made.
#[derive(Debug, Module)]
pub struct Moved {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Moved {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut size = ys.size()[..1].to_vec();
        size.append(&mut ys.size().into_iter().skip(1).collect());
        size.append(&mut vec![1]);
        let mut all = vec![ys.relu()];
        all.append(&mut vec![ys.tanh(), xs.shallow_clone()]);
        Tensor::stack(&all, 0).sum_dim_intlist([0].as_slice(), false, None).view(size.as_slice())
    }
}

/// Lists of sizes that are sorted, and whose elements change their places.
#[derive(Debug, Module)]
pub struct SortedSizes {}

fn doubled(sum: Tensor, next: Tensor) -> Tensor {
    sum + next * 2
}

#[traceable(strict)]
impl SortedSizes {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut sizes = xs.size();
        let before = sizes[0];
        if sizes.len() > 2 {
            sizes.sort();
        }
        let first = sizes[0];
        sizes.reverse();
        let mut rest: Vec<i64> = sizes.iter().map(|size| size % 3).collect();
        rest.sort_unstable();
        rest.dedup();
        let mut axes: Vec<i64> = (0..xs.dim() as i64).collect();
        axes.rotate_left(1);
        let mut parts = vec![xs.relu(), xs.tanh()];
        parts.rotate_right(1);
        let ys = Tensor::cat(&parts, 0) * (before + first * sizes[0]) + rest.len() as i64 * rest[0];
        let sum = ys.unbind(0).into_iter().reduce(doubled).unwrap();
        xs.permute(&axes) * sum.mean(fx_runtime::Kind::Float)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn linear(p: &nn::Path, name: &str) -> nn::Linear {
        nn::linear(p / name, 4, 4, Default::default())
    }

    #[test]
    fn extended() {
        agree!(|p| Extended { fc: linear(p, "fc") }, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn reversed() {
        agree!(|p| Reversed { fc: linear(p, "fc") }, [randn(&[2, 4]), randn(&[2, 3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn leading() {
        agree!(|p| Leading { fc: linear(p, "fc") }, [randn(&[2, 3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn appended() {
        for heads in [1, 4] {
            agree!(|p| Appended { fc: linear(p, "fc"), heads }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn reduced() {
        let branches = |p: &nn::Path| ["a", "b", "c"].map(|name| linear(p, name)).into();
        agree!(|p| Reduced { branches: branches(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn spelled() {
        agree!(|p| Spelled { fc: linear(p, "fc"), scale: 0.5, shift: 0.25 }, [randn(&[2, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn handles() {
        let cases = [(randn(&[2, 4]), None), (randn(&[2, 4]), Some(randn(&[2, 4])))];
        agree!(|p| Handles { fc: linear(p, "fc") }, cases, |net, (xs, residual)| net.forward(xs, residual.as_ref()));
    }

    #[test]
    fn spatial() {
        let conv = |p: &nn::Path, name: &str| {
            nn::conv2d(p / name, 3, 3, 3, nn::ConvConfig { padding: 1, ..Default::default() })
        };
        agree!(
            |p| Spatial { conv: conv(p, "conv"), up: vec![conv(p, "a"), conv(p, "b")] },
            [randn(&[2, 3, 5, 5])],
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn picked() {
        let make = |p: &nn::Path| Picked { fcs: vec![linear(p, "a"), linear(p, "b")] };
        agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn embedded_sizes() {
        let cases = [
            (Some(randn(&[2, 4])), None),
            (None, Some(randn(&[2, 4]))),
            (Some(randn(&[2, 4])), Some(randn(&[2, 4]))),
            (None, None),
        ];
        agree!(|p| Embedded { fc: linear(p, "fc") }, cases, |net, (ids, given)| {
            net.forward(ids.as_ref(), given.as_ref())
        });
    }

    #[test]
    fn filled() {
        agree!(|p| Filled { fc: linear(p, "fc") }, [randn(&[2, 4]), randn(&[2, 3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn ones() {
        for is_flat in [false, true] {
            agree!(|p| Ones { fc: linear(p, "fc"), is_flat }, [randn(&[2, 4]), randn(&[2, 3, 4])], |net, xs| net
                .forward(xs));
        }
    }

    #[test]
    fn moved() {
        agree!(|p| Moved { fc: linear(p, "fc") }, [randn(&[2, 4]), randn(&[2, 3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn sorted() {
        agree!(|_| SortedSizes {}, [randn(&[2, 4]), randn(&[5, 3, 4])], |net, xs| net.forward(xs));
    }
}
