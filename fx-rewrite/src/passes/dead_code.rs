//! Erases what nobody reads and what has no effect.

use fx_ir::Graph;

use crate::pass::{Changed, Pass, PassContext};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct DeadCode;

impl Pass for DeadCode {
    described! {
        "dead-code": "erases nodes without readers and without effects, control flow included";
    }

    fn run(&self, graph: &mut Graph, _: &PassContext) -> Changed {
        Changed::from(graph.retain(Graph::is_impure) > 0)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::passes::testing::check;

    #[test]
    fn keeps_effects() {
        check(
            DeadCode,
            "graph f(x: tensor) { %a = neg(x) ; %b = neg(%a) ; %p = print(x) ; %w = add_(x, 1) ; %d = dropout(x, 0.5, true) ; yield x }",
            &expect![[r#"
                graph f(x: tensor) {
                  %p = print(x)
                  %w = add_(x, 1)
                  %d = dropout(x, 0.5, true)
                  yield x
                }"#]],
        );
    }

    #[test]
    fn control_flow_goes_with_its_regions_unless_they_have_effects() {
        check(
            DeadCode,
            r#"graph f(c, x: tensor) {
              %dead = if(c) { %a = neg(x) ; yield %a } else { yield x }
              %live = if(c) { %p = print(x) ; %b = neg(x) ; yield x } else { yield x }
              yield x
            }"#,
            &expect![[r#"
                graph f(c, x: tensor) {
                  %live = if(c) {
                    %p = print(x)
                    yield x
                  } else {
                    yield x
                  }
                  yield x
                }"#]],
        );
    }
}
