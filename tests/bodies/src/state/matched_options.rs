//! Options behind a `&mut` that a pattern looks into by their name alone: what it binds is written to where it lies.

use fx_runtime::{Module, Tensor, nn, traceable};

/// What a caller keeps for a layer.
#[derive(Debug, Default)]
pub struct Slot {
    /// Keys and values.
    pub pair: Option<(Tensor, Tensor)>,
    /// The last output.
    pub output: Option<Tensor>,
    /// How often it ran.
    pub count: Option<i64>,
}

/// What a caller keeps.
#[derive(Debug, Default)]
pub struct Slots {
    /// One for each layer.
    pub all: Vec<Slot>,
    /// How many rows.
    pub rows: i64,
}

impl Slots {
    fn cut(&mut self, rows: i64) {
        for Slot { pair, .. } in &mut self.all {
            if let Some((keys, values)) = pair {
                *keys = keys.narrow(0, 0, rows);
                *values = values.narrow(0, 0, rows);
            }
        }
        self.rows = rows;
    }
}

fn kept(last: &mut Option<Tensor>, xs: &Tensor) {
    match last {
        Some(last) => *last = &*last + xs,
        None => *last = Some(xs.cos()),
    }
}

fn counted(count: &mut Option<i64>) -> i64 {
    if let Some(count) = count {
        let before = *count;
        *count += 1;
        before
    } else {
        *count = Some(2);
        0
    }
}

fn summed(pair: &Option<(Tensor, Tensor)>, xs: &Tensor) -> Tensor {
    if let Some((keys, values)) = pair { keys + values.sum(values.kind()) } else { xs.relu() }
}

/// The slots of a caller's, in functions that are handed one field each.
#[derive(Debug, Module)]
pub struct InSlots {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl InSlots {
    pub fn forward(&self, xs: &Tensor, slots: &mut Slots) -> Tensor {
        let mut ys = xs.shallow_clone();
        for (layer, slot) in self.layers.iter().zip(slots.all.iter_mut()) {
            ys = ys.apply(layer) + summed(&slot.pair, &ys);
            kept(&mut slot.output, &ys);
            ys = ys * counted(&mut slot.count);
            let Slot { pair, output, .. } = slot;
            if let Some(output) = output {
                ys = ys + &*output;
            }
            *pair = Some((ys.sin(), ys.cos()));
        }
        slots.cut(1);
        ys * slots.rows
    }
}

/// Options that are parameters themselves.
#[derive(Debug, Module)]
pub struct InOptions {
    fc: nn::Linear,
}

#[traceable]
impl InOptions {
    pub fn forward(&self, xs: &Tensor, last: &mut Option<Tensor>, count: &mut Option<i64>) -> Tensor {
        let ys = xs.apply(&self.fc);
        let zs = if let Some(last) = last {
            let before = last.shallow_clone();
            *last = &ys + &before;
            before * &*last
        } else {
            ys.sin()
        };
        match last {
            Some(last) => *last = last.tanh(),
            None => *last = Some(zs.cos()),
        }
        while let Some(count) = count {
            if *count > 3 {
                break;
            }
            *count += 1;
        }
        let Some(count) = count else { return zs };
        *count -= 2;
        zs * *count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::*;

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, nn::LinearConfig::default())
    }

    #[test]
    fn in_slots() {
        let make = |p: &nn::Path| InSlots { layers: vec![linear(p / 0), linear(p / 1)] };
        agree!(make, [randn(&[2, 4])], |net, xs| {
            let mut slots = Slots { all: vec![Slot::default(), Slot::default()], rows: 0 };
            let ys = net.forward(xs, &mut slots);
            let zs = net.forward(&ys, &mut slots);
            let [first, second] = [0, 1].map(|at| slots.all[at].output.take().unwrap_or_default());
            Tensor::cat(&[ys, zs * slots.all[0].count.unwrap_or(7), first, second], 0)
        });
    }

    #[test]
    fn in_options() {
        for count in [None, Some(1)] {
            agree!(|p| InOptions { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| {
                let (mut last, mut count) = (None, count);
                let ys = net.forward(xs, &mut last, &mut count);
                let zs = net.forward(&ys, &mut last, &mut count);
                Tensor::cat(&[ys, zs * count.unwrap_or(7), last.unwrap_or_default()], 0)
            });
        }
    }
}
