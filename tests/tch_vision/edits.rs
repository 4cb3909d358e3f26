//! What a user of tch's models changes to freeze them: the lines that differ, in each file of `tch::vision`.

/// A file of `tch::vision`, and what is written in place of what.
pub(crate) type File = (&'static str, &'static [(&'static str, &'static str)]);

/// In every file: the runtime's `nn` has the same names as tch's.
pub(crate) const EVERYWHERE: &[(&str, &str)] = &[
    ("use crate::", "use fx_runtime::"),
    ("crate::Kind", "fx_runtime::Kind"),
    ("crate::vision::", "crate::"),
    ("#[derive(Debug)]\nstruct", "#[derive(Debug, fx_runtime::Module)]\nstruct"),
    ("#[derive(Debug)]\npub struct", "#[derive(Debug, fx_runtime::Module)]\npub struct"),
];

pub(crate) const FILES: &[File] = &[
    ("alexnet", &[("pub fn alexnet(", "#[fx_runtime::traceable]\npub fn alexnet(")]),
    ("convmixer", &[("pub fn c1024_20(", "#[fx_runtime::traceable]\npub fn c1024_20(")]),
    ("densenet", &[("pub fn densenet121(", "#[fx_runtime::traceable]\npub fn densenet121(")]),
    ("dinov2", &[("impl nn::Module for Dino", "#[fx_runtime::traceable]\nimpl nn::Module for Dino")]),
    (
        "efficientnet",
        &[
            // A model of another file is built with it.
            ("pub fn conv2d_same(", "#[fx_runtime::traceable]\npub fn conv2d_same("),
            ("struct EfficientNet {", "pub struct EfficientNet {"),
            (
                "pub fn b0(p: &nn::Path, nclasses: i64) -> impl ModuleT",
                "pub fn b0(p: &nn::Path, nclasses: i64) -> EfficientNet",
            ),
            ("impl ModuleT for EfficientNet", "#[fx_runtime::traceable]\nimpl ModuleT for EfficientNet"),
            ("    config: MBConvConfig,", "    #[module(skip)]\n    config: MBConvConfig,"),
            // Only tch itself can add a method to its type.
            ("impl Tensor {", "trait Swish {\n    fn swish(&self) -> Tensor;\n}\n\nimpl Swish for Tensor {"),
        ],
    ),
    ("inception", &[("pub fn v3(", "#[fx_runtime::traceable]\npub fn v3(")]),
    ("mobilenet", &[("pub fn v2(", "#[fx_runtime::traceable]\npub fn v2(")]),
    (
        "resnet",
        &[
            ("pub fn resnet18(", "#[fx_runtime::traceable]\npub fn resnet18("),
            ("pub fn resnet50(", "#[fx_runtime::traceable]\npub fn resnet50("),
        ],
    ),
    (
        "squeezenet",
        &[
            ("pub fn v1_0(", "#[fx_runtime::traceable]\npub fn v1_0("),
            ("pub fn v1_1(", "#[fx_runtime::traceable]\npub fn v1_1("),
        ],
    ),
    (
        "vgg",
        &[
            ("pub fn vgg11(", "#[fx_runtime::traceable]\npub fn vgg11("),
            ("pub fn vgg11_bn(", "#[fx_runtime::traceable]\npub fn vgg11_bn("),
        ],
    ),
];
