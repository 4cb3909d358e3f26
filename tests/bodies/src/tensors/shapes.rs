//! Sizes, views, slices and joins.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};
use tch::{IndexOp, NewAxis};

/// Sizes, destructured in every way.
#[derive(Debug, Module)]
pub struct Sizes {
    proj: nn::Conv2D,
}

#[traceable]
impl Sizes {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (b, c, h, w) = xs.size4().unwrap();
        let size = xs.size();
        let last = size[size.len() - 1];
        let [_, _, height, width] = xs.size()[..] else { panic!("four axes") };
        let ys = self.proj.forward(xs).view([b, -1, h * w]);
        let zs = xs.reshape(&[b, c, height * width]).permute([0, 2, 1]);
        let area = (last * h) as f64 / xs.numel() as f64;
        ys.matmul(&zs) * area + xs.dim() as i64
    }
}

/// Slices with `i`.
#[derive(Debug, Module)]
pub struct Slices {
    n: i64,
}

#[traceable]
impl Slices {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let n = self.n;
        let a = xs.i((.., 1..));
        let b = xs.i((.., ..xs.size()[1] - 1));
        let c = xs.i((0, 0)).unsqueeze(0);
        let d = xs.i((.., NewAxis, n)).squeeze_dim(1);
        let e = xs.get(0).slice(0, 0, n, 1);
        let f = xs.i((.., n..=n, ..));
        a * b + c + d.unsqueeze(1) + e.mean_dim(0, true, Kind::Float) + f.mean(Kind::Float)
    }
}

/// cat, stack, chunk, split, repeat.
#[derive(Debug, Module)]
pub struct Joins {
    fc: nn::Linear,
}

#[traceable]
impl Joins {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let halves = self.fc.forward(xs).chunk(2, -1);
        let gated = &halves[0] * halves[1].gelu("none");
        let parts = xs.split(1, 0);
        let stacked = Tensor::stack(&parts, 0).squeeze_dim(1);
        let pieces = xs.split_with_sizes([1, 3], -1);
        let joined = Tensor::cat(&[gated.shallow_clone(), gated], -1) + stacked;
        let swapped = Tensor::concat(&[&pieces[1], &pieces[0]], -1);
        let all: Vec<Tensor> = parts.iter().map(|part| part.relu()).collect();
        joined + swapped + Tensor::cat(&all, 0)
    }
}

/// qkv in one, unpacked by index.
#[derive(Debug, Module)]
pub struct Qkv {
    qkv: nn::Linear,
    proj: nn::Linear,
    heads: i64,
    scale: f64,
}

#[traceable]
impl Qkv {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (b, n, c) = xs.size3().unwrap();
        let qkv = self.qkv.forward(xs).reshape([b, n, 3, self.heads, c / self.heads]).permute([2, 0, 3, 1, 4]);
        let q = qkv.get(0) * self.scale;
        let k = qkv.get(1);
        let v = qkv.i(2);
        let attn = q.matmul(&k.transpose(-2, -1)).softmax(-1, Kind::Float);
        let mask = Tensor::ones([n, n], (Kind::Bool, xs.device())).tril(0).view([1, 1, n, n]);
        let attn = attn.masked_fill(&mask.logical_not(), 0.0);
        attn.matmul(&v).transpose(1, 2).reshape([b, n, c]).apply(&self.proj)
    }
}

/// Sizes edited as a `Vec`.
#[derive(Debug, Module)]
pub struct Edited {
    fc: nn::Linear,
}

#[traceable]
impl Edited {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut sizes = xs.size();
        let last = sizes.pop().unwrap();
        sizes.extend_from_slice(&[2, last / 2]);
        let ys = self.fc.forward(xs).view(sizes.as_slice());
        let mut dims: Vec<i64> = (0..ys.dim() as i64).collect();
        dims.swap(0, 1);
        let ys = ys.permute(&dims);
        let total: i64 = ys.size().iter().product();
        let outer: i64 = ys.size()[..2].iter().sum();
        ys.reshape([total / last, last]) + outer
    }
}

/// `einsum`, `where`, tensors made from numbers.
#[derive(Debug, Module)]
pub struct Constants {
    fc: nn::Linear,
}

#[traceable]
impl Constants {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.fc.forward(xs);
        let scores = Tensor::einsum("bi,bj->bij", &[&ys, xs], None::<i64>);
        let eye = Tensor::eye(4, (Kind::Float, xs.device()));
        let mean = Tensor::from_slice(&[0.1f32, 0.2, 0.3, 0.4]);
        let steps = Tensor::arange_start(1, 5, (Kind::Float, xs.device()));
        let scalar = Tensor::from(2.5f32);
        let full = Tensor::full([4], 0.5, (Kind::Float, xs.device()));
        (scores * eye).sum_dim_intlist([1i64].as_slice(), false, None) / scalar + mean * steps - full
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn linear(p: nn::Path, out: i64) -> nn::Linear {
        nn::linear(p, 4, out, Default::default())
    }

    #[test]
    fn sizes() {
        agree!(
            |p| Sizes { proj: nn::conv2d(p, 3, 5, 1, Default::default()) },
            [randn(&[1, 3, 4, 4]), randn(&[2, 3, 2, 5])],
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn slices() {
        agree!(|_| Slices { n: 1 }, [randn(&[2, 3, 4]), randn(&[3, 2, 2])], |net, xs| net.forward(xs));
    }

    #[test]
    fn joins() {
        agree!(|p| Joins { fc: linear(p / 0, 4) }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn qkv() {
        agree!(
            |p| Qkv { qkv: linear(p / 0, 12), proj: linear(p / 1, 4), heads: 2, scale: 0.7 },
            [randn(&[2, 3, 4]), randn(&[1, 5, 4])],
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn edited() {
        agree!(|p| Edited { fc: linear(p / 0, 4) }, [randn(&[2, 4]), randn(&[3, 2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn constants() {
        agree!(|p| Constants { fc: linear(p / 0, 4) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
