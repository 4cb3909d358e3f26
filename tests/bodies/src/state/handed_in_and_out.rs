//! State that is handed in and out: key-value caches, recurrent states.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// `Option<(Tensor, Tensor)>` in, the pair out.
#[derive(Debug, Module)]
pub struct Cached {
    q: nn::Linear,
    kv: nn::Linear,
}

#[traceable]
impl Cached {
    pub fn forward(&self, xs: &Tensor, past: Option<(Tensor, Tensor)>) -> (Tensor, (Tensor, Tensor)) {
        let q = self.q.forward(xs);
        let kv = self.kv.forward(xs).chunk(2, -1);
        let (k, v) = (kv[0].shallow_clone(), kv[1].shallow_clone());
        let (k, v) = match past {
            Some((past_k, past_v)) => (Tensor::cat(&[past_k, k], -2), Tensor::cat(&[past_v, v], -2)),
            None => (k, v),
        };
        let ys = q.matmul(&k.transpose(-2, -1)).softmax(-1, Kind::Float).matmul(&v);
        (ys, (k, v))
    }
}

/// A borrowed cache of many layers, zipped with them.
#[derive(Debug)]
pub struct LayerState {
    pub key: Tensor,
    pub value: Tensor,
}

#[derive(Debug, Module)]
pub struct Decoder {
    layers: Vec<Cached>,
}

#[traceable]
impl Decoder {
    pub fn forward(&self, xs: &Tensor, past: Option<&[LayerState]>) -> (Tensor, Vec<LayerState>) {
        let mut ys = xs.shallow_clone();
        let mut states = Vec::new();
        for (i, layer) in self.layers.iter().enumerate() {
            let state = past.map(|past| (past[i].key.shallow_clone(), past[i].value.shallow_clone()));
            let (next, (key, value)) = layer.forward(&ys, state);
            ys = ys + next;
            states.push(LayerState { key, value });
        }
        (ys, states)
    }
}

/// A mutable cache as a parameter.
#[derive(Debug, Default)]
pub struct Memory {
    pub keys: Option<Tensor>,
    pub seen: usize,
}

#[derive(Debug, Module)]
pub struct Mutable {
    fc: nn::Linear,
}

#[traceable]
impl Mutable {
    pub fn forward(&self, xs: &Tensor, memory: &mut Memory) -> Tensor {
        let k = self.fc.forward(xs);
        let keys = match memory.keys.take() {
            Some(old) => Tensor::cat(&[old, k], 0),
            None => k,
        };
        memory.seen += 1;
        let ys = keys.sum_dim_intlist([0i64].as_slice(), false, Kind::Float) * memory.seen as f64;
        memory.keys = Some(keys);
        ys
    }
}

/// A cell of interior state.
#[derive(Debug, Module)]
pub struct Counting {
    fc: nn::Linear,
    calls: std::cell::Cell<i64>,
}

#[traceable(strict)]
impl Counting {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.calls.set(self.calls.get() + 1);
        self.fc.forward(xs) * self.calls.get()
    }
}

/// A recurrent state as a struct, updated with `..`.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    pub scale: f64,
    pub shift: f64,
}

#[derive(Debug, Module)]
pub struct Configured {
    fc: nn::Linear,
    settings: Settings,
}

#[traceable]
impl Configured {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let settings = Settings { shift: 1.0, ..self.settings.clone() };
        let Settings { scale, shift } = &settings;
        self.fc.forward(xs) * *scale + *shift
    }
}

/// What the layers of one call share, in a value that is made where the call is handed it.
#[derive(Debug, Default)]
struct Shared {
    bias: Option<Tensor>,
    uses: i64,
}

#[derive(Debug, Module)]
pub struct Biased {
    fc: nn::Linear,
    relative: Option<nn::Linear>,
}

impl Biased {
    fn bias(&self, xs: &Tensor) -> Option<Tensor> {
        let relative = self.relative.as_ref()?;
        Some(xs.apply(relative))
    }

    fn forward(&self, xs: &Tensor, mask: Option<&Tensor>, shared: &mut Shared) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        if shared.bias.is_none() {
            let mut bias = self.bias(xs);
            if let (Some(bias), Some(mask)) = (bias.as_mut(), mask) {
                *bias += mask;
            }
            shared.bias = bias;
        }
        shared.uses += 1;
        if let Some(bias) = &shared.bias {
            ys += bias;
        }
        ys * shared.uses
    }
}

#[derive(Debug, Module)]
pub struct SharedBias {
    layers: Vec<Biased>,
}

fn pushed(xs: &Tensor, all: &mut Vec<Tensor>) -> i64 {
    all.push(xs.relu());
    all.len() as i64
}

#[traceable(strict)]
impl SharedBias {
    pub fn forward(&self, xs: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let mut shared = Shared::default();
        let mut ys = xs.relu();
        for layer in &self.layers {
            ys = layer.forward(&ys, mask, &mut shared);
        }
        for layer in &self.layers {
            ys = ys + layer.forward(xs, mask, &mut Shared::default());
            ys = ys + layer.forward(xs, None, &mut Shared { bias: None, uses: shared.uses });
        }
        ys * pushed(xs, &mut Vec::new()) * pushed(xs, &mut vec![])
    }
}

/// A state with lists.
#[derive(Debug)]
pub struct Stream {
    pub position: usize,
    pub samples: Vec<f32>,
    pub frames: Vec<Tensor>,
}

/// Lists of a state that some calls begin anew, and hand out early.
#[derive(Debug, Module)]
pub struct Streamed {
    fc: nn::Linear,
}

#[traceable]
impl Streamed {
    pub fn forward(&self, xs: &Tensor, stream: Stream, begins: bool) -> (Tensor, Stream) {
        let mut now = stream;
        if begins {
            now.samples = vec![1.0, 2.0];
        }
        if xs.size()[0] < 3 {
            now.frames = vec![xs.sin()];
            now.position = 0;
            return (xs.zeros_like(), now);
        }
        now.position += 1;
        (xs.apply(&self.fc), now)
    }
}

/// What a window has a list of.
#[derive(Clone, Debug, Default)]
pub struct Span {
    empty: Option<()>,
    pub rows: i64,
}

/// A number that counts its copies.
#[derive(Debug, Default)]
pub struct Copies {
    pub count: i64,
}

impl Clone for Copies {
    fn clone(&self) -> Copies {
        Copies { count: self.count + 1 }
    }
}

/// A state that derives `Clone`.
#[derive(Clone, Debug, Default)]
pub struct Window {
    pub start: usize,
    pub samples: Vec<f32>,
    pub spans: Vec<Span>,
    pub last: Option<i64>,
}

/// The same with a part that does not.
#[derive(Clone, Debug, Default)]
pub struct Followed {
    pub copies: Copies,
    pub start: usize,
}

/// Copies of states, which are written to by themselves.
#[derive(Debug, Module)]
pub struct Copied {
    fc: nn::Linear,
}

#[traceable]
impl Copied {
    pub fn forward(&self, xs: &Tensor, window: Window) -> (Tensor, Window) {
        let mut now = window;
        now.samples.push(0.25);
        let mut next = now.clone();
        next.start += 1;
        next.samples.push(0.5);
        if xs.size()[0] < 3 {
            now.samples = vec![2.0];
            return (xs * next.start as i64, now);
        }
        let again = next.clone();
        next.start += again.samples.len();
        next.samples.push(0.75);
        (xs.apply(&self.fc) * (now.samples.len() + again.samples.len()) as i64, next)
    }
}

/// A copy that is more than its parts.
#[derive(Debug, Module)]
pub struct CopiedByHand {
    fc: nn::Linear,
}

#[traceable]
impl CopiedByHand {
    pub fn forward(&self, xs: &Tensor, followed: &Followed) -> Tensor {
        let copy = followed.clone();
        xs.apply(&self.fc) * copy.copies.count + copy.start as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Close, agree, not_interpreted, randn, understood};
    use fx_runtime::Freeze;

    not_interpreted!(Configured: "cannot take the field `scale`");
    understood!(CopiedByHand: 2 of 6);

    impl Close for LayerState {
        fn close(&self, eager: &LayerState) {
            self.key.close(&eager.key);
            self.value.close(&eager.value);
        }
    }

    fn linear(p: nn::Path, out: i64) -> nn::Linear {
        nn::linear(p, 4, out, Default::default())
    }

    fn cached(p: nn::Path) -> Cached {
        Cached { q: linear(&p / "q", 4), kv: linear(&p / "kv", 8) }
    }

    #[test]
    fn pairs() {
        let cases = [(randn(&[2, 1, 4]), Some((randn(&[2, 3, 4]), randn(&[2, 3, 4])))), (randn(&[2, 3, 4]), None)];
        let own = |past: &Option<(Tensor, Tensor)>| past.as_ref().map(|(k, v)| (k.shallow_clone(), v.shallow_clone()));
        agree!(|p| cached(p / 0), cases, |net, (xs, past)| net.forward(xs, own(past)));
    }

    #[test]
    fn layers() {
        let past = [0, 1].map(|_| LayerState { key: randn(&[2, 3, 4]), value: randn(&[2, 3, 4]) });
        let make = |p: &nn::Path| Decoder { layers: vec![cached(p / 0), cached(p / 1)] };
        agree!(make, [randn(&[2, 1, 4])], |net, xs| net.forward(xs, Some(&past[..])));
        agree!(make, [randn(&[2, 3, 4])], |net, xs| net.forward(xs, None));
    }

    #[test]
    fn mutable() {
        let (_vs, net) = crate::check::root(|p| Mutable { fc: linear(p / 0, 4) });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let (mut a, mut b) = (Memory::default(), Memory::default());
        for _ in 0..3 {
            let xs = randn(&[2, 4]);
            frozen.forward(&xs, &mut b).close(&net.forward(&xs, &mut a));
            b.keys.close(&a.keys);
            assert_eq!(a.seen, b.seen);
        }
    }

    #[test]
    fn cells() {
        let (_vs, net) = crate::check::root(|p| Counting { fc: linear(p / 0, 4), calls: std::cell::Cell::new(0) });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        for _ in 0..3 {
            let xs = randn(&[2, 4]);
            frozen.forward(&xs).close(&net.forward(&xs));
        }
    }

    #[test]
    fn configured() {
        let settings = Settings { scale: 0.5, shift: 9.0 };
        agree!(|p| Configured { fc: linear(p / 0, 4), settings: settings.clone() }, [randn(&[2, 4])], |net, xs| net
            .forward(xs));
    }
    #[test]
    fn shared_by_layers() {
        let linear = |p: nn::Path| nn::linear(p, 4, 4, Default::default());
        let layer = |p: nn::Path, is_relative: bool| Biased {
            fc: linear(&p / "fc"),
            relative: is_relative.then(|| linear(&p / "relative")),
        };
        for first in [true, false] {
            let make = |p: &nn::Path| SharedBias { layers: vec![layer(p / 0, first), layer(p / 1, true)] };
            let cases = [(randn(&[2, 4]), None), (randn(&[2, 4]), Some(randn(&[2, 4])))];
            agree!(make, cases, |net, (xs, mask)| net.forward(xs, mask.as_ref()));
        }
    }

    #[test]
    fn lists_begun_anew() {
        for begins in [false, true] {
            agree!(|p| Streamed { fc: linear(p / 0, 4) }, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| {
                let frames = vec![xs.shallow_clone(), xs.relu()];
                let (ys, out) = net.forward(xs, Stream { position: 4, samples: vec![0.5], frames }, begins);
                let frames = Tensor::cat(&out.frames, 0).flatten(0, -1) * out.position as i64;
                Tensor::cat(&[ys.flatten(0, -1), Tensor::from_slice(&out.samples), frames], 0)
            });
        }
    }

    #[test]
    fn copies() {
        let spans = || vec![Span { empty: Some(()), rows: 3 }];
        agree!(|p| Copied { fc: linear(p / 0, 4) }, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| {
            let window = Window { start: 4, samples: vec![0.5], spans: spans(), last: Some(2) };
            let (ys, out) = net.forward(xs, window);
            let rows = out.spans[0].empty.map_or(0, |()| out.spans[0].rows);
            let numbers = out.start as i64 + rows + out.last.unwrap_or(9);
            Tensor::cat(&[ys.flatten(0, -1) + numbers, Tensor::from_slice(&out.samples)], 0)
        });
        agree!(|p| CopiedByHand { fc: linear(p / 0, 4) }, [randn(&[2, 4])], |net, xs| {
            net.forward(xs, &Followed { copies: Copies { count: 2 }, start: 1 })
        });
    }
}
