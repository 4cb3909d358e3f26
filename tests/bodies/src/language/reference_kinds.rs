//! Whether a variable holds a tensor or a reference to one, where not its value but its type, the other branches or the
//! elements beside it say so.

use fx_runtime::{Module, Tensor, nn, traceable};

fn is_set() -> bool {
    std::env::var("FX_BODIES_UNSET").is_ok()
}

mod choices {
    use fx_runtime::Tensor;

    pub fn either<'a>(one: &'a Tensor, other: &'a Tensor) -> &'a Tensor {
        if std::env::var("FX_BODIES_UNSET").is_ok() { one } else { other }
    }
}

/// By the type of the variable.
#[derive(Debug, Module)]
pub struct Written {
    fc: nn::Linear,
}

#[traceable]
impl Written {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let one: &Tensor = [xs, &ys].into_iter().max_by_key(|one| one.numel()).unwrap();
        let other = choices::either(one, Some(one).or(Some(xs)).unwrap());
        let chosen: &Tensor = if is_set() { choices::either(one, xs) } else { choices::either(xs, other) };
        choices::either(chosen, one).relu() + choices::either(other, chosen)
    }
}

/// By the elements of a list of tuples, one of which is chosen, and by the other branch.
#[derive(Debug, Module)]
pub struct Paired {
    fc: nn::Linear,
}

#[traceable]
impl Paired {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let at = xs.size()[0] as usize % 2;
        let one = [(xs, 2), (&ys, 3)][at];
        let other =
            if is_set() { [(&ys, 1), (xs, 2)][at] } else { (std::borrow::Borrow::<Tensor>::borrow(xs), at as i64) };
        let best = [other.0, one.0].into_iter().find(|t| t.dim() == 2).unwrap();
        choices::either(one.0, best) * one.1 + choices::either(best, other.0) * other.1
    }
}

/// By the `&` in front of a tensor of which nothing else says its type.
#[derive(Debug, Module)]
pub struct Borrowed {
    fc: nn::Linear,
}

#[traceable]
impl Borrowed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let own = [ys.relu(), ys.tanh()].into_iter().max_by_key(|one| one.numel()).unwrap();
        let one: &Tensor = [xs, &ys].into_iter().max_by_key(|one| one.numel()).unwrap();
        let other = [&own, one][xs.size()[0] as usize % 2];
        choices::either(other, one).relu() + other
    }
}

/// Kept in a list, of the parts of a tuple.
#[derive(Debug, Module)]
pub struct Gathered {
    fc: nn::Linear,
}

#[traceable]
impl Gathered {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let parts = (ys.relu(), ys.tanh());
        let all = (0..xs.size()[0] as usize)
            .map(|i| [xs, if ys.size()[0] > 2 { choices::either(&parts.0, xs) } else { &ys }][i % 2])
            .collect::<Vec<&Tensor>>();
        Tensor::cat(&all, 0)
    }
}

/// The same where the forward also writes to state.
#[derive(Debug, Module)]
pub struct Counted {
    fc: nn::Linear,
    calls: std::cell::Cell<i64>,
}

#[traceable]
impl Counted {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.calls.set(self.calls.get() + 1);
        let ys = xs.apply(&self.fc);
        let parts = (ys.relu(), ys.tanh());
        let mut all = vec![xs];
        for i in 0..xs.size()[0] as usize {
            all.push([xs, if ys.size()[0] > 2 { choices::either(&parts.0, xs) } else { &ys }][i % 2]);
        }
        Tensor::cat(&all, 0) * self.calls.get()
    }
}

/// Chosen from a list with an element that is chosen itself, and held by a struct beyond its branch.
#[derive(Debug, Module)]
pub struct Held {
    fc: nn::Linear,
}

pub struct Pick<'a> {
    t: &'a Tensor,
    by: i64,
}

impl<'a> Pick<'a> {
    pub fn new(t: &'a Tensor, by: i64) -> Pick<'a> {
        Pick { t, by }
    }
}

fn swapped<'a>(pick: Pick<'a>, other: &'a Tensor) -> Pick<'a> {
    let kept: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
    if kept.iter().any(|name| name == "FX_BODIES_UNSET") { Pick::new(other, pick.by) } else { pick }
}

#[traceable]
impl Held {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let rows = xs.size()[0];
        let pick = if rows > 2 {
            swapped(Pick::new(xs, 1), &ys)
        } else {
            Pick::new([xs, [&ys, xs][(rows % 3) as usize % 2]][(rows % 2) as usize], rows)
        };
        pick.t * pick.by
    }
}

/// Kept in a list, out of a field that the forward writes to.
#[derive(Debug, Module)]
pub struct OfState {
    fc: nn::Linear,
    last: Option<Tensor>,
}

#[traceable]
impl OfState {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut kept = vec![];
        for i in 0..xs.size()[0] {
            kept.push(if i % 2 == 0 { self.last.as_ref().or(Some(xs)).unwrap() } else { &ys });
        }
        let sum = Tensor::cat(&kept, 0).sum(fx_runtime::Kind::Float);
        self.last = Some(ys.relu());
        ys + sum
    }
}

/// An input that opaque code takes in one branch.
#[derive(Debug, Module)]
pub struct Taken {
    fc: nn::Linear,
    by: i64,
}

#[traceable]
impl Taken {
    pub fn forward(&self, xs: &Tensor, mut other: Tensor) -> Tensor {
        let mut sum = xs.apply(&self.fc);
        if self.by > 1 {
            let (first, by) = (
                match 1.max(2) {
                    0 => {
                        let mut size = vec![xs.size()[0]];
                        size.extend_from_slice(&[2, -1]);
                        xs.view(size.as_slice())
                    }
                    1 | 3 => self.fc.forward(xs),
                    _ => other,
                },
                self.by,
            );
            sum = sum + first * by;
        } else {
            other = other.relu();
        }
        sum
    }
}

/// By what the forward has put into a list: elements by number, in loops, first and last, and taken out.
#[derive(Debug, Module)]
pub struct Listed {
    fc: nn::Linear,
}

#[traceable]
impl Listed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let zs = ys.relu();
        let mut kept = vec![];
        for i in 0..xs.size()[0] {
            kept.push(if i % 2 == 0 { &zs } else { xs });
        }
        let mut sum = choices::either(kept[0], kept[kept.len() - 1]) * 2;
        for one in kept.iter() {
            sum = sum + choices::either(*one, xs);
        }
        if let Some(one) = kept.first() {
            sum = sum + choices::either(*one, &ys);
        }
        if let Some(one) = kept.pop() {
            sum = sum + choices::either(one, xs);
        }
        for one in kept {
            sum = sum + choices::either(one, xs);
        }
        sum
    }
}

/// The same of tuples.
#[derive(Debug, Module)]
pub struct Weighted {
    fc: nn::Linear,
}

#[traceable]
impl Weighted {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let zs = ys.relu();
        let mut kept = vec![];
        for i in 0..xs.size()[0] {
            kept.push((if i % 2 == 0 { &zs } else { xs }, i));
        }
        let (one, by) = kept[kept.len() - 1];
        let mut sum = choices::either(kept[0].0, one) * by;
        if let Some((one, by)) = kept.first() {
            sum = sum + choices::either(*one, xs) * *by;
        }
        for (one, by) in kept.iter() {
            sum = sum + choices::either(*one, xs) * *by;
        }
        if let Some((one, by)) = kept.pop() {
            sum = sum + choices::either(one, &ys) * by;
        }
        for (one, by) in kept {
            sum = sum + choices::either(one, xs) * by;
        }
        sum
    }
}

/// By what iterations put into options, and by a `break` with a value.
#[derive(Debug, Module)]
pub struct Optional {
    fc: nn::Linear,
}

#[traceable]
impl Optional {
    pub fn forward(&self, xs: &Tensor, other: Option<&Tensor>) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut last: Option<&Tensor> = None;
        for i in 0..xs.size()[0] {
            if i > 1 {
                last = Some(choices::either(&ys, xs));
            } else if i > 0 {
                last = other;
            }
        }
        let mut low = choices::either(xs, &ys);
        let found = loop {
            if low.dim() > 1 {
                break low;
            }
            low = xs;
        };
        choices::either(found, low) + choices::either(last.unwrap_or(xs), found)
    }
}

/// By the type of a variable that holds none.
#[derive(Debug, Module)]
pub struct Absent {
    fc: nn::Linear,
}

#[traceable]
impl Absent {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let last: Option<&Tensor> = None;
        let ys = xs.apply(&self.fc);
        let parts = (0..3).map(|_| choices::either(last.map_or(xs, |one| one), &ys) * 2).collect::<Vec<_>>();
        Tensor::cat(&parts, 0) + last.map_or_else(|| ys.neg().tile([3, 1]), Tensor::shallow_clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, in_a_row, randn, understood};

    understood!(Written: 3 of 23);
    understood!(Paired: 4 of 15);
    understood!(Borrowed: 3 of 16);
    understood!(Gathered: 4 of 6);
    understood!(Counted: 0 of 12);
    understood!(Held: 2 of 6);
    understood!(OfState: 0 of 15);
    understood!(Taken: 2 of 10);
    understood!(Listed: 7 of 17);
    understood!(Weighted: 11 of 21);
    understood!(Optional: 2 of 10);
    understood!(Absent: 6 of 8);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 3] {
        [3, 1, 4].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn by_the_type_of_the_variable() {
        agree!(|p: &nn::Path| Written { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn by_what_is_borrowed() {
        agree!(|p: &nn::Path| Borrowed { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn by_elements_and_branches() {
        agree!(|p: &nn::Path| Paired { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn by_what_lists_hold() {
        agree!(|p: &nn::Path| Listed { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| Weighted { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn by_what_options_hold() {
        agree!(|p: &nn::Path| Optional { fc: linear(p) }, cases(), |net, xs| {
            let other = xs.sin();
            (net.forward(xs, Some(&other)), net.forward(xs, None))
        });
    }

    #[test]
    fn held_beyond_a_branch() {
        agree!(|p: &nn::Path| Held { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn taken_in_a_branch() {
        agree!(|p: &nn::Path| Taken { fc: linear(p), by: 2 }, cases(), |net, xs| {
            let other = xs.sin();
            net.forward(xs, other)
        });
        agree!(|p: &nn::Path| Taken { fc: linear(p), by: 0 }, cases(), |net, xs| {
            let other = xs.sin();
            net.forward(xs, other)
        });
    }

    #[test]
    #[allow(unused_mut, reason = "one of the forwards takes `&self`")]
    fn kept_in_lists() {
        agree!(|p: &nn::Path| Gathered { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        in_a_row!(|p: &nn::Path| Counted { fc: linear(p), calls: 0.into() }, cases().into());
        in_a_row!(|p: &nn::Path| OfState { fc: linear(p), last: None }, cases().into());
    }

    #[test]
    fn by_the_type_of_none() {
        agree!(|p: &nn::Path| Absent { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }
}
