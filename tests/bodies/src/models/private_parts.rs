//! Models in several files: blocks with fields and parts that are private to their module.

pub mod blocks {
    use fx_runtime::{Device, Kind, Module, Tensor, nn, traceable};

    #[derive(Debug, Clone, Copy)]
    pub struct BlockConfig {
        pub channels: i64,
        pub factor: f64,
        secret: f64,
    }

    impl BlockConfig {
        pub fn new(channels: i64) -> Self {
            Self { channels, factor: 1.5, secret: 0.25 }
        }
    }

    /// Nothing of it is private but its fields: it is inlined wherever it is used.
    #[derive(Debug, Module)]
    pub struct Residual {
        conv: nn::Conv2D,
        norm: nn::BatchNorm,
        embed: Option<nn::Linear>,
        config: BlockConfig,
    }

    impl Residual {
        pub fn new(p: nn::Path, config: BlockConfig, embed: Option<i64>) -> Self {
            let c = config.channels;
            let conv = nn::conv2d(&p / "conv", c, c, 3, nn::ConvConfig { padding: 1, ..Default::default() });
            let norm = nn::batch_norm2d(&p / "norm", c, Default::default());
            let embed = embed.map(|width| nn::linear(&p / "embed", width, c, Default::default()));
            Self { conv, norm, embed, config }
        }
    }

    #[traceable]
    impl Residual {
        pub fn forward(&self, xs: &Tensor, emb: Option<&Tensor>) -> Tensor {
            let ys = xs.apply(&self.conv).apply_t(&self.norm, false).relu();
            let ys = match (emb, &self.embed) {
                (Some(emb), Some(embed)) => emb.silu().apply(embed).unsqueeze(-1).unsqueeze(-1) + ys,
                _ => ys,
            };
            (ys + xs) / self.config.factor
        }
    }

    #[derive(Debug, Module)]
    struct Down {
        conv: nn::Conv2D,
    }

    #[traceable]
    impl Down {
        fn forward(&self, xs: &Tensor) -> Tensor {
            xs.pad([0, 1, 0, 1], "constant", 0.0).apply(&self.conv)
        }
    }

    #[derive(Debug)]
    enum Proj {
        Wide(nn::Conv2D),
        None,
    }

    /// It has parts of private types: elsewhere its frozen type is called.
    #[derive(Debug, Module)]
    pub struct Stage {
        residuals: Vec<Residual>,
        down: Option<Down>,
        proj: Proj,
        config: BlockConfig,
    }

    impl Stage {
        pub fn new(p: nn::Path, config: BlockConfig, down: bool) -> Self {
            let c = config.channels;
            let residuals = (0..2).map(|i| Residual::new(&p / "residuals" / i, config, Some(6))).collect();
            let stride = nn::ConvConfig { stride: 2, ..Default::default() };
            let down = down.then(|| Down { conv: nn::conv2d(&p / "down", c, c, 3, stride) });
            let proj = match down {
                Some(_) => Proj::Wide(nn::conv2d(&p / "proj", c, c, 1, Default::default())),
                None => Proj::None,
            };
            Self { residuals, down, proj, config }
        }
    }

    #[traceable]
    impl Stage {
        /// The result, and what was there before it was scaled down.
        pub fn forward(&self, xs: &Tensor, emb: Option<&Tensor>, size: Option<(i64, i64)>) -> (Tensor, Vec<Tensor>) {
            let mut xs = xs.shallow_clone();
            let mut seen = vec![];
            for residual in self.residuals.iter() {
                xs = residual.forward(&xs, emb);
                seen.push(xs.shallow_clone());
            }
            let xs = match &self.proj {
                Proj::Wide(conv) => xs.apply(conv),
                Proj::None => xs * self.config.secret,
            };
            let xs = match &self.down {
                Some(down) => down.forward(&xs),
                None => xs,
            };
            match size {
                Some((h, w)) => (xs.upsample_nearest2d([h, w], None, None), seen),
                None => (xs, seen),
            }
        }
    }

    /// Values that are private, and wanted by value.
    #[derive(Debug, Module)]
    pub struct Ramp {
        width: i64,
        device: Device,
        by: Order,
    }

    #[derive(Debug, Clone, Copy, PartialEq)]
    pub enum Order {
        Up,
        Down,
    }

    impl Ramp {
        pub fn new(width: i64, device: Device, by: Order) -> Self {
            Self { width, device, by }
        }
    }

    impl nn::Module for Ramp {
        fn forward(&self, xs: &Tensor) -> Tensor {
            let ramp = Tensor::arange(self.width, (Kind::Float, self.device));
            match self.by {
                Order::Up => xs + ramp,
                Order::Down => xs - ramp,
            }
        }
    }

    #[derive(Debug, Module)]
    pub struct Join {
        fuse: nn::Conv2D,
        after: Down,
    }

    impl Join {
        pub fn new(p: nn::Path, config: BlockConfig) -> Self {
            let c = config.channels;
            let fuse = nn::conv2d(&p / "fuse", 2 * c, c, 1, Default::default());
            Self { fuse, after: Down { conv: nn::conv2d(&p / "after", c, c, 3, Default::default()) } }
        }
    }

    #[traceable]
    impl nn::Module for Join {
        fn forward(&self, xs: &Tensor) -> Tensor {
            self.after.forward(&xs.apply(&self.fuse).silu())
        }
    }
}

use fx_runtime::{Module, Tensor, nn, traceable};

use self::blocks::{BlockConfig, Join, Ramp, Residual, Stage};

#[derive(Debug, Module)]
pub struct ManyFiles {
    stem: Residual,
    stages: Vec<Stage>,
    join: Join,
    config: BlockConfig,
}

impl ManyFiles {
    pub fn new(p: &nn::Path) -> Self {
        let config = BlockConfig::new(4);
        Self {
            stem: Residual::new(p / "stem", config, None),
            stages: (0..3).map(|i| Stage::new(p / "stages" / i, config, i != 1)).collect(),
            join: Join::new(p / "join", config),
            config,
        }
    }
}

#[traceable]
impl ManyFiles {
    pub fn forward(&self, xs: &Tensor, emb: &Tensor) -> Tensor {
        let mut xs = self.stem.forward(xs, None);
        let mut seen = vec![];
        for stage in self.stages.iter() {
            let (next, parts) = stage.forward(&xs, Some(emb), None);
            seen.push(parts.last().unwrap().shallow_clone());
            xs = next;
        }
        let (h, w) = (xs.size()[2], xs.size()[3]);
        let (up, _) = self.stages[0].forward(&seen[0], None, Some((h, w)));
        Tensor::cat(&[up, xs], 1).apply(&self.join) * self.config.factor
    }
}

/// A stage, frozen by itself, in one form or another.
#[derive(Debug, Module)]
pub enum Level {
    Plain(Stage),
    Scaled(Stage, f64),
}

/// Each level yields two values, which are taken apart behind the `match`.
#[derive(Debug, Module)]
pub struct Levels {
    ramp: Ramp,
    levels: Vec<Level>,
}

#[traceable]
impl Levels {
    pub fn forward(&self, xs: &Tensor, emb: &Tensor) -> Vec<Tensor> {
        let mut xs = xs.apply(&self.ramp);
        let mut seen = vec![xs.shallow_clone()];
        for level in self.levels.iter() {
            let (next, parts) = match level {
                Level::Plain(stage) => stage.forward(&xs, Some(emb), None),
                Level::Scaled(stage, by) => {
                    let (ys, parts) = stage.forward(&xs, Some(emb), Some((16, 16)));
                    (ys * *by, parts)
                }
            };
            seen.extend(parts);
            xs = next;
        }
        seen.push(xs);
        seen
    }
}

#[derive(Debug, Module)]
pub struct Decisions {
    a: nn::Linear,
    b: Option<nn::Linear>,
    mode: i64,
}

#[traceable]
impl Decisions {
    pub fn forward(&self, xs: &Tensor, ys: Option<&Tensor>, flip: bool) -> Tensor {
        let xs = if let (Some(ys), Some(b)) = (ys, &self.b) { xs.apply(b) + ys } else { xs.apply(&self.a) };
        let xs = match (self.mode, flip) {
            (0, true) => -xs,
            (0, false) => xs.relu(),
            (_, true) => xs.tanh(),
            (mode, _) => xs * mode,
        };
        match (ys, &self.b, flip) {
            (None, None, _) => xs.exp(),
            (Some(ys), _, true) => xs - ys,
            (ys, Some(b), _) => match ys {
                Some(ys) => xs * ys.apply(b),
                None => xs.apply(b),
            },
            _ => xs,
        }
    }
}

#[cfg(test)]
mod tests {
    use fx_runtime::Freeze;

    use super::*;
    use crate::check::{here, randn, root};

    fn close(found: &Tensor, expected: &Tensor) {
        assert_eq!(found.size(), expected.size());
        let error = (found - expected).abs().max().double_value(&[]);
        assert!(error <= 1e-5 * expected.abs().max().double_value(&[]).max(1.0), "{error:.1e}");
    }

    #[test]
    fn parts_of_other_files() {
        let (_vs, net) = root(ManyFiles::new);
        let frozen = net.freeze(&Freeze::default()).unwrap();
        for (batch, side) in [(1, 16), (2, 21)] {
            let (xs, emb) = (randn(&[batch, 4, side, side]), randn(&[batch, 6]));
            close(&frozen.try_forward(&xs, &emb).unwrap(), &net.forward(&xs, &emb));
        }
        let report = crate_report();
        let line = report.iter().find(|line| line.starts_with("`ManyFiles` (")).unwrap();
        assert!(line.contains("100.0 %"), "{line}");
        assert!(net.graph().is_ok());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("frozen.safetensors");
        frozen.save(&path).unwrap();
        let again = ManyFilesFrozen::load(&path, &here()).unwrap();
        let (xs, emb) = (randn(&[1, 4, 16, 16]), randn(&[1, 6]));
        assert_eq!(again.forward(&xs, &emb), frozen.forward(&xs, &emb));
    }

    #[test]
    fn parts_in_forms_of_an_enum() {
        let config = BlockConfig::new(4);
        let (_vs, net) = root(|p| Levels {
            ramp: Ramp::new(16, p.device(), blocks::Order::Down),
            levels: vec![
                Level::Plain(Stage::new(p / 0, config, false)),
                Level::Scaled(Stage::new(p / 1, config, true), 0.5),
            ],
        });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let (xs, emb) = (randn(&[2, 4, 16, 16]), randn(&[2, 6]));
        let (found, expected) = (frozen.try_forward(&xs, &emb).unwrap(), net.forward(&xs, &emb));
        assert_eq!((found.len(), expected.len()), (6, 6));
        found.iter().zip(&expected).for_each(|(found, expected)| close(found, expected));
        assert!(net.graph().is_ok());
        let report = crate_report();
        let line = report.iter().find(|line| line.starts_with("`Levels` (")).unwrap();
        assert!(line.contains("100.0 %"), "{line}");
        let names: Vec<String> = net.named_parameters().into_iter().map(|(name, _)| name).collect();
        assert!(names.contains(&"levels.0.residuals.0.conv.weight".to_owned()), "{names:?}");
    }

    fn crate_report() -> Vec<String> {
        include_str!(concat!(env!("OUT_DIR"), "/fx/report.txt")).lines().map(str::to_owned).collect()
    }

    #[test]
    fn decisions_about_several_things() {
        for (b, mode) in [(true, 0), (false, 0), (true, 3), (false, 2)] {
            let (_vs, net) = root(|p| Decisions {
                a: nn::linear(p / "a", 5, 5, Default::default()),
                b: b.then(|| nn::linear(p / "b", 5, 5, Default::default())),
                mode,
            });
            let frozen = net.freeze(&Freeze::default()).unwrap();
            let (xs, ys) = (randn(&[3, 5]), randn(&[3, 5]));
            for flip in [false, true] {
                for ys in [None, Some(&ys)] {
                    close(&frozen.try_forward(&xs, ys, flip).unwrap(), &net.forward(&xs, ys, flip));
                }
            }
        }
    }
}
