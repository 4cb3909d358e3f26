//! A `match` on texts, however they are reached.

use fx_runtime::{Module, Tensor, nn, traceable};

fn activated(xs: &Tensor, name: &str) -> Tensor {
    match name {
        "relu" => xs.relu(),
        "tanh" => xs.tanh(),
        other if other.ends_with("relu") => xs.relu() * 2.0,
        _ => xs.neg(),
    }
}

fn known(xs: &Tensor, name: &str) -> Tensor {
    match name {
        "relu" => xs.relu(),
        "tanh" | "my_relu" => xs.tanh(),
        name => panic!("unsupported {name}"),
    }
}

fn function_of(name: &str) -> fn(&Tensor) -> Tensor {
    match name {
        "relu" => Tensor::relu,
        "tanh" => Tensor::tanh,
        _ => Tensor::neg,
    }
}

fn trimmed(name: &str) -> &str {
    name.trim()
}

fn length(xs: &Tensor, name: impl Into<String>) -> Tensor {
    let name: String = name.into();
    xs * name.len() as i64
}

/// Handed to a helper: a field, a literal and an element of a list.
#[derive(Debug, Module)]
pub struct ByHelper {
    a: nn::Linear,
    name: String,
    names: Vec<String>,
}

#[traceable]
impl ByHelper {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.a);
        activated(&ys, &self.name) + activated(&ys, "tanh") + activated(xs, &self.names[0])
    }
}

/// With the name in a panic.
#[derive(Debug, Module)]
pub struct ByHelperOrPanic {
    a: nn::Linear,
    name: String,
}

#[traceable]
impl ByHelperOrPanic {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.a);
        known(&ys, &self.name) + known(&ys, "tanh")
    }
}

/// As a `String` of the helper's own.
#[derive(Debug, Module)]
pub struct Lengths {
    name: String,
}

#[traceable]
impl Lengths {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        length(xs, &self.name)
    }
}

/// What a helper yields is a function.
#[derive(Debug, Module)]
pub struct FunctionOf {
    a: nn::Linear,
    names: Vec<String>,
}

#[traceable]
impl FunctionOf {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.a);
        function_of(&self.names[0])(&ys)
    }
}

/// `&*name`, `&name as &str`, `name.as_ref()`.
#[derive(Debug, Module)]
pub struct Reborrowed {
    a: nn::Linear,
    name: String,
}

#[traceable]
impl Reborrowed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.a);
        let ys = match &*self.name {
            "relu" => ys.relu(),
            _ => ys,
        };
        let ys = match &self.name as &str {
            "tanh" => ys.tanh(),
            _ => ys,
        };
        match self.name.as_ref() {
            "x" => ys.neg(),
            _ => ys,
        }
    }
}

/// Out of functions and methods that yield `&str`.
#[derive(Debug, Module)]
pub struct Handed {
    a: nn::Linear,
    name: String,
}

#[traceable]
impl Handed {
    fn act(&self) -> &str {
        &self.name
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.a);
        let name = trimmed(&self.name);
        let ys = match name {
            "relu" => ys.relu(),
            _ => ys,
        };
        match self.act() {
            "tanh" => ys.tanh(),
            _ => ys,
        }
    }
}

/// In a closure.
#[derive(Debug, Module)]
pub struct ByClosure {
    a: nn::Linear,
    names: Vec<String>,
}

#[traceable]
impl ByClosure {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.a);
        let act = |name: &str, xs: Tensor| match name {
            "relu" => xs.relu(),
            _ => xs.neg(),
        };
        act(&self.names[0], act("tanh", ys))
    }
}

/// Of lists that are written out, and of the model's.
#[derive(Debug, Module)]
pub struct WrittenOut {
    a: nn::Linear,
    names: Vec<String>,
}

#[traceable]
impl WrittenOut {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.apply(&self.a);
        for name in ["relu", "tanh"] {
            ys = match name {
                "relu" => ys.relu(),
                "tanh" => ys.tanh(),
                _ => unreachable!(),
            };
        }
        for name in self.names.iter() {
            ys = match name.as_ref() {
                "relu" => ys.relu(),
                "tanh" => ys.tanh(),
                _ => ys,
            };
        }
        ["relu", "tanh"].iter().fold(ys, |ys, name| match *name {
            "relu" => ys.relu(),
            _ => ys,
        })
    }
}

/// In an array of pairs.
#[derive(Debug, Module)]
pub struct Configured {
    ls: Vec<nn::Linear>,
}

#[traceable]
impl Configured {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let stages = [("relu", 2), ("tanh", 0), ("skip", 1)];
        let mut ys = xs.shallow_clone();
        for (act, at) in stages.iter() {
            let zs = ys.apply(&self.ls[*at]);
            ys = match *act {
                "relu" => zs.relu(),
                "tanh" => zs.tanh(),
                "skip" => zs + &ys,
                other => panic!("{other}"),
            };
        }
        ys
    }
}

/// Of a list of texts that is made here, through `[..]`.
#[derive(Debug, Module)]
pub struct Filtered {
    a: nn::Linear,
    names: Vec<String>,
}

#[traceable]
impl Filtered {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let names: Vec<String> = self.names.iter().filter(|name| name.len() > 2).cloned().collect();
        let mut ys = xs.apply(&self.a);
        for name in &names {
            ys = match &name[..] {
                "relu" => ys.relu(),
                "tanh" => ys.tanh(),
                _ => ys,
            };
        }
        ys
    }
}

/// An option of a text in a field, matched as a borrowed one.
#[derive(Debug, Module)]
pub struct MaybeNamed {
    a: nn::Linear,
    #[module(skip)]
    act: Option<String>,
}

#[traceable(strict)]
impl MaybeNamed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.a);
        let ys = match self.act.as_deref() {
            Some("relu") => ys.relu(),
            Some("tanh" | "my_tanh") => ys.tanh(),
            Some(other) if other.len() == 3 => ys * 2,
            Some(_) => ys.neg(),
            None => ys,
        };
        if let Some("exp") = self.act.as_deref() { ys.exp() } else { ys }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Handed: 3 of 5);
    understood!(Reborrowed: 4 of 5);
    understood!(Lengths: 0 of 5);
    understood!(Filtered: 3 of 9);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn layers(p: &nn::Path) -> Vec<nn::Linear> {
        (0..3).map(|at| linear(p / at)).collect()
    }

    #[test]
    fn maybe_named() {
        for name in ["relu", "my_tanh", "exp", "x", ""] {
            let act = (!name.is_empty()).then(|| name.to_owned());
            agree!(|p: &nn::Path| MaybeNamed { a: linear(p / "a"), act: act.clone() }, [randn(&[2, 4])], |net, xs| net
                .forward(xs));
        }
    }

    #[test]
    fn by_helper() {
        for name in ["relu", "tanh", "my_relu", "x"] {
            agree!(
                |p: &nn::Path| ByHelper {
                    a: linear(p / "a"),
                    name: name.to_owned(),
                    names: vec![name.to_owned(), "relu".to_owned(), "tanh".to_owned()]
                },
                [randn(&[2, 4]), randn(&[1, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn by_helper_or_panic() {
        for name in ["relu", "my_relu"] {
            agree!(
                |p: &nn::Path| ByHelperOrPanic { a: linear(p / "a"), name: name.to_owned() },
                [randn(&[2, 4]), randn(&[1, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn lengths() {
        for name in ["relu", "tanh", "my_relu", "x"] {
            agree!(|p: &nn::Path| Lengths { name: name.to_owned() }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net
                .forward(xs));
        }
    }

    #[test]
    fn function_of() {
        for name in ["relu", "tanh", "my_relu", "x"] {
            agree!(
                |p: &nn::Path| FunctionOf {
                    a: linear(p / "a"),
                    names: vec![name.to_owned(), "relu".to_owned(), "tanh".to_owned()]
                },
                [randn(&[2, 4]), randn(&[1, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn reborrowed() {
        for name in ["relu", "tanh", "my_relu", "x"] {
            agree!(
                |p: &nn::Path| Reborrowed { a: linear(p / "a"), name: name.to_owned() },
                [randn(&[2, 4]), randn(&[1, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn handed() {
        for name in ["relu", "tanh", "my_relu", "x"] {
            agree!(
                |p: &nn::Path| Handed { a: linear(p / "a"), name: name.to_owned() },
                [randn(&[2, 4]), randn(&[1, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn by_closure() {
        for name in ["relu", "tanh", "my_relu", "x"] {
            agree!(
                |p: &nn::Path| ByClosure {
                    a: linear(p / "a"),
                    names: vec![name.to_owned(), "relu".to_owned(), "tanh".to_owned()]
                },
                [randn(&[2, 4]), randn(&[1, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn written_out() {
        for name in ["relu", "tanh", "my_relu", "x"] {
            agree!(
                |p: &nn::Path| WrittenOut {
                    a: linear(p / "a"),
                    names: vec![name.to_owned(), "relu".to_owned(), "tanh".to_owned()]
                },
                [randn(&[2, 4]), randn(&[1, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn configured() {
        agree!(|p: &nn::Path| Configured { ls: layers(p) }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn filtered() {
        for name in ["relu", "tanh", "my_relu", "x"] {
            agree!(
                |p: &nn::Path| Filtered {
                    a: linear(p / "a"),
                    names: vec![name.to_owned(), "relu".to_owned(), "tanh".to_owned()]
                },
                [randn(&[2, 4]), randn(&[1, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }
}
