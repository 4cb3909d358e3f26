//! Image models: U-Nets, generators, pyramids, detection heads.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
struct DoubleConv {
    conv1: nn::Conv2D,
    bn1: nn::BatchNorm,
    conv2: nn::Conv2D,
    bn2: nn::BatchNorm,
}

impl DoubleConv {
    fn new(p: nn::Path, c_in: i64, c_out: i64) -> Self {
        let same = nn::ConvConfig { padding: 1, bias: false, ..Default::default() };
        Self {
            conv1: nn::conv2d(&p / "conv1", c_in, c_out, 3, same),
            bn1: nn::batch_norm2d(&p / "bn1", c_out, Default::default()),
            conv2: nn::conv2d(&p / "conv2", c_out, c_out, 3, same),
            bn2: nn::batch_norm2d(&p / "bn2", c_out, Default::default()),
        }
    }
}

impl nn::ModuleT for DoubleConv {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        xs.apply(&self.conv1).apply_t(&self.bn1, train).relu().apply(&self.conv2).apply_t(&self.bn2, train).relu()
    }
}

/// A U-Net with a stack of skip connections, as its paper draws it.
#[derive(Debug, Module)]
pub struct UNet {
    downs: Vec<DoubleConv>,
    bottom: DoubleConv,
    ups: Vec<nn::ConvTranspose2D>,
    up_convs: Vec<DoubleConv>,
    head: nn::Conv2D,
}

impl UNet {
    fn new(p: &nn::Path) -> Self {
        let widths = [4, 8];
        let mut downs = Vec::new();
        let mut c_in = 3;
        for (i, &width) in widths.iter().enumerate() {
            downs.push(DoubleConv::new(p / "downs" / i, c_in, width));
            c_in = width;
        }
        let bottom = DoubleConv::new(p / "bottom", c_in, 16);
        let config = nn::ConvTransposeConfig { stride: 2, ..Default::default() };
        let ups = vec![
            nn::conv_transpose2d(p / "ups" / 0, 16, 8, 2, config),
            nn::conv_transpose2d(p / "ups" / 1, 8, 4, 2, config),
        ];
        let up_convs = vec![DoubleConv::new(p / "up_convs" / 0, 16, 8), DoubleConv::new(p / "up_convs" / 1, 8, 4)];
        UNet { downs, bottom, ups, up_convs, head: nn::conv2d(p / "head", 4, 2, 1, Default::default()) }
    }
}

#[traceable]
impl nn::ModuleT for UNet {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let mut skips = vec![];
        let mut xs = xs.shallow_clone();
        for down in &self.downs {
            xs = xs.apply_t(down, train);
            skips.push(xs.shallow_clone());
            xs = xs.max_pool2d_default(2);
        }
        xs = xs.apply_t(&self.bottom, train);
        for (up, conv) in self.ups.iter().zip(self.up_convs.iter()) {
            xs = xs.apply(up);
            let skip = skips.pop().unwrap();
            xs = Tensor::cat(&[skip, xs], 1).apply_t(conv, train);
        }
        xs.apply(&self.head)
    }
}

/// The same with two named levels, and upsampling to the size of what is joined.
#[derive(Debug, Module)]
pub struct SmallUNet {
    enc1: DoubleConv,
    enc2: DoubleConv,
    dec: DoubleConv,
    out: nn::Conv2D,
}

#[traceable]
impl SmallUNet {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (_, _, h, w) = xs.size4().unwrap();
        let e1 = nn::ModuleT::forward_t(&self.enc1, xs, false);
        let e2 = nn::ModuleT::forward_t(&self.enc2, &e1.avg_pool2d_default(2), false);
        let up = e2.upsample_bilinear2d([h, w], false, None, None);
        let joined = Tensor::cat(&[&e1, &up], 1);
        let ys = nn::ModuleT::forward_t(&self.dec, &joined, false);
        self.out.forward(&ys).sigmoid()
    }
}

/// A generator of images: transposed convolutions in a chain that a loop builds.
#[derive(Debug, Module)]
pub struct Generator {
    project: nn::Linear,
    main: nn::SequentialT,
    latent: i64,
}

impl Generator {
    fn new(p: &nn::Path) -> Self {
        let latent = 8;
        let project = nn::linear(p / "project", latent, 16 * 2 * 2, Default::default());
        let mut main = nn::seq_t();
        let mut channels = 16;
        let config = nn::ConvTransposeConfig { stride: 2, padding: 1, bias: false, ..Default::default() };
        for i in 0..2 {
            main = main
                .add(nn::conv_transpose2d(p / "main" / (3 * i), channels, channels / 2, 4, config))
                .add(nn::batch_norm2d(p / "main" / (3 * i + 1), channels / 2, Default::default()))
                .add_fn(|xs| xs.relu());
            channels /= 2;
        }
        main = main.add(nn::conv_transpose2d(p / "last", channels, 3, 4, config)).add_fn(|xs| xs.tanh());
        Generator { project, main, latent }
    }
}

#[traceable]
impl Generator {
    fn forward(&self, z: &Tensor) -> Tensor {
        assert_eq!(z.size()[1], self.latent, "the latent has {} numbers", self.latent);
        z.apply(&self.project).view([-1, 16, 2, 2]).apply_t(&self.main, false)
    }
}

/// A critic whose layers are pairs of a convolution and, but for the first, a norm.
#[derive(Debug, Module)]
pub struct Critic {
    layers: Vec<(nn::Conv2D, Option<nn::GroupNorm>)>,
    slope: f64,
    fc: nn::Linear,
}

#[traceable]
impl Critic {
    fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for (conv, norm) in &self.layers {
            ys = ys.apply(conv);
            if let Some(norm) = norm {
                ys = ys.apply(norm);
            }
            ys = ys.maximum(&(&ys * self.slope));
        }
        ys.flatten(1, -1).apply(&self.fc).squeeze_dim(1)
    }
}

/// A feature pyramid: what goes down is joined with what comes up.
#[derive(Debug, Module)]
pub struct Pyramid {
    stages: Vec<nn::Conv2D>,
    lateral: Vec<nn::Conv2D>,
    smooth: nn::Conv2D,
}

#[traceable]
impl Pyramid {
    pub fn forward(&self, xs: &Tensor) -> Vec<Tensor> {
        let mut features = Vec::with_capacity(self.stages.len());
        let mut xs = xs.shallow_clone();
        for stage in self.stages.iter() {
            xs = stage.forward(&xs).relu();
            features.push(xs.shallow_clone());
        }
        let mut outs: Vec<Tensor> = Vec::new();
        let mut last: Option<Tensor> = None;
        for (i, feature) in features.iter().enumerate().rev() {
            let mut level = self.lateral[i].forward(feature);
            if let Some(last) = &last {
                let size = level.size();
                level = level + last.upsample_nearest2d([size[2], size[3]], None, None);
            }
            outs.push(self.smooth.forward(&level));
            last = Some(level);
        }
        outs
    }
}

/// What a detector finds.
#[derive(Debug)]
pub struct Detections {
    pub boxes: Tensor,
    pub scores: Tensor,
    pub levels: Vec<Tensor>,
}

/// Heads that are shared by all levels; a struct is returned.
#[derive(Debug, Module)]
pub struct Detector {
    tower: nn::Sequential,
    cls: nn::Conv2D,
    reg: nn::Conv2D,
    classes: i64,
}

impl Detector {
    fn new(p: &nn::Path) -> Self {
        let same = nn::ConvConfig { padding: 1, ..Default::default() };
        let mut tower = nn::seq();
        for i in 0..2 {
            tower = tower.add(nn::conv2d(p / format!("tower_{i}"), 4, 4, 3, same)).add_fn(|xs| xs.relu());
        }
        Detector {
            tower,
            cls: nn::conv2d(p / "cls", 4, 2 * 3, 3, same),
            reg: nn::conv2d(p / "reg", 4, 2 * 4, 3, same),
            classes: 3,
        }
    }

    fn flatten(&self, xs: &Tensor, width: i64) -> Tensor {
        let (n, _, h, w) = xs.size4().expect("four axes");
        xs.view([n, -1, width, h, w]).permute([0, 3, 4, 1, 2]).reshape([n, -1, width])
    }
}

#[traceable]
impl Detector {
    pub fn forward(&self, levels: &[Tensor]) -> Detections {
        let mut boxes = vec![];
        let mut scores = vec![];
        let mut kept = vec![];
        for level in levels {
            let ys = level.apply(&self.tower);
            scores.push(self.flatten(&self.cls.forward(&ys), self.classes));
            boxes.push(self.flatten(&self.reg.forward(&ys), 4));
            kept.push(ys);
        }
        Detections { boxes: Tensor::cat(&boxes, 1), scores: Tensor::cat(&scores, 1).sigmoid(), levels: kept }
    }
}

/// Squeeze and excitation, with the sizes bound by a pattern and a check in words.
#[derive(Debug, Module)]
pub struct SqueezeExcite {
    fc1: nn::Conv2D,
    fc2: nn::Conv2D,
}

#[traceable]
impl SqueezeExcite {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let [b, c, _h, _w] = xs.size()[..] else { panic!("expected four axes, found {:?}", xs.size()) };
        let pooled = xs.mean_dim([2i64, 3].as_slice(), true, Kind::Float);
        debug_assert_eq!(pooled.size(), [b, c, 1, 1]);
        let gate = pooled.apply(&self.fc1).relu().apply(&self.fc2).hardsigmoid();
        xs * gate
    }
}

/// Patches, then mixing along one axis and the other.
#[derive(Debug, Module)]
pub struct Mixer {
    patch: nn::Conv2D,
    blocks: Vec<(nn::LayerNorm, nn::Linear, nn::LayerNorm, nn::Linear)>,
    head: nn::Linear,
}

#[traceable]
impl Mixer {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let xs = xs.apply(&self.patch).flatten(2, -1).transpose(1, 2);
        let xs = self.blocks.iter().fold(xs, |xs, (norm1, tokens, norm2, channels)| {
            let ys = xs.apply(norm1).transpose(1, 2).apply(tokens).gelu("none").transpose(1, 2);
            let xs = xs + ys;
            let ys = xs.apply(norm2).apply(channels).gelu("none");
            xs + ys
        });
        xs.mean_dim(1, false, Kind::Float).apply(&self.head)
    }
}

/// Branches side by side, gathered in a list.
#[derive(Debug, Module)]
pub struct Branches {
    branches: Vec<nn::Conv2D>,
    merge: nn::Conv2D,
}

#[traceable]
impl Branches {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys: Vec<Tensor> = self.branches.iter().map(|branch| branch.forward(xs).relu()).collect();
        let ys = Tensor::cat(&ys, 1);
        &ys.apply(&self.merge) + xs
    }
}

/// Depth that is dropped while training, and a stop at a level that the caller asks for.
#[derive(Debug, Module)]
pub struct Depth {
    blocks: Vec<nn::Conv2D>,
    drop: f64,
}

#[traceable]
impl Depth {
    pub fn forward_t(&self, xs: &Tensor, levels: i64, train: bool) -> (Tensor, i64) {
        let mut xs = xs.shallow_clone();
        let mut used = 0;
        for (i, block) in self.blocks.iter().enumerate() {
            if i as i64 >= levels {
                break;
            }
            if train && self.drop > 0.5 {
                continue;
            }
            xs = &xs + xs.apply(block).relu();
            used += 1;
        }
        (xs, used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Close, agree, not_interpreted, randn};

    not_interpreted!(SqueezeExcite: "interpreting the code");
    not_interpreted!(Generator: "interpreting the code");
    not_interpreted!(Pyramid: "cannot take an element of");

    impl Close for Detections {
        fn close(&self, eager: &Detections) {
            self.boxes.close(&eager.boxes);
            self.scores.close(&eager.scores);
            self.levels.close(&eager.levels);
        }
    }

    fn same() -> nn::ConvConfig {
        nn::ConvConfig { padding: 1, ..Default::default() }
    }

    #[test]
    fn unets() {
        use fx_runtime::nn::ModuleT as _;
        agree!(UNet::new, [randn(&[2, 3, 16, 16])], |net, xs| net.forward_t(xs, false));
        let make = |p: &nn::Path| SmallUNet {
            enc1: DoubleConv::new(p / "enc1", 3, 4),
            enc2: DoubleConv::new(p / "enc2", 4, 8),
            dec: DoubleConv::new(p / "dec", 12, 4),
            out: nn::conv2d(p / "out", 4, 1, 1, Default::default()),
        };
        agree!(make, [randn(&[2, 3, 8, 8]), randn(&[1, 3, 9, 7])], |net, xs| net.forward(xs));
    }

    #[test]
    fn generators_and_critics() {
        agree!(Generator::new, [randn(&[3, 8])], |net, z| net.forward(z));
        let make = |p: &nn::Path| Critic {
            layers: vec![
                (nn::conv2d(p / "a", 3, 4, 3, same()), None),
                (nn::conv2d(p / "b", 4, 4, 3, same()), Some(nn::group_norm(p / "n", 2, 4, Default::default()))),
            ],
            slope: 0.2,
            fc: nn::linear(p / "fc", 4 * 8 * 8, 1, Default::default()),
        };
        agree!(make, [randn(&[2, 3, 8, 8])], |net, xs| net.forward(xs));
    }

    #[test]
    fn pyramids_and_heads() {
        let stride = nn::ConvConfig { padding: 1, stride: 2, ..Default::default() };
        let make = |p: &nn::Path| Pyramid {
            stages: vec![nn::conv2d(p / "s0", 3, 4, 3, stride), nn::conv2d(p / "s1", 4, 8, 3, stride)],
            lateral: vec![
                nn::conv2d(p / "l0", 4, 4, 1, Default::default()),
                nn::conv2d(p / "l1", 8, 4, 1, Default::default()),
            ],
            smooth: nn::conv2d(p / "smooth", 4, 4, 3, same()),
        };
        agree!(make, [randn(&[2, 3, 16, 16])], |net, xs| net.forward(xs));
        agree!(Detector::new, [vec![randn(&[2, 4, 8, 8]), randn(&[2, 4, 4, 4])]], |net, xs| net.forward(xs));
    }

    #[test]
    fn blocks() {
        let make = |p: &nn::Path| SqueezeExcite {
            fc1: nn::conv2d(p / "fc1", 8, 2, 1, Default::default()),
            fc2: nn::conv2d(p / "fc2", 2, 8, 1, Default::default()),
        };
        agree!(make, [randn(&[2, 8, 4, 4])], |net, xs| net.forward(xs));
        let make = |p: &nn::Path| Mixer {
            patch: nn::conv2d(p / "patch", 3, 8, 4, nn::ConvConfig { stride: 4, ..Default::default() }),
            blocks: (0..2)
                .map(|i| {
                    let p = p / i;
                    (
                        nn::layer_norm(&p / "n1", vec![8], Default::default()),
                        nn::linear(&p / "t", 4, 4, Default::default()),
                        nn::layer_norm(&p / "n2", vec![8], Default::default()),
                        nn::linear(&p / "c", 8, 8, Default::default()),
                    )
                })
                .collect(),
            head: nn::linear(p / "head", 8, 5, Default::default()),
        };
        agree!(make, [randn(&[2, 3, 8, 8])], |net, xs| net.forward(xs));
        let make = |p: &nn::Path| Branches {
            branches: (0..3).map(|i| nn::conv2d(p / i, 4, 4, 3, same())).collect(),
            merge: nn::conv2d(p / "merge", 12, 4, 1, Default::default()),
        };
        agree!(make, [randn(&[2, 4, 6, 6])], |net, xs| net.forward(xs));
    }

    #[test]
    fn a_stop_in_the_middle() {
        for levels in [0, 2, 5] {
            let make = |p: &nn::Path| Depth {
                blocks: (0..3).map(|i| nn::conv2d(p / i, 4, 4, 3, same())).collect(),
                drop: 0.1,
            };
            agree!(make, [randn(&[2, 4, 6, 6])], |net, xs| net.forward_t(xs, levels, false));
        }
    }
}
