//! The types that lent state is of.

/// What stands before a model that is lent a state.
pub(super) const ITEMS: &str = r"
#[derive(Debug)]
pub struct Part { k: Tensor, n: i64, o: Option<Tensor> }

impl Clone for Part {
    fn clone(&self) -> Part { Part { k: self.k.copy(), n: self.n, o: self.o.as_ref().map(|o| o.copy()) } }
}

impl Part {
    fn fresh(xs: &Tensor) -> Part { Part { k: xs.cos(), n: 1, o: None } }

    fn step(&mut self, xs: &Tensor) -> Tensor {
        self.n += 1;
        let old = self.o.replace(xs.shallow_clone());
        self.k = match old {
            Some(old) => (&self.k + old).tanh(),
            None => &self.k * 0.5,
        };
        self.k.shallow_clone()
    }

    fn both(&mut self, xs: &Tensor) -> (Tensor, Tensor) {
        let old = std::mem::replace(&mut self.k, xs.sin());
        if self.n > 3 {
            return (old, xs.neg());
        }
        self.n += 2;
        (old, self.k.shallow_clone())
    }

    fn key(&self) -> Tensor { self.k.shallow_clone() }
    fn key_ref(&self) -> &Tensor { &self.k }
    fn key_mut(&mut self) -> &mut Tensor { &mut self.k }
    fn maybe(&self) -> Option<&Tensor> { self.o.as_ref() }
    fn count(&self) -> i64 { self.n % 7 }
    fn told(&self) -> (i64, bool) { (self.n, self.o.is_some()) }
    fn bump(&mut self, by: i64) { self.n += by % 5; }

    fn reset(&mut self) {
        self.o = None;
        self.n = 0;
        let _ = self.k.zero_();
    }
}

#[derive(Debug)]
pub struct Kept {
    h: Tensor,
    n: i64,
    f: f64,
    is: bool,
    list: Vec<Tensor>,
    fixed: Vec<Tensor>,
    ints: Vec<i64>,
    o: Option<Tensor>,
    pair: Option<(Tensor, Tensor)>,
    kvs: Vec<Option<(Tensor, Tensor)>>,
    tn: (Tensor, i64),
    own: Part,
    parts: Vec<Part>,
    part: Option<Part>,
    row: [Tensor; 2],
}

impl Kept {
    fn new(x: &Tensor, y: &Tensor, variant: usize) -> Kept {
        let part = |by: i64| Part { k: y + by, n: by, o: (by > 1).then(|| x.sin()) };
        Kept {
            h: x * 0.5,
            n: variant as i64,
            f: 0.25,
            is: variant == 1,
            list: (0..variant as i64).map(|at| x - at).collect(),
            fixed: vec![y.neg(), x.tanh()],
            ints: vec![3; variant],
            o: (variant > 0).then(|| y.copy()),
            pair: (variant > 1).then(|| (y.sin(), x.cos())),
            kvs: vec![None, (variant > 0).then(|| (x.sin(), y.cos())), None],
            tn: (x.sigmoid(), 2),
            own: part(1),
            parts: vec![part(1), part(2)],
            part: (variant > 0).then(|| part(variant as i64)),
            row: [x.copy(), y.copy()],
        }
    }

    fn named(&mut self, at: usize) -> &mut Part { &mut self.parts[at] }
    fn head(&self) -> &Tensor { &self.h }

    fn push(&mut self, one: Tensor) -> usize {
        self.list.push(one);
        if self.list.len() > 3 {
            self.list.remove(0);
        }
        self.list.len()
    }

    fn mean(&self) -> Option<Tensor> {
        if self.list.is_empty() {
            return None;
        }
        Some(Tensor::stack(&self.list, 0).mean_dim(0i64, false, self.h.kind()))
    }
}

crate::parts!(Part { k, n, o });
crate::parts!(Kept { h, n, f, is, list, fixed, ints, o, pair, kvs, tn, own, parts, part, row });
";
