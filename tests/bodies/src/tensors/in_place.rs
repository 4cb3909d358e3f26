//! In-place ops, compound assignment, and who sees them.

use std::collections::HashMap;

use fx_runtime::{Module, Tensor, nn, traceable};
use tch::IndexOp;

/// On fresh locals nobody sees it.
#[derive(Debug, Module)]
pub struct Fresh {
    fc: nn::Linear,
}

#[traceable]
impl Fresh {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = self.fc.forward(xs);
        let _ = ys.relu_();
        let _ = ys.g_add_scalar_(1.0);
        ys += xs;
        ys *= 0.5;
        ys -= 1;
        ys /= &(xs.abs() + 1.0);
        ys
    }
}

/// On an input the caller sees it.
#[derive(Debug, Module)]
pub struct OnInput {}

#[traceable]
impl OnInput {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut alias = xs.shallow_clone();
        let before = xs * 1;
        let _ = alias.g_add_scalar_(5.0);
        let after = xs * 2;
        alias *= 3.0;
        before + after + xs
    }
}

/// What two branches put into a struct or a map, the tensor that is written included.
#[derive(Debug, Module)]
pub struct InStruct {
    twice: bool,
}

pub struct Halves {
    left: Tensor,
    right: Tensor,
}

#[traceable]
impl InStruct {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let a = xs.relu();
        let halves = if self.twice {
            Halves { left: a.shallow_clone(), right: xs * 2 }
        } else {
            Halves { left: a.view([-1]), right: xs + 1 }
        };
        let before = &a * 2;
        let mut left = halves.left.shallow_clone();
        let _ = left.g_add_scalar_(1.0);
        let after = &a * 2;
        before + after + halves.right
    }
}

#[derive(Debug, Module)]
pub struct InMap {
    key: i64,
}

#[traceable]
impl InMap {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let a = xs.relu();
        let map: HashMap<i64, Tensor> = HashMap::from([(0, a.shallow_clone()), (1, xs + 1)]);
        let before = &a * 2;
        let mut left = map[&self.key].shallow_clone();
        let _ = left.g_add_scalar_(1.0);
        let after = &a * 2;
        before + after
    }
}

/// Variables through which others are written.
#[derive(Debug, Module)]
pub struct Borrowed {
    first: bool,
}

#[traceable]
impl Borrowed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut pair = (xs.relu(), xs.neg());
        let part = &mut pair.0;
        *part = part.neg() + 1.0;
        let (mut a, mut b) = pair;
        let chosen = if self.first { &mut a } else { &mut b };
        *chosen = chosen.cos();
        let mut map: HashMap<i64, Tensor> = HashMap::new();
        let filled = &mut map;
        filled.insert(0, xs.sin());
        a * 2 + b + &map[&0]
    }
}

/// Of two equal values one goes into a struct, where it is written to.
#[derive(Debug, Module)]
pub struct EqualInStruct {
    twice: bool,
}

#[traceable]
impl EqualInStruct {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (a, b) = (xs.relu(), xs.relu());
        let halves =
            if xs.size()[0] > 2 { Halves { left: a, right: xs.neg() } } else { Halves { left: xs.neg(), right: a } };
        let mut written = if self.twice { halves.left.shallow_clone() } else { halves.right.shallow_clone() };
        let _ = written.g_add_scalar_(1.0);
        b * 2 + halves.right
    }
}

impl Halves {
    fn bump(&mut self) {
        self.left += 1.0;
    }

    fn right(self) -> Tensor {
        self.right
    }
}

/// A method of the struct's writes.
#[derive(Debug, Module)]
pub struct ByMethod {}

#[traceable]
impl ByMethod {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (a, b) = (xs.relu(), xs.relu());
        let mut halves = Halves { left: a.shallow_clone(), right: xs.neg() };
        halves.bump();
        b * 2 + halves.right() + a
    }
}

/// What a call may have made, or not.
pub enum Made {
    Nothing,
    Tensor(Tensor),
}

/// The same in an enum of the crate's.
#[derive(Debug, Module)]
pub struct EqualInEnum {
    fills: bool,
}

#[traceable(strict)]
impl EqualInEnum {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (a, b) = (xs.relu(), xs.relu());
        let made = if self.fills { Made::Tensor(a.shallow_clone()) } else { Made::Nothing };
        match made {
            Made::Tensor(mut held) => {
                let _ = held.g_add_scalar_(1.0);
            }
            Made::Nothing => {}
        }
        a * 3 + b * 2
    }
}

/// On a view the whole sees it.
#[derive(Debug, Module)]
pub struct OnView {}

#[traceable]
impl OnView {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let whole = xs.relu();
        let sum = whole.sum(xs.kind());
        let mut row = whole.select(0, 0);
        let _ = row.fill_(7.0);
        let mut part = whole.narrow(1, 0, 1);
        part += 1;
        let mut flat = whole.view([-1]);
        let _ = flat.g_mul_scalar_(2.0);
        whole.i(0).copy_(&whole.i(1));
        whole + sum
    }
}

/// Another name sees it.
#[derive(Debug, Module)]
pub struct OtherName {
    fc: nn::Linear,
}

#[traceable]
impl OtherName {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut a = self.fc.forward(xs);
        let b = a.shallow_clone();
        let c = a.copy();
        let _ = a.relu_();
        a += 1.0;
        let pair = (a, b);
        let (mut a, b) = pair;
        let _ = a.neg_();
        Tensor::cat(&[a, b, c], 0)
    }
}

/// In a branch and in a loop.
#[derive(Debug, Module)]
pub struct InControl {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl InControl {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut total = xs.zeros_like();
        let seen = total.shallow_clone();
        for layer in &self.layers {
            total += layer.forward(xs);
        }
        if xs.size()[0] > 2 {
            total *= 2;
            let _ = total.relu_();
        }
        total + seen
    }
}

/// A helper that writes to what it is given.
#[derive(Debug, Module)]
pub struct Helper {
    fc: nn::Linear,
}

fn zero_first(xs: &Tensor) {
    let mut row = xs.i(0);
    let _ = row.zero_();
}

fn add_into(xs: &mut Tensor, ys: &Tensor) {
    *xs += ys;
}

#[traceable]
impl Helper {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = self.fc.forward(xs);
        zero_first(&ys);
        add_into(&mut ys, xs);
        let _ = ys.select(0, 1).fill_(3.0);
        ys
    }
}

/// A weight of the model is written to, once per call.
#[derive(Debug, Module)]
pub struct Constant {
    fc: nn::Linear,
}

#[traceable]
impl Constant {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut offset = Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0]);
        offset += 1;
        let mut bias = Tensor::zeros([4], (xs.kind(), xs.device()));
        let _ = bias.fill_(0.5);
        self.fc.forward(xs) + offset + bias
    }
}

/// `out=` and swaps.
#[derive(Debug, Module)]
pub struct Swaps {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Swaps {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut a = self.fc.forward(xs);
        let mut b = xs.shallow_clone();
        std::mem::swap(&mut a, &mut b);
        let old = std::mem::replace(&mut a, b.relu());
        (a, b) = (b, a);
        a - b * old
    }
}

/// The same on a tensor whose elements a kernel may lay out in its own order.
#[derive(Debug, Module)]
pub struct ConvHelper {
    conv: nn::Conv2D,
}

fn zero_two(xs: &Tensor) {
    let channels = std::collections::BTreeSet::from([0i64, 1]);
    for &channel in &channels {
        let _ = xs.select(1, channel).fill_(0.0);
    }
}

#[traceable]
impl ConvHelper {
    pub fn forward(&self, xs: &Tensor) -> Vec<Tensor> {
        let ys = self.conv.forward(xs);
        zero_two(&ys);
        vec![ys.relu()]
    }
}

/// Handles and views that are kept, of a tensor that changes afterwards.
#[derive(Debug, Module)]
pub struct Kept {
    conv: nn::Conv2D,
}

#[traceable]
impl Kept {
    pub fn forward(&self, xs: &Tensor) -> Vec<Tensor> {
        let mut all = Vec::new();
        let mut h = self.conv.forward(xs);
        for _ in 0..3 {
            all.push(h.shallow_clone());
            h += 1.0;
        }
        let mut g = h.relu();
        for _ in 0..2 {
            g = &g * 1.5;
            all.push(g.narrow(1, 0, 2));
            let _ = g.relu_();
        }
        g *= 2.0;
        all.push(g);
        all.push(h);
        all
    }
}

/// What is handed over by value is still seen where it came from.
#[derive(Debug, Module)]
pub struct HandedOver {
    fc: nn::Linear,
}

fn activated(mut xs: Tensor) -> Tensor {
    let _ = xs.relu_();
    xs
}

fn twice(xs: &Tensor, f: impl Fn(Tensor) -> Tensor) -> Tensor {
    f(f(xs.shallow_clone()))
}

#[traceable]
impl HandedOver {
    pub fn forward(&self, xs: &Tensor) -> Vec<Tensor> {
        let hidden = self.fc.forward(xs);
        let active = activated(hidden.shallow_clone());
        let shifted = self.fc.forward(xs).tanh();
        let moved = twice(&shifted, |mut one| {
            one += 1;
            one
        });
        let alone = activated(self.fc.forward(&hidden));
        vec![hidden + 1, active * 2, shifted + 1, moved * 2, alone]
    }
}

/// Parts of a tensor that a function is lent are computed anew, each by a function that it is handed.
#[derive(Debug, Module)]
pub struct LentParts {
    fc: nn::Linear,
}

fn replace_part<F>(all: &mut Tensor, start: i64, length: i64, f: F)
where
    F: FnOnce(&Tensor) -> Tensor,
{
    let mut part = all.narrow(1, start, length);
    part.copy_(&f(&part));
}

fn halved(all: &mut Tensor) {
    let _ = all.g_mul_scalar_(0.5);
}

#[traceable]
impl LentParts {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor) {
        let mut ys = self.fc.forward(xs);
        let before = ys.shallow_clone();
        let offset = xs.narrow(1, 0, 1);
        replace_part(&mut ys, 0, 2, Tensor::sigmoid);
        replace_part(&mut ys, 1, 2, |part| part.exp() + offset);
        halved(&mut ys);
        (ys * 2, before)
    }
}

/// What is added in place comes from code that is carried along, and lists tell how long they are.
#[derive(Debug, Module)]
pub struct FromCarried {
    fc: nn::Linear,
}

#[traceable]
impl FromCarried {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs * 2;
        let shared = ys.shallow_clone();
        ys += Some(&shared)
            .xor(None)
            .filter(|one| one.size()[0] > 2)
            .map(|one| one.sin())
            .unwrap_or_else(|| self.fc.forward(xs));
        let none: Vec<Tensor> = Vec::new();
        let two = vec![xs.neg(), shared];
        let mut turn = 0;
        while turn < 2 && (none.len() as i64) < 1 && none.is_empty() {
            turn += two.len() as i64;
        }
        ys * turn + &two[1]
    }
}

/// The last to read a tensor writes to another and yields nothing.
#[derive(Debug, Module)]
pub struct CopiedOver {}

#[traceable]
impl CopiedOver {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.relu();
        for _ in 0..2 {
            let mut pair = (xs.sin(), ys.neg());
            pair.1.copy_(&pair.1.shallow_clone().copy());
            let copy = pair.0.copy();
            pair.1.copy_(&copy);
            ys = pair.1.relu();
        }
        ys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(InMap: 5 of 12);
    understood!(Borrowed: 0 of 7);
    understood!(ConvHelper: 2 of 5);
    understood!(FromCarried: 4 of 14);

    #[test]
    fn handed_over() {
        agree!(|p| HandedOver { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn lent_parts() {
        agree!(|p| LentParts { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        let report = include_str!(concat!(env!("OUT_DIR"), "/fx/report.txt"));
        let line = report.lines().find(|line| line.starts_with("`LentParts` (")).unwrap();
        assert!(line.contains("100.0 %"), "{line}");
    }

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn fresh() {
        agree!(|p| Fresh { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn on_input() {
        agree!(|_| OnInput {}, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn in_struct() {
        agree!(|_| InStruct { twice: true }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        agree!(|_| InMap { key: 0 }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        agree!(|_| InMap { key: 1 }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn borrowed() {
        for first in [true, false] {
            agree!(|_| Borrowed { first }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn equal_values_of_which_one_is_written() {
        for flag in [true, false] {
            let inputs = [randn(&[2, 4]), randn(&[3, 4])];
            agree!(|_| EqualInStruct { twice: flag }, inputs, |net, xs| net.forward(xs));
            let inputs = [randn(&[2, 4]), randn(&[3, 4])];
            agree!(|_| EqualInEnum { fills: flag }, inputs, |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn by_method() {
        agree!(|_| ByMethod {}, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn on_view() {
        agree!(|_| OnView {}, [randn(&[2, 4]), randn(&[3, 3])], |net, xs| net.forward(xs));
    }

    #[test]
    fn other_name() {
        agree!(|p| OtherName { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn in_control() {
        let make = |p: &nn::Path| InControl { layers: vec![linear(p / 0), linear(p / 1)] };
        agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn helper() {
        let conv = |p: &nn::Path| nn::conv2d(p / 0, 3, 4, 3, nn::ConvConfig { padding: 1, ..Default::default() });
        agree!(|p| ConvHelper { conv: conv(p) }, [randn(&[2, 3, 5, 5])], |net, xs| net.forward(xs));
        agree!(|p| Kept { conv: conv(p) }, [randn(&[2, 3, 5, 5])], |net, xs| net.forward(xs));
        agree!(|p| Helper { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn constant() {
        agree!(|p| Constant { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn swaps() {
        agree!(|p| Swaps { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn from_carried() {
        let inputs = [randn(&[2, 4]), randn(&[3, 4])];
        agree!(|p| FromCarried { fc: linear(p / 0) }, inputs, |net, xs| net.forward(xs));
    }

    #[test]
    fn copied_over() {
        agree!(|_| CopiedOver {}, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
