//! Lists of references to tensors, in code that is understood and in code that is not; empty lists of a written type; names
//! that hide others.

use std::collections::VecDeque;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

fn odd(x: &Tensor) -> Tensor {
    x.sin() + 1.0
}

#[derive(Debug, Module)]
pub struct OfReferences {
    list: Vec<Tensor>,
    maybe: Option<Tensor>,
}

#[cfg(test)]
crate::check::understood!(OfReferences: 19 of 96);
#[traceable]
impl OfReferences {
    pub fn new(p: &nn::Path) -> OfReferences {
        let list = ["a", "b"].map(|name| p.randn(name, &[2, 4], 0.0, 1.0)).into();
        OfReferences { list, maybe: Some(p.randn("c", &[2, 4], 0.0, 1.0)) }
    }

    fn first_of(&self, xs: &Tensor, q: &[Tensor]) -> Tensor {
        let refs: Vec<&Tensor> = q.iter().collect();
        let e = refs.first().copied().map_or_else(|| xs.neg(), |one| one.sin());
        e + xs
    }

    fn first_again(&self, xs: &Tensor, q: &[Tensor]) -> Tensor {
        let mut refs: Vec<&Tensor> = q.iter().collect();
        refs.extend(refs.first().copied());
        refs.into_iter().fold(xs.copy(), |a, b| a.tanh() - b)
    }

    fn grown(&self, xs: &Tensor, q: &[Tensor], n: i64) -> Tensor {
        let mut refs: Vec<&Tensor> = q.iter().collect();
        refs.push(xs);
        if n > 1 {
            refs.push(xs);
        } else {
            refs.reverse();
        }
        Tensor::cat(&refs, 0)
    }

    fn handed_to_opaque(&self, xs: &Tensor, q: &[Tensor]) -> Tensor {
        let refs: Vec<&Tensor> = q.iter().collect();
        let mut ys = xs.copy();
        for one in &refs {
            let rows = {
                let size = one.size();
                let mut v = VecDeque::new();
                v.push_back(**&size.first().unwrap());
                v[0]
            };
            ys = ys + odd(*one) + rows;
        }
        for one in refs {
            ys = ys + {
                let mut v = VecDeque::new();
                v.push_back(one);
                odd(v[0])
            };
        }
        ys
    }

    fn of_own(&self, xs: &Tensor) -> Tensor {
        let own = vec![xs.sin(), xs.cos()];
        let refs: Vec<&Tensor> = own.iter().collect();
        let c = {
            let mut v = VecDeque::new();
            v.extend(refs.iter().copied());
            odd(v[1])
        };
        let mut again: Vec<&Tensor> = own.iter().collect();
        again.extend(again.first().copied());
        c + Tensor::stack(&again, 0).sum(Kind::Float)
    }

    fn either(&self, q: &[Tensor], n: i64) -> Tensor {
        let a = q.iter().rev().collect::<Vec<_>>();
        let b: Vec<&Tensor> = if n > 1 { a.iter().copied().collect() } else { q.iter().collect() };
        let mut v = VecDeque::new();
        v.extend(b.iter().copied());
        v.extend(a.first().copied());
        odd(v[1])
    }

    fn of_weights(&self, xs: &Tensor) -> Tensor {
        let part = &self.list[..];
        let refs: Vec<&Tensor> = part.iter().collect();
        let o = self.maybe.as_ref();
        let mut ys = xs.copy();
        for one in refs.iter().rev() {
            ys = ys + *one;
        }
        if let Some(o) = o.or(refs.first().copied()) {
            ys = ys + odd(o);
        }
        let last = refs.last().copied().map(Tensor::shallow_clone);
        if let Some(last) = last {
            ys = ys * last;
        }
        ys
    }

    fn empty_of_a_type(&self, xs: &Tensor, n: i64) -> Tensor {
        let mut a = Vec::<i64>::new();
        for one in a.iter_mut() {
            *one *= 2;
        }
        let mut b = Vec::<Tensor>::with_capacity(3);
        let mut o = Option::<Tensor>::None;
        let mut u = None::<i64>;
        for k in 0..n {
            if k == 5 {
                b.clear();
            }
            if k > 2 {
                o = Some(xs.sin());
                u = Some(k);
            }
        }
        let ys = xs * (a.len() as i64 + b.len() as i64 + u.unwrap_or(4));
        match o {
            Some(o) => ys + o,
            None => ys,
        }
    }

    /// The names `b` and `r` are hidden by others, of other types, in code that is not understood.
    fn hidden(&self, xs: &Tensor, q: &[Tensor], r: Option<&Tensor>, n: i64) -> Tensor {
        let b = xs.sin();
        let mut ys = xs.copy();
        if n > 1 {
            let of_rank_two = |c: &Tensor| {
                if c.dim() > 1 {
                    let mut s = c.size()[..1].to_vec();
                    let mut r = vec![4];
                    s.append(&mut r);
                    Some(b.view(&s[..]))
                } else {
                    None
                }
            };
            let g: Vec<Tensor> = q.iter().cycle().take(3).filter_map(of_rank_two).collect();
            ys = g.iter().fold(ys, |a, b| a + b);
        }
        match r {
            Some(r) => ys + r,
            None => ys,
        }
    }
    pub fn forward(&self, xs: &Tensor, q: &[Tensor], n: i64) -> Vec<Tensor> {
        vec![
            self.first_of(xs, q),
            self.first_again(xs, q),
            self.grown(xs, q, n),
            self.handed_to_opaque(xs, q),
            self.of_own(xs),
            self.either(q, n),
            self.of_weights(xs),
            self.empty_of_a_type(xs, n),
            self.hidden(xs, q, q.first(), n),
        ]
    }
}

/// `r` in code that is not understood is another one.
#[derive(Debug, Module)]
pub struct OpaqueShadow {
    fc: nn::Linear,
}

#[cfg(test)]
crate::check::understood!(OpaqueShadow: 3 of 4);
#[traceable]
impl OpaqueShadow {
    pub fn forward(&self, xs: &Tensor, r: Option<&Tensor>, n: i64) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        if n > 1 {
            let sizes: Vec<i64> = (0..2)
                .map(|k| {
                    let mut r = vec![k];
                    r.push(n);
                    r.sort_by_key(|k| -k);
                    r[0]
                })
                .collect();
            ys = ys * sizes[0];
        }
        match r {
            Some(r) => ys + r,
            None => ys,
        }
    }
}

/// `b` behind a star is another one, and what `k` borrows has no type that is known.
#[derive(Debug, Module)]
pub struct StarShadow {
    fc: nn::Linear,
}

#[cfg(test)]
crate::check::understood!(StarShadow: 1 of 7);
#[traceable]
impl StarShadow {
    pub fn forward(&self, xs: &Tensor, n: i64) -> Tensor {
        let b = n as f64 * 0.25;
        let by = {
            let mut list = VecDeque::new();
            list.push_back(b);
            for b in list.iter_mut() {
                *b *= 0.5;
            }
            list[0] + b
        };
        let k: &Tensor = &(xs * 1.max(0));
        k.apply(&self.fc) * by
    }
}

/// Code that is not understood reads a list of references behind the last reader of what they refer to.
#[derive(Debug, Module)]
pub struct ReferencesExtended {
    fc: nn::Linear,
}

#[cfg(test)]
crate::check::understood!(ReferencesExtended: 3 of 6);
#[traceable]
impl ReferencesExtended {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let all: Vec<Tensor> = vec![xs.apply(&self.fc), xs - 1.0];
        let other = {
            let mut refs: Vec<&Tensor> = all.iter().collect();
            refs.extend(refs.first().copied());
            xs.shallow_clone()
        };
        all[0].maximum(&other)
    }
}

/// Elements that code which is not understood computes with, behind a `match` on what lends them.
#[derive(Debug, Module)]
pub struct Looked {
    fc: nn::Linear,
}

#[traceable]
impl Looked {
    pub fn forward(&self, xs: &Tensor, list: &mut Vec<Tensor>) -> Tensor {
        let which = xs.size()[0] as usize;
        let ys = match list.get(which) {
            Some(h) => h * 1.max(which as i64 % 3),
            None => xs.neg(),
        };
        list.push(xs.sin());
        let zs = match list.last() {
            Some(h) => h * std::hint::black_box(2i64),
            None => xs.neg(),
        };
        self.fc.forward(&(ys + zs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Looked: 6 of 7);

    fn cases() -> [(Tensor, Vec<Tensor>, i64); 3] {
        let of = |list: usize, n| (randn(&[2, 4]), (0..list).map(|_| randn(&[2, 4])).collect(), n);
        [of(3, 5), of(2, 1), of(2, 0)]
    }

    #[test]
    fn lists_of_references() {
        agree!(OfReferences::new, cases(), |net, (xs, q, n)| net.forward(xs, q, *n));
    }

    #[test]
    fn hidden_by_opaque_code() {
        let linear = |p: &nn::Path| OpaqueShadow { fc: nn::linear(p / "fc", 4, 4, Default::default()) };
        agree!(linear, cases(), |net, (xs, q, n)| (net.forward(xs, q.first(), *n), net.forward(xs, None, *n)));
    }

    #[test]
    fn references_extended() {
        let make = |p: &nn::Path| ReferencesExtended { fc: nn::linear(p / "fc", 4, 4, Default::default()) };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn hidden_behind_a_star() {
        let make = |p: &nn::Path| StarShadow { fc: nn::linear(p / "fc", 4, 4, Default::default()) };
        agree!(make, [(randn(&[2, 4]), 3), (randn(&[2, 4]), -1)], |net, (xs, n)| net.forward(xs, *n));
    }

    #[test]
    fn lent_elements() {
        let make = |p: &nn::Path| Looked { fc: nn::linear(p / "fc", 4, 4, Default::default()) };
        let list =
            |rows: i64, length: usize| (randn(&[rows, 4]), (0..length).map(|_| randn(&[rows, 4])).collect::<Vec<_>>());
        agree!(make, [list(2, 3), list(1, 1)], |net, (xs, list)| net.forward(xs, list));
    }
}
