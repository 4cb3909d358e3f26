//! Control flow that inputs decide.

use fx_ir::{Arg, Op, Type};

use super::{SourceLine, Tracer, owned};
use crate::Error;

impl Tracer {
    /// Control flow that inputs decide: `if`, `while`, or a `match` or a `for` with the patterns that head its regions,
    /// which [`Tracer::begin`] adds. `name` is the node's, `ty` the type of what it yields.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a pattern cannot be read, which is a fault of fx.
    pub fn flow(
        &mut self,
        (opcode, heads): (&str, &[&str]),
        args: &[&Arg],
        (name, ty): (&str, &str),
        place: impl SourceLine,
    ) -> Result<Arg, Error> {
        let unread = |head: &str| Error::Unsupported {
            what: format!("the pattern `{head}`, which is a fault of fx"),
            help: "please report it with the model's source".to_owned(),
        };
        let op = match (opcode, heads) {
            ("if", _) => Op::If,
            ("for", [head]) => Op::For(head.parse().map_err(|_| unread(head))?),
            ("match", heads) => {
                let patterns = heads.iter().map(|head| head.parse().map_err(|_| unread(head)));
                Op::Match(patterns.collect::<Result<_, _>>()?)
            }
            _ => Op::While,
        };
        Ok(self.push(op, owned(args), name, ty.parse().unwrap_or_default(), place))
    }

    /// Begins the next region of such a node; what is listed up to [`Tracer::end`] is in it. Yields its parameters, of
    /// these names and types.
    pub fn begin<const N: usize>(&mut self, of: &Arg, params: [(&str, &str); N]) -> [Arg; N] {
        let Some(owner) = of.node() else { return params.map(|_| Arg::None) };
        let region = self.module.graph_mut().add_region_to(owner);
        let origin = self.module.graph().node(owner).origin.clone();
        self.open.push((owner, region));
        params.map(|(name, ty)| {
            let ty = ty.parse().unwrap_or_default();
            Arg::Node(self.module.graph_mut().add_param(region, name, ty, origin.clone()))
        })
    }

    /// Ends the region that was begun last, which hands over these values.
    pub fn end(&mut self, outputs: &[&Arg]) {
        self.push(Op::Yield, owned(outputs), "yield", Type::Unknown, "");
        self.open.pop();
    }
}
