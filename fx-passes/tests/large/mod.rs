//! A model of any size, to see how the time of a build grows with it.

use std::{fmt::Write as _, fs, io, path::Path};

/// Writes a package whose one model has about `nodes` nodes, a third of which rules rewrite.
pub(crate) fn write(root: &Path, nodes: usize) -> io::Result<()> {
    let mut source = String::from(
        "use fx_runtime::{Module, Tensor, nn, traceable};\n\
         #[derive(Debug, Module)]\npub struct Net { fc: nn::Linear, conv: nn::Conv2D, bn: nn::BatchNorm }\n\
         #[traceable]\nimpl Net {\n    pub fn forward(&self, xs: &Tensor) -> Tensor {\n        let ys = self.fc.forward(xs);\n",
    );
    for line in 0..nodes / 10 {
        let layer = if line % 2 == 0 { "self.bn.forward(&self.conv.forward(&ys))" } else { "self.fc.forward(&ys)" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            source,
            "        let zs = &ys * ys.sigmoid();\n        let ys = (zs.relu().relu() + &ys) * 0.5;\n        \
             let ys = ({layer} + &ys).relu();"
        );
    }
    source.push_str("        ys\n    }\n}\n");
    fs::create_dir_all(root.join("src"))?;
    fs::write(root.join("src/lib.rs"), source)
}
