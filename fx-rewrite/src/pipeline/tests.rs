//! Pipelines: what runs in which order, and what is told of it.

#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots so")]

use expect_test::expect;
use fx_ir::ParseError;

use super::*;
use crate::pass::Changed;

/// Forgets how the graph ends.
struct Careless;

impl Pass for Careless {
    fn name(&self) -> &'static str {
        "careless"
    }

    fn doc(&self) -> &'static str {
        "breaks graphs"
    }

    fn run(&self, graph: &mut Graph, _: &PassContext) -> Changed {
        let body = graph.body();
        let count = graph.region(body).nodes.len();
        graph.truncate(body, count - 1);
        Changed::Yes
    }
}

const TEXT: &str = "graph f(x: tensor) { %a = neg(x) : tensor ; %b = dropout(x, 0.5, false) : tensor ; yield %b }";

#[test]
fn the_library_is_in_the_list_in_its_order() {
    let all = Pipeline::inference();
    let mut names = all.passes().map(Pass::name);
    for pass in crate::library::passes() {
        assert!(names.any(|name| name == pass.name()), "`{}` comes behind its place or not at all", pass.name());
    }
}

#[test]
fn the_list_is_visible() {
    expect![[r#"
         1  remove-identity        takes out dropout, Identity and handles that only pass their input on
         2  common-subexpressions  merges nodes that compute the same
         3  dead-code              erases nodes without readers and without effects, control flow included
         4  arithmetic             takes out arithmetic that does nothing, and gives powers and reciprocals their canonical form
         5  layout                 makes one of chains of reshapes, permutations and transpositions
         6  joins                  puts slices of one tensor together again, and makes one of nested joints
         7  sink-into-arms         moves ops around an `if` or `match` into its arms, where they fuse (before fold-batch-norm, fuse-epilogue)
         8  activations            turns activations spelled out in elementary ops into the op that says it
         9  norms                  turns normalisations spelled out in elementary ops into the op that says it
        10  attention              turns attention written by hand into one op
        11  linears                turns products with weights that are known at freeze time into linear layers
        12  lower-modules          turns convolutions, linear layers and activations into ops on their weights
        13  common-subexpressions  merges nodes that compute the same
        14  fold-layer-scale       folds tensors of factors into the weights of the layers that they scale (after lower-modules; before fold-batch-norm, fuse-epilogue)
        15  sink-into-arms         moves ops around an `if` or `match` into its arms, where they fuse (before fold-batch-norm, fuse-epilogue)
        16  fold-batch-norm        folds batch norms into the weights of the layers before them (after lower-modules; before fuse-epilogue)
        17  fold-scale             folds factors into the weights of the layers before and behind them (after lower-modules; before fuse-epilogue)
        18  merge-linears          merges linear layers on one input into one, whose result they share (after attention, lower-modules; before fuse-epilogue)
        19  fuse-epilogue          fuses additions and activations into the convolutions and linear layers before them (after lower-modules; before pack-kernels)
        20  fold-leading-norm      folds batch norms into the weights of the layers behind them (after fold-batch-norm, fuse-epilogue; before pack-kernels)
        21  layout-safe            turns view into reshape and hands tensors to foreign code in row-major order
        22  pack-kernels           packs each layer into a kernel at freeze time (after lower-modules)
        23  merge-arms             merges the arms of a decision that differ in a constant alone (after pack-kernels)
        24  hoist-frozen           moves what is known of the live model out of branches that a call decides (after pack-kernels)
        25  common-subexpressions  merges nodes that compute the same
        26  dead-code              erases nodes without readers and without effects, control flow included
        27  affine-norm            writes batch norms beside pointwise operators as a factor and a summand of each channel (after pack-kernels; before group-pointwise)
        28  group-pointwise        computes pointwise ops that follow each other in one pass over memory (after fuse-epilogue, pack-kernels)
    "#]].assert_eq(&Pipeline::inference().to_string());
}

#[test]
fn passes_are_put_in_and_left_out() {
    let pipeline = Pipeline::inference().with(Careless).with(DeadCode).without("pack-kernels").without("layout-safe");
    let names: Vec<_> = pipeline.passes().map(Pass::name).collect();
    expect!["careless dead-code remove-identity common-subexpressions dead-code arithmetic layout joins sink-into-arms activations norms attention linears lower-modules common-subexpressions fold-layer-scale sink-into-arms fold-batch-norm fold-scale merge-linears fuse-epilogue fold-leading-norm merge-arms hoist-frozen common-subexpressions dead-code affine-norm group-pointwise"].assert_eq(&names.join(" "));
}

/// Does nothing, where it is asked for.
struct Placed(&'static str, &'static [&'static str], &'static [&'static str]);

impl Pass for Placed {
    fn name(&self) -> &'static str {
        self.0
    }

    fn doc(&self) -> &'static str {
        "does nothing"
    }

    fn after(&self) -> &'static [&'static str] {
        self.1
    }

    fn before(&self) -> &'static [&'static str] {
        self.2
    }

    fn run(&self, _: &mut Graph, _: &PassContext) -> Changed {
        Changed::No
    }
}

fn names(pipeline: &Pipeline) -> String {
    pipeline.passes().map(Pass::name).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_pass_is_put_where_it_may_run() {
    let list = || Pipeline::empty().then(RemoveIdentity).then(LowerModules).then(DeadCode);
    let late = |name| Placed(name, &["lower-modules"], &[]);
    let pipeline = list().with(late("a")).with(Careless).with(late("b"));
    assert_eq!(names(&pipeline), "careless remove-identity lower-modules a b dead-code");
    // One pass asks to come after another by itself, or the other asks that it does.
    let pipeline = list().with(Placed("first", &["remove-identity"], &["second"])).with(Placed("second", &[], &[]));
    assert_eq!(names(&pipeline), "remove-identity first second lower-modules dead-code");
    let pipeline = list().with_before("dead-code", late("a")).with_after("remove-identity", Careless);
    assert_eq!(names(&pipeline), "remove-identity careless lower-modules a dead-code");
    assert_eq!(pipeline.check(), Ok(()));
}

#[test]
fn what_a_pass_asks_of_the_list_is_checked() {
    let told = |pipeline: Pipeline| pipeline.check().err().map(|error| error.to_string()).unwrap_or_default();
    let wrong = Pipeline::empty().then(FuseEpilogue).then(Placed("my-norms", &[], &["fuse-epilogue"]));
    expect!["`my-norms` has to run before `fuse-epilogue`, as `my-norms` asks, but it is number 2 and the other number 1 of fuse-epilogue, my-norms"].assert_eq(&told(wrong));
    let wrong = Pipeline::empty().then(DeadCode).then(RemoveIdentity).in_order("remove-identity", "dead-code");
    expect!["`remove-identity` has to run before `dead-code`, but it is number 2 and the other number 1 of dead-code, remove-identity"].assert_eq(&told(wrong));
    let absent = Pipeline::empty().then(Placed("a", &["no-such-pass"], &[])).in_order("a", "b");
    assert_eq!(absent.check(), Ok(()));
    assert_eq!(Pipeline::inference().check(), Ok(()));
    let mut graph = Graph::new("f");
    let wrong = Pipeline::inference().with_before("lower-modules", FoldBatchNorm);
    let error = wrong.run(&mut graph, &PassContext::default());
    assert!(matches!(error, Err(PipelineError::Order { .. })), "{error:?}");
}

#[test]
fn a_report_says_what_each_pass_did() -> Result<(), ParseError> {
    let mut graph: Graph = TEXT.parse()?;
    let pipeline = Pipeline::inference().dump(Dump::Changes).stop_after("dead-code");
    let report = pipeline.run(&mut graph, &PassContext::default()).unwrap_or_default();
    let told = |step: &Step| {
        let dump = step.dump.as_ref().map(|(before, after)| format!("\n{before}\n=>\n{after}"));
        format!("{} {:?} {:?}{}\n", step.pass, step.changed, step.nodes, dump.unwrap_or_default())
    };
    let text: String = report.steps.iter().map(told).collect();
    expect![[r#"
        remove-identity Yes (4, 3)
        graph f(x: tensor) {
          %a = neg(x) : tensor
          %b = dropout(x, 0.5, false) : tensor
          yield %b
        }
        =>
        graph f(x: tensor) {
          %a = neg(x) : tensor
          yield x
        }
        common-subexpressions No (3, 3)
        dead-code Yes (3, 2)
        graph f(x: tensor) {
          %a = neg(x) : tensor
          yield x
        }
        =>
        graph f(x: tensor) {
          yield x
        }
    "#]]
    .assert_eq(&text);
    Ok(())
}

#[test]
fn a_broken_graph_names_the_pass_that_broke_it() -> Result<(), ParseError> {
    let mut graph: Graph = TEXT.parse()?;
    let pipeline = Pipeline::empty().then(RemoveIdentity).then(Careless).then(DeadCode);
    let error = pipeline.run(&mut graph, &PassContext::default()).err().map(|error| error.to_string());
    expect![[r#"
        the pass `careless` left a graph that is not sound; the pass is not one of fx's own
          `f` has a region that does not end in a yield [yield]
        before:
        graph f(x: tensor) {
          %a = neg(x) : tensor
          yield x
        }
        after:
        graph f(x: tensor) {
          %a = neg(x) : tensor
        }"#]]
    .assert_eq(&error.unwrap_or_default());
    Ok(())
}

#[test]
fn a_name_that_no_pass_bears_is_told() -> Result<(), ParseError> {
    let mut graph: Graph = TEXT.parse()?;
    let pipeline = Pipeline::empty().then(RemoveIdentity).without("remove-identities");
    let error = pipeline.run(&mut graph, &PassContext::default()).err().map(|error| error.to_string());
    let want = "there is no pass `remove-identities`; the passes are remove-identity";
    assert_eq!(error.as_deref(), Some(want));
    Ok(())
}

/// A graph of so many residual layers.
fn layers(count: usize) -> Result<Graph, ParseError> {
    let mut text = "graph f(self: module<Net>, x_0: tensor) {\n".to_owned();
    for i in 0..count {
        let layer = format!(
            "%conv_{i} = get_attr[conv_{i}](self) : module<Conv2D>
            %bn_{i} = get_attr[bn_{i}](self) : module<BatchNorm>
            %c_{i} = call_module[Conv2D](%conv_{i}, x_{i}) : tensor
            %d_{i} = call_module[BatchNorm](%bn_{i}, %c_{i}) : tensor
            %s_{i} = add(%d_{i}, x_{i}) : tensor
            %x_{} = relu(%s_{i}) : tensor\n",
            i + 1
        );
        text.push_str(&layer.replace(&format!("x_{i})"), &format!("{}x_{i})", if i > 0 { "%" } else { "" })));
    }
    format!("{text}yield %x_{count} }}").parse()
}

/// A pass whose cost grows with the square of the graph would take 16 times as long for four times the layers.
#[test]
fn time_grows_with_the_graph_and_no_faster() -> Result<(), ParseError> {
    let sizes = [250, 1000];
    // In turns, and the best of each: what else the machine does slows both down.
    let mut best = [f64::MAX; 2];
    for _ in 0..2 {
        for (&size, best) in sizes.iter().zip(&mut best) {
            let mut graph = layers(size)?;
            let start = std::time::Instant::now();
            assert!(Pipeline::inference().run(&mut graph, &PassContext::new(true)).is_ok());
            *best = best.min(start.elapsed().as_secs_f64());
            let runs = graph.nodes().into_iter().filter(|&id| graph.node(id).name.starts_with('x')).count();
            assert_eq!(runs, size + 1);
        }
    }
    let ratio = best[1] / best[0];
    assert!(ratio < 8.0, "four times the layers take {ratio:.1} times as long: {best:?} seconds");
    Ok(())
}
