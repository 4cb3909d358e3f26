//! The door, without Cargo: packages written to a folder, and what a build script would be told.

#![allow(clippy::unwrap_used, reason = "a test may fail so")]

use std::{fs, path::PathBuf};

use fx_passes::pass::{Changed, Pass, PassContext};
use fx_passes::{Build, Graph, fx_pass, pipeline::Pipeline};

const SOURCE: &str = "
use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Sums { fc: nn::Linear }

#[traceable]
impl Sums {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.fc.forward(xs) + xs.tanh()
    }
}

#[traceable]
pub fn twice(xs: &Tensor) -> Tensor {
    xs + xs.tanh()
}
";

fx_pass! {
    /// Every sum becomes a product.
    pub SumsToProducts { |x, y: Tensor| x + y => x * y }
}

fx_pass! {
    /// Every sum of what many read becomes a product.
    pub BusySums { |x, y: Tensor| x + y => x * y if x.users() > 9 }
}

/// What Cargo is told, and the generated file of that name.
fn generate(test: &str, build: &Build, file: &str) -> (Vec<String>, String) {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/lib.rs"), SOURCE).unwrap();
    let out = root.join("out");
    let told = build.generate(&root, &out);
    let told = told.into_iter().filter(|line| !line.starts_with("cargo::rerun-if-changed")).collect();
    (told, fs::read_to_string(out.join("fx").join(file)).unwrap_or_default())
}

#[test]
fn a_model_has_a_list_of_passes_of_its_own() {
    let list = Pipeline::inference().without("group-pointwise").with(SumsToProducts);
    let build = Build::new().model("twice", list);
    let (told, twice) = generate("own_list", &build, "twice.rs");
    assert_eq!(told, [""; 0]);
    assert!(twice.contains("f_mul(") || twice.contains("f_g_mul("), "{twice}");
    // The other model has the common list, in which the sum is the linear layer's.
    let (_, sums) = generate("own_list", &build, "Sums.rs");
    assert!(sums.contains("run_add("), "{sums}");
    let (_, plain) = generate("common_list", &Build::new().pipeline(Pipeline::empty()), "twice.rs");
    assert!(!plain.contains("mul("), "{plain}");
}

#[test]
fn passes_for_a_model_that_is_not_there_are_a_fault() {
    let build = Build::new().model("Twice", Pipeline::empty());
    let (told, _) = generate("no_such_model", &build, "twice.rs");
    let want = "cargo::error=`Twice` is given passes, but is no `#[traceable]` model; there are `Sums`, `twice`";
    assert_eq!(told, [want]);
}

#[test]
fn a_list_that_cannot_run_is_told_once() {
    let wrong = Pipeline::inference().in_order("pack-kernels", "lower-modules");
    let (told, _) = generate("wrong_list", &Build::new().model("Sums", wrong), "Sums.rs");
    let want = "cargo::error=the list of passes of `Sums`: `pack-kernels` has to run before `lower-modules`, but ";
    assert!(told.len() == 1 && told[0].starts_with(want), "{told:?}");
    let (told, _) = generate("unknown_pass", &Build::new().pipeline(Pipeline::empty().without("fold")), "Sums.rs");
    assert_eq!(told, ["cargo::error=there is no pass `fold`; there are none in the list"]);
    let misspelled = Pipeline::inference().without("fold-batchnorm");
    let (told, _) = generate("misspelled_pass", &Build::new().model("Sums", misspelled), "Sums.rs");
    let want = "cargo::error=the list of passes of `Sums`: there is no pass `fold-batchnorm`; the passes are remove-";
    assert!(told.len() == 1 && told[0].starts_with(want), "{told:?}");
}

/// Takes the result away.
struct Careless;

impl Pass for Careless {
    fn name(&self) -> &'static str {
        "careless"
    }

    fn doc(&self) -> &'static str {
        "breaks graphs"
    }

    fn run(&self, graph: &mut Graph, _: &PassContext) -> Changed {
        let (body, count) = (graph.body(), graph.region(graph.body()).nodes.len());
        graph.truncate(body, count - 1);
        Changed::Yes
    }
}

#[test]
fn a_graph_that_a_users_pass_breaks_is_told_with_its_name() {
    let build = Build::new().model("twice", Pipeline::inference().with(Careless));
    let (told, _) = generate("careless", &build, "twice.rs");
    let want = "cargo::error=in `twice`, the pass `careless` left a graph that is not sound; the pass is not one of ";
    assert!(told.len() == 1 && told[0].starts_with(want), "{told:?}");
}

#[test]
fn a_rule_of_one_model_is_explained_there() {
    let build = Build::new().model("twice", Pipeline::inference().with(SumsToProducts)).explain("SumsToProducts");
    let (told, _) = generate("explained", &build, "twice.rs");
    assert_eq!(told, [""; 0]);
    let (told, _) = generate("unexplained", &Build::new().explain("SumsToProducts"), "twice.rs");
    assert!(told.len() == 1 && told[0].starts_with("cargo::error=there is no pass `sums-to-products`"), "{told:?}");
}

#[test]
fn a_constraint_that_names_no_pass_is_told() {
    let list = Pipeline::inference().in_order("lower-modules", "fold-batchnorm").in_order("linears", "lower-modules");
    let (told, sums) = generate("idle_constraint", &Build::new().model("Sums", list), "Sums.rs");
    let want = "cargo::warning=`lower-modules` has to run before `fold-batchnorm`, but there is no pass `fold-batchnorm`, \
                so nothing is asked for";
    assert_eq!(told, [want]);
    assert!(sums.contains("run_add("), "{sums}");
    // One that is left out here is a pass all the same.
    let list = Pipeline::inference().without("fold-batch-norm");
    let (told, _) = generate("left_out", &Build::new().model("Sums", list), "Sums.rs");
    assert_eq!(told, [""; 0]);
}

#[test]
fn several_rules_are_explained() {
    let build = Build::new().pipeline(Pipeline::inference().with(BusySums));
    let (told, _) = generate("several", &build.explain("BusySums").explain("arithmetic.plus-negative"), "Sums.rs");
    for rule in ["busy-sums", "arithmetic.plus-negative"] {
        assert!(told.iter().any(|line| line.contains(&format!("`{rule}`"))), "{rule}: {told:?}");
    }
    let (told, _) = generate("first_is_wrong", &Build::new().explain("no-such").explain("linears"), "Sums.rs");
    assert!(told.len() == 1 && told[0].contains("`no-such`"), "{told:?}");
}

#[test]
fn what_cargo_fx_why_asks_is_written_to_a_file_of_its_own() {
    let (told, facts) =
        generate("why", &Build::new().pipeline(Pipeline::inference().with(BusySums)).why("BusySums"), "why.txt");
    assert_eq!(told, [""; 0], "it is no warning");
    for line in ["asked\tbusy-sums\n", "model\tSums\n", "near\tSums\tbusy-sums\t", "\nrule\tactivations.silu\t"] {
        assert!(facts.contains(line), "{line:?} is not in {facts}");
    }
    assert!(!facts.contains("near\tSums\tarithmetic"), "only what was asked: {facts}");
    let list = Pipeline::inference().with(SumsToProducts);
    let (_, facts) = generate("why_applied", &Build::new().pipeline(list).why("sums_to_products"), "why.txt");
    assert!(facts.contains("applied\tSums\tsums-to-products\t"), "{facts}");
    let (_, facts) = generate("why_unknown", &Build::new().why("no-such"), "why.txt");
    assert!(!facts.lines().any(|line| line.starts_with("asked\t")) && facts.contains("pass\tdead-code\t"), "{facts}");
}

#[test]
fn what_was_generated_for_an_item_that_is_gone_is_removed() {
    let (_, twice) = generate("renamed", &Build::new(), "twice.rs");
    assert!(!twice.is_empty());
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("renamed");
    fs::write(root.join("src/lib.rs"), SOURCE.replace("fn twice", "fn doubled")).unwrap();
    Build::new().generate(&root, &root.join("out"));
    let entries = fs::read_dir(root.join("out/fx")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(names.contains(&"doubled.rs".to_owned()), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("twice")), "{names:?}");
}

#[test]
fn rules_that_applied_nowhere_are_listed_on_request_and_reasons_are_in_the_report() {
    let list = || Pipeline::inference().with(SumsToProducts).with(BusySums);
    let (_, quiet) = generate("not_asked", &Build::new().pipeline(list()), "report.txt");
    assert!(!quiet.contains("applied nowhere"), "{quiet}");
    let build = Build::new().pipeline(list()).tell_silent_rules().explain("BusySums");
    let (told, report) = generate("asked", &build, "report.txt");
    assert!(report.contains("`busy-sums` applied nowhere"), "{report}");
    assert!(!report.contains("`sums-to-products` applied nowhere"), "{report}");
    // `BusySums` was tried first, at the sums that the other rule then took.
    assert!(told.iter().all(|line| report.contains(line.trim_start_matches("cargo::warning="))), "{told:?}\n{report}");
}
