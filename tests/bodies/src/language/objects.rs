//! References to trait objects in variables, which say their type, and functions whose names generated code might take.

use fx_runtime::{Module, Tensor, nn, traceable};

/// Closures behind references of a written type.
#[derive(Debug, Module)]
pub struct Functions {
    fc: nn::Linear,
}

#[traceable]
impl Functions {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let first: &dyn Fn(&Tensor) -> Tensor = &|ys| ys.apply(&self.fc);
        let second: &dyn Fn(&Tensor) -> Tensor =
            if xs.size()[0] > 2 { &|ys| ys.relu() } else { &|ys| first(ys).tanh() };
        second(&first(xs))
    }
}

/// Functions in pairs with their names.
#[derive(Debug, Module)]
pub struct NamedFunctions {
    fc: nn::Linear,
}

#[traceable]
impl NamedFunctions {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let text: &dyn AsRef<str> = &"ab";
        let steps: [(&str, Box<dyn Fn(&Tensor) -> Tensor>); 2] =
            [("a", Box::new(|ys| ys.relu())), ("ab", Box::new(|ys| ys.apply(&self.fc)))];
        let mut ys = xs.shallow_clone();
        for (name, step) in &steps {
            ys = step(&ys) * name.len() as i64;
        }
        ys * text.as_ref().len() as i64
    }
}

fn gelu(xs: &Tensor) -> Tensor {
    let (a, b) = xs.size2().or_else(|_| xs.size2()).unwrap_or((0, 0));
    xs.reshape([a * b]).view([a, b]) * 2
}

fn sine(xs: &Tensor) -> Tensor {
    xs.sin()
}

/// An op and a function of one name, and a function that is mapped by its name.
#[derive(Debug, Module)]
pub struct SameNames {
    fc: nn::Linear,
}

#[traceable]
impl SameNames {
    pub fn forward(&self, xs: &Tensor, more: bool) -> Tensor {
        let ys = xs.apply(&self.fc).gelu("none") * xs;
        let parts: Vec<Tensor> = [ys.relu(), xs.tanh()].iter().map(sine).collect();
        let ys = &parts[0] + &parts[1];
        if more {
            let (rows, _) = ys.size2().or_else(|_| ys.size2()).unwrap_or((0, 0));
            gelu(&ys.tanh()) * rows
        } else {
            ys
        }
    }
}

fn all(layers: &[nn::Linear], xs: Tensor) -> Tensor {
    match layers {
        [] => xs,
        [first, rest @ ..] => all(rest, xs.apply(first).relu()),
    }
}

/// A recursion over a slice.
#[derive(Debug, Module)]
pub struct Recursive {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl Recursive {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        all(&self.layers, xs.shallow_clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::*;

    understood!(NamedFunctions: 5 of 8);
    understood!(SameNames: 8 of 21);
    understood!(Recursive: 2 of 6);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, nn::LinearConfig::default())
    }

    #[test]
    fn functions() {
        agree!(|p| Functions { fc: linear(p / 0) }, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
        agree!(|p| NamedFunctions { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn same_names() {
        for more in [false, true] {
            agree!(|p| SameNames { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs, more));
        }
    }

    #[test]
    fn recursive() {
        let make = |p: &nn::Path| Recursive { layers: vec![linear(p / 0), linear(p / 1)] };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
