//! Control flow that inputs decide.

use fx_ir::{Arg, Op, Type};

use super::{Tracer, owned};
use crate::Error;

impl Tracer {
    /// Control flow that inputs decide: `if`, `while`, or a `match` or a `for` with the patterns that head its regions,
    /// which [`Tracer::region`] adds. `name` is the node's, `ty` the type of what it yields.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a pattern cannot be read, which is a fault of fx.
    pub fn flow(
        &mut self,
        (opcode, heads): (&str, &[&str]),
        args: &[&Arg],
        (name, ty): (&str, &str),
        place: &str,
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

    /// The next region of such a node: `list` adds its nodes and yields what it hands over. Its parameters have names and
    /// types.
    ///
    /// # Errors
    /// Those of `list`.
    pub fn region<const N: usize>(
        &mut self,
        of: &Arg,
        params: [(&str, &str); N],
        list: impl FnOnce(&mut Tracer, [Arg; N]) -> Result<Vec<Arg>, Error>,
    ) -> Result<(), Error> {
        let Some(owner) = of.node() else { return Ok(()) };
        let region = self.module.graph_mut().add_region_to(owner);
        let origin = self.module.graph().node(owner).origin.clone();
        let params = params.map(|(name, ty)| {
            let ty = ty.parse().unwrap_or_default();
            Arg::Node(self.module.graph_mut().add_param(region, name, ty, origin.clone()))
        });
        self.open.push((owner, region));
        let listed = list(self, params);
        if let Ok(outputs) = &listed {
            self.push(Op::Yield, outputs.clone(), "yield", Type::Unknown, "");
        }
        self.open.pop();
        listed.map(|_| ())
    }
}
