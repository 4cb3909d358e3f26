//! Values whose type or place only the code around them says: trait objects, generic types of the crate, helpers that
//! convert, references to parts of the model in variables.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

trait Act {
    fn act(&self, xs: &Tensor) -> Tensor;
}

struct Relu;
struct Tanh(f64);

impl Act for Relu {
    fn act(&self, xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

impl Act for Tanh {
    fn act(&self, xs: &Tensor) -> Tensor {
        xs.tanh() * self.0
    }
}

enum Either<A, B> {
    Left(A),
    Right(B),
}

struct Wrap<T> {
    held: T,
}

impl<T> Wrap<T> {
    fn get(&self) -> &T {
        &self.held
    }
}

struct Scaled<const N: i64>(Tensor);

impl<const N: i64> Scaled<N> {
    fn new(xs: Tensor) -> Self {
        Scaled(xs)
    }

    fn scaled(&self) -> Tensor {
        &self.0 * N
    }
}

fn scaled<T: Into<f64>>(xs: &Tensor, by: T) -> Tensor {
    xs * by.into()
}

fn length_of(name: &str) -> i64 {
    name.len().try_into().unwrap()
}

fn summed(held: &mut Option<Tensor>, xs: Tensor) {
    match held {
        Some(sum) => *sum = &*sum + xs,
        None => *held = Some(xs),
    }
}

struct Steps {
    at: usize,
    count: usize,
}

impl Iterator for Steps {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.at < self.count {
            self.at += 1;
            Some(self.at - 1)
        } else {
            None
        }
    }
}

struct Context<'a> {
    xs: &'a Tensor,
    layers: &'a [nn::Linear],
    by: i64,
}

impl Context<'_> {
    fn run(&self) -> Tensor {
        self.layers.iter().fold(self.xs.shallow_clone(), |ys, layer| ys.apply(layer)) * self.by
    }
}

#[derive(Debug, Module)]
pub struct Block {
    fc: nn::Linear,
    by: f64,
}

impl Block {
    fn run(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.fc).tanh() * self.by
    }
}

struct Lent<'a> {
    block: &'a Block,
    by: &'a i64,
}

/// A reference to a trait object.
#[derive(Debug, Module)]
pub struct Object {
    a: nn::Linear,
    on: bool,
}

#[traceable]
impl Object {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let act: &dyn Act = if self.on { &Relu } else { &Tanh(0.5) };
        act.act(&xs.apply(&self.a))
    }
}

/// A list of boxed closures.
#[derive(Debug, Module)]
pub struct Closures {
    a: nn::Linear,
}

#[traceable]
impl Closures {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let acts: Vec<Box<dyn Fn(&Tensor) -> Tensor>> = vec![Box::new(|xs| xs.relu()), Box::new(|xs| xs * 2.0)];
        let mut ys = xs.apply(&self.a);
        for _ in 0..2 {
            for act in &acts {
                ys = act(&ys);
            }
        }
        ys + acts.len() as i64
    }
}

/// A function, or none.
#[derive(Debug, Module)]
pub struct Pointer {
    a: nn::Linear,
    on: bool,
}

#[traceable]
impl Pointer {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut act: Option<fn(&Tensor) -> Tensor> = None;
        if self.on {
            act = Some(Tensor::tanh);
        }
        let ys = xs.apply(&self.a);
        match act {
            Some(act) => act(&ys),
            None => ys,
        }
    }
}

/// A generic enum.
#[derive(Debug, Module)]
pub struct EitherOf {
    a: nn::Linear,
}

#[traceable]
impl EitherOf {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let made: Either<Tensor, i64> =
            if xs.size()[0] > 1 { Either::Left(xs.apply(&self.a)) } else { Either::Right(3) };
        let list: Vec<Either<Tensor, i64>> = vec![Either::Left(xs.relu()), Either::Right(2)];
        let mut ys = match made {
            Either::Left(ys) => ys,
            Either::Right(by) => xs * by,
        };
        for one in list {
            ys = match one {
                Either::Left(zs) => ys + zs,
                Either::Right(by) => ys * by,
            };
        }
        ys
    }
}

/// A generic struct.
#[derive(Debug, Module)]
pub struct Wrapped {
    a: nn::Linear,
}

#[traceable]
impl Wrapped {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let wrap: Wrap<Option<Tensor>> = Wrap { held: None };
        match wrap.get() {
            Some(ys) => ys.relu(),
            None => xs.apply(&self.a),
        }
    }
}

/// A constant parameter.
#[derive(Debug, Module)]
pub struct ByConstant {
    a: nn::Linear,
}

#[traceable]
impl ByConstant {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let made = Scaled::<2>::new(xs.apply(&self.a));
        made.scaled()
    }
}

/// A helper that takes what becomes a number.
#[derive(Debug, Module)]
pub struct Converted {
    a: nn::Linear,
}

#[traceable]
impl Converted {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.a);
        scaled(&ys, 2i32) + scaled(&ys, 0.5f32) + scaled(&ys, 3.0)
    }
}

/// A helper whose output says the type.
#[derive(Debug, Module)]
pub struct ByOutput {
    a: nn::Linear,
    name: String,
}

#[traceable]
impl ByOutput {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.a);
        let by = length_of(&self.name);
        ys * by
    }
}

/// A helper that writes through a pattern.
#[derive(Debug, Module)]
pub struct Summed {
    a: nn::Linear,
}

#[traceable]
impl Summed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut sum = None;
        summed(&mut sum, xs.apply(&self.a));
        summed(&mut sum, xs.relu());
        sum.unwrap()
    }
}

/// Constants and `use` lines of blocks.
#[derive(Debug, Module)]
pub struct InBody {
    ls: Vec<nn::Linear>,
}

#[traceable]
impl InBody {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        const COUNT: usize = 2;
        let both: [Tensor; COUNT] = std::array::from_fn(|at| xs.apply(&self.ls[at]));
        let [one, other] = both;
        let soft = {
            use fx_runtime::Kind as K;
            one.softmax(-1, K::Float)
        };
        soft + other * COUNT as i64
    }
}

/// A list of texts out of a method.
#[derive(Debug, Module)]
pub struct Names {
    a: nn::Linear,
    names: Vec<String>,
}

#[traceable]
impl Names {
    fn names(&self) -> Vec<&str> {
        self.names.iter().map(|name| name.as_str()).collect()
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let names = self.names();
        let longest = names.iter().map(|name| name.len()).max().unwrap() as i64;
        if names.contains(&"tanh") { xs.apply(&self.a) * longest } else { xs.neg() }
    }
}

/// An iterator of the crate's.
#[derive(Debug, Module)]
pub struct OwnIterator {
    ls: Vec<nn::Linear>,
}

#[traceable]
impl OwnIterator {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let steps = Steps { at: 0, count: 3 };
        let mut ys = xs.shallow_clone();
        for at in steps {
            ys = ys.apply(&self.ls[at]);
        }
        ys
    }
}

/// A struct that borrows what was computed.
#[derive(Debug, Module)]
pub struct Borrowing {
    a: nn::Linear,
    ls: Vec<nn::Linear>,
}

#[traceable]
impl Borrowing {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.a);
        let context = Context { xs: &ys, layers: &self.ls, by: 2 };
        context.run()
    }
}

/// A slice in a tuple.
#[derive(Debug, Module)]
pub struct Slices {
    a: nn::Linear,
    o: Option<nn::Linear>,
}

#[traceable]
impl Slices {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.a);
        match (xs.size().as_slice(), &self.o) {
            ([1, _], Some(o)) => ys.apply(o),
            ([count, 4], _) => ys * *count,
            _ => ys,
        }
    }
}

/// A choice that is cast to a function.
#[derive(Debug, Module)]
pub struct Cast {
    a: nn::Linear,
    k: i64,
}

#[traceable]
impl Cast {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let act = match self.k {
            0 => Tensor::relu,
            3 => Tensor::tanh,
            _ => Tensor::sigmoid,
        } as fn(&Tensor) -> Tensor;
        act(&xs.apply(&self.a))
    }
}

/// Parts of what is found.
#[derive(Debug, Module)]
pub struct PartsOfFound {
    arr: [Block; 2],
    named: Vec<(String, Block)>,
}

#[traceable]
impl PartsOfFound {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let block = &self.named.iter().find(|(name, _)| name == "id").unwrap().1;
        let layer = &self.arr.iter().find(|block| block.by > 1.0).unwrap().fc;
        let first = self.named.iter().map(|pair| &pair.1).next().unwrap();
        let other = &first.fc;
        block.run(xs).apply(layer).apply(other)
    }
}

/// A reference that a loop carries.
#[derive(Debug, Module)]
pub struct Current {
    arr: [Block; 2],
}

#[traceable]
impl Current {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut current = &self.arr[0];
        let mut ys = xs.shallow_clone();
        for at in 0..2 {
            ys = current.run(&ys);
            current = &self.arr[(at + 1) % 2];
        }
        current.run(&ys)
    }
}

/// References to layers beside numbers.
#[derive(Debug, Module)]
pub struct Unzipped {
    arr: [Block; 2],
}

#[traceable]
impl Unzipped {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (layers, by): (Vec<&nn::Linear>, Vec<f64>) = self.arr.iter().map(|block| (&block.fc, block.by)).unzip();
        xs.apply(layers[0]).apply(layers[1]) * by[0]
    }
}

/// A part of the layers.
#[derive(Debug, Module)]
pub struct Chosen {
    ls: Vec<nn::Linear>,
}

#[traceable]
impl Chosen {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let count = xs.size()[0];
        let layers: &[nn::Linear] = if count > 1 { &self.ls } else { &self.ls[..1] };
        layers.iter().fold(xs.shallow_clone(), |ys, layer| ys.apply(layer))
    }
}

/// A struct of references, taken apart.
#[derive(Debug, Module)]
pub struct Destructured {
    arr: [Block; 2],
    k: i64,
}

#[traceable]
impl Destructured {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let Lent { block, by } = Lent { block: &self.arr[0], by: &self.k };
        block.run(xs) * *by
    }
}

/// A `Result` of a reference.
#[derive(Debug, Module)]
pub struct Fallible {
    ls: Vec<nn::Linear>,
    o: Option<nn::Linear>,
}

#[traceable]
impl Fallible {
    fn get(&self, at: usize) -> Result<&nn::Linear, String> {
        match at {
            0..=2 => Ok(&self.ls[at]),
            3 => self.o.as_ref().ok_or_else(|| "none".to_string()),
            at => Err(format!("no {at}")),
        }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for at in 0..3 {
            ys = ys.apply(self.get(at).unwrap());
        }
        match self.get(3) {
            Ok(layer) => ys.apply(layer),
            Err(error) => ys * error.len() as i64,
        }
    }
}

/// Numbers that a test counts.
#[derive(Debug, Module)]
pub struct Counted {
    a: nn::Linear,
    k: i64,
}

#[traceable]
impl Counted {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let sizes = xs.size();
        let count = sizes.iter().filter(|&&size| size == self.k).count() as i64;
        xs.apply(&self.a) * count
    }
}

/// A parameter that may be a slice.
#[derive(Debug, Module)]
pub struct Dimensions {
    a: nn::Linear,
}

#[traceable]
impl Dimensions {
    pub fn forward(&self, xs: &Tensor, dims: Option<&[i64]>) -> Tensor {
        let ys = xs.apply(&self.a);
        match dims {
            Some(dims) => ys.sum_dim_intlist(dims, true, Kind::Float),
            None => ys,
        }
    }
}

/// A tensor out of code that is not understood, handed on by one arm and read behind it.
#[derive(Debug, Module)]
pub struct HandedOn {
    a: nn::Linear,
}

#[traceable]
impl HandedOn {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let last: Tensor = [xs.shallow_clone(), xs.apply(&self.a)].into_iter().last().unwrap();
        let ys = match 3 {
            0 => last.copy(),
            1 | 3 => last.neg(),
            _ => last.shallow_clone(),
        };
        ys - &last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn, understood};

    not_interpreted!(Slices: "does not fit");
    not_interpreted!(Current: "cannot take the field `fc`");

    understood!(Pointer: 0 of 3);
    understood!(Borrowing: 0 of 2);
    understood!(Names: 3 of 9);
    understood!(Chosen: 1 of 3);
    understood!(Cast: 31 of 34);
    understood!(ByConstant: 2 of 3);
    understood!(HandedOn: 4 of 8);
    understood!(Fallible: 0 of 16);
    understood!(EitherOf: 0 of 12);
    understood!(Summed: 1 of 4);
    understood!(Object: 1 of 6);
    understood!(OwnIterator: 0 of 3);
    understood!(Unzipped: 3 of 8);
    understood!(Converted: 1 of 4);
    understood!(Wrapped: 2 of 3);
    understood!(PartsOfFound: 0 of 13);
    understood!(Destructured: 0 of 1);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn layers(p: &nn::Path) -> Vec<nn::Linear> {
        (0..3).map(|at| linear(p / at)).collect()
    }

    #[test]
    fn a_tensor_that_its_variable_names_is_read_again() {
        agree!(|p: &nn::Path| HandedOn { a: linear(p / "a") }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn object() {
        for flag in [true, false] {
            agree!(
                |p: &nn::Path| Object { a: linear(p / "a"), on: flag },
                [randn(&[2, 4]), randn(&[1, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn closures() {
        agree!(|p: &nn::Path| Closures { a: linear(p / "a") }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn pointer() {
        for flag in [true, false] {
            agree!(
                |p: &nn::Path| Pointer { a: linear(p / "a"), on: flag },
                [randn(&[2, 4]), randn(&[1, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn either_of() {
        agree!(|p: &nn::Path| EitherOf { a: linear(p / "a") }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn wrapped() {
        agree!(|p: &nn::Path| Wrapped { a: linear(p / "a") }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn by_constant() {
        agree!(|p: &nn::Path| ByConstant { a: linear(p / "a") }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn converted() {
        agree!(|p: &nn::Path| Converted { a: linear(p / "a") }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn by_output() {
        agree!(
            |p: &nn::Path| ByOutput { a: linear(p / "a"), name: "four".to_owned() },
            [randn(&[2, 4]), randn(&[1, 4])],
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn summed() {
        agree!(|p: &nn::Path| Summed { a: linear(p / "a") }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn in_body() {
        agree!(|p: &nn::Path| InBody { ls: layers(p) }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn names() {
        agree!(
            |p: &nn::Path| Names { a: linear(p / "a"), names: vec!["tanh".to_owned(), "a".to_owned()] },
            [randn(&[2, 4]), randn(&[1, 4])],
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn own_iterator() {
        agree!(|p: &nn::Path| OwnIterator { ls: layers(p) }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn borrowing() {
        agree!(
            |p: &nn::Path| Borrowing { a: linear(p / "a"), ls: layers(p) },
            [randn(&[2, 4]), randn(&[1, 4])],
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn slices() {
        for some in [true, false] {
            agree!(
                |p: &nn::Path| Slices { a: linear(p / "a"), o: some.then(|| linear(p / "o")) },
                [randn(&[2, 4]), randn(&[1, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn cast() {
        for k in [0, 3, 5] {
            agree!(|p: &nn::Path| Cast { a: linear(p / "a"), k: k }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net
                .forward(xs));
        }
    }

    #[test]
    fn parts_of_found() {
        agree!(
            |p: &nn::Path| PartsOfFound {
                arr: [0, 1].map(|at| Block { fc: linear(p / at), by: 0.5 + at as f64 }),
                named: vec![("id".to_owned(), Block { fc: linear(p / "id"), by: 2.0 })]
            },
            [randn(&[2, 4]), randn(&[1, 4])],
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn current() {
        agree!(
            |p: &nn::Path| Current { arr: [0, 1].map(|at| Block { fc: linear(p / at), by: 0.5 + at as f64 }) },
            [randn(&[2, 4]), randn(&[1, 4])],
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn unzipped() {
        agree!(
            |p: &nn::Path| Unzipped { arr: [0, 1].map(|at| Block { fc: linear(p / at), by: 0.5 + at as f64 }) },
            [randn(&[2, 4]), randn(&[1, 4])],
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn chosen() {
        agree!(|p: &nn::Path| Chosen { ls: layers(p) }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn destructured() {
        agree!(
            |p: &nn::Path| Destructured {
                arr: [0, 1].map(|at| Block { fc: linear(p / at), by: 0.5 + at as f64 }),
                k: 3
            },
            [randn(&[2, 4]), randn(&[1, 4])],
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn fallible() {
        for some in [true, false] {
            agree!(
                |p: &nn::Path| Fallible { ls: layers(p), o: some.then(|| linear(p / "o")) },
                [randn(&[2, 4]), randn(&[1, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn counted() {
        agree!(|p: &nn::Path| Counted { a: linear(p / "a"), k: 4 }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn dimensions() {
        agree!(
            |p: &nn::Path| Dimensions { a: linear(p / "a") },
            [(randn(&[2, 4]), true), (randn(&[2, 4]), false)],
            |net, (xs, some)| net.forward(xs, some.then_some(&[1i64][..]))
        );
    }
}
