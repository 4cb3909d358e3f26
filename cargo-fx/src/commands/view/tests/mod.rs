//! The page in a browser: on the answer that fx-runtime's own test writes, and on one with two thousand nodes a side.

mod browser;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use fx_trace::report::Report;
use serde_json::{Value as Json, json};

use self::browser::{Browser, DOWN, ENTER, ESCAPE};
use super::{compared, page, parsed};

/// What fx-runtime says of a small net; see `command/view/tests.rs` there.
const NET: &str = include_str!("../../../../tests/view/net.json");

fn trace(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fx-trace/tests/hta/traces");
    folder.join(format!("{name}.json.gz"))
}

/// Opens the page of an answer; none where there is no browser.
fn opened(view: &Json, traces: Option<&Report>) -> Option<(Browser, tempfile::TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("view.html");
    fs::write(&path, page::of(view, traces).unwrap()).unwrap();
    Some((Browser::open(&path)?, folder))
}

/// The page did nothing that one would not want.
#[track_caller]
fn is_quiet(browser: &Browser) {
    assert_eq!(browser.console(), [""; 0]);
    let requests = browser.requests();
    assert!(!requests.is_empty() && requests.iter().all(|url| url.starts_with("file://")), "{requests:?}");
}

/// The names of the boxes of a side that a class marks, in their order.
fn marked(browser: &Browser, side: &str, class: &str) -> Vec<String> {
    let script = format!(
        "return [...document.querySelectorAll('#pane-{side} .box.{class} .name')].map((name) => name.textContent)"
    );
    browser.script(&script).as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// A script that finds the box of a name.
fn box_of(side: &str, name: &str) -> String {
    format!(
        "return [...document.querySelectorAll('#pane-{side} .box')].find((box) => box.querySelector('.name').textContent === '{name}')"
    )
}

#[test]
fn pointing_at_a_kernel_lights_up_what_it_came_from() {
    let Some((browser, _folder)) = opened(&parsed(NET).unwrap(), None) else { return };
    assert_eq!(browser.text("return document.documentElement.dataset.ready"), "true");
    browser.point_at(&box_of("after", "relu"));
    assert_eq!(marked(&browser, "after", "lit"), ["relu"]);
    assert_eq!(marked(&browser, "before", "lit"), ["blocks_0_conv", "blocks_0_bn", "relu"]);
    browser.point_at(&box_of("before", "blocks_1_bn"));
    assert_eq!(marked(&browser, "after", "lit"), ["relu_1"]);
    // What a pass left out has no successor, and says so.
    assert_eq!(marked(&browser, "before", "gone"), ["dropout", "dropout_1"]);
    browser.point_at("return document.getElementById('title')");
    assert_eq!(marked(&browser, "before", "lit"), [""; 0]);
    is_quiet(&browser);
}

#[test]
fn search_finds_a_node_and_says_all_of_it() {
    let Some((browser, _folder)) = opened(&parsed(NET).unwrap(), None) else { return };
    browser.press("/");
    browser.press("relu_1");
    let hits = browser.text("return [...document.querySelectorAll('#hits b')].map((hit) => hit.textContent).join()");
    assert_eq!(hits, "relu_1,relu_1");
    // The second is the one after the passes.
    browser.press(&format!("{DOWN}{ENTER}"));
    assert_eq!(browser.text("return document.querySelector('#details h2').textContent"), "relu_1");
    let details = browser.text("return document.getElementById('details').textContent");
    for part in ["Conv blocks.1.conv", "src/net.rs:12", "fuse-epilogue", "f32[1, 4, 8, 8]", "Came from (3)", "FLOP"] {
        assert!(details.contains(part), "`{part}` is not in {details}");
    }
    assert_eq!(browser.text("return document.activeElement.querySelector('.name').textContent"), "relu_1");
    // Along an edge, and back.
    browser.press(DOWN);
    assert_eq!(browser.text("return document.activeElement.querySelector('.name').textContent"), "mean");
    browser.press(ESCAPE);
    assert_eq!(browser.text("return document.querySelector('#details h2').textContent"), "Net");
    is_quiet(&browser);
}

#[test]
fn modules_fold_and_unfold() {
    let Some((browser, _folder)) = opened(&parsed(NET).unwrap(), None) else { return };
    let count = |side: &str| browser.script(&format!("return document.querySelectorAll('#pane-{side} .box').length"));
    let (before, after) = (count("before"), count("after"));
    browser.script("document.querySelector('[data-module=\"blocks.0\"]').click()");
    assert_eq!(marked(&browser, "before", "module"), ["blocks.0"]);
    // A convolution, a batch norm, a dropout and a ReLU are one box, and so is the kernel.
    assert_eq!(count("before").as_u64(), before.as_u64().map(|count| count - 3));
    assert_eq!(count("after"), after);
    browser.point_at(&box_of("before", "blocks.0"));
    assert_eq!(marked(&browser, "after", "lit"), ["blocks.0"]);
    // What is looked for comes to light.
    browser.press("/blocks_0_bn");
    browser.press(ENTER);
    assert_eq!((count("before"), count("after")), (before, after));
    browser.press("f");
    assert_eq!(marked(&browser, "after", "module"), ["blocks.0"]);
    is_quiet(&browser);
}

#[test]
fn passes_flames_and_traces() {
    let traces = compared(&trace("base"), &trace("changed")).unwrap();
    let Some((browser, _folder)) = opened(&parsed(NET).unwrap(), Some(&traces)) else { return };
    browser.script("document.querySelector('[data-pass=\"fold-batch-norm\"]').click()");
    let details = browser.text("return document.getElementById('details').textContent");
    assert!(details.contains("went (2)blocks_0_conv convolutionblocks_1_conv convolution"), "{details}");
    assert_eq!(marked(&browser, "after", "lit"), ["relu", "relu_1"]);
    browser.script("document.getElementById('tab-flame').click()");
    let frames = "return [...document.querySelectorAll('#flame .frame')].map((frame) => frame.getAttribute('aria-label')).join('\\n')";
    let frames = browser.text(frames);
    assert!(frames.contains("blocks.1: ") && frames.contains("kFLOP"), "{frames}");
    browser.script("document.getElementById('tab-traces').click()");
    let rows = || {
        browser.script("return [...document.querySelectorAll('#traces tbody tr')].filter((row) => !row.hidden).length")
    };
    let all = rows();
    browser.press("/aten");
    assert!(rows().as_u64() < all.as_u64() && rows().as_u64() > Some(0), "{} of {all}", rows());
    is_quiet(&browser);
}

#[test]
fn light_dark_and_print() {
    let Some((browser, _folder)) = opened(&parsed(NET).unwrap(), None) else { return };
    let paper = || browser.text("return getComputedStyle(document.body).backgroundColor");
    let light = paper();
    browser.script("document.getElementById('theme').click()");
    assert_ne!(paper(), light);
    browser.script("window.dispatchEvent(new Event('beforeprint'))");
    let slices = browser.script("return document.querySelectorAll('#print .slice').length");
    assert!(slices.as_u64() >= Some(2), "{slices}");
    assert!(browser.text("return document.getElementById('print').textContent").contains("fold-batch-norm"));
    is_quiet(&browser);
}

/// An answer with that many nodes a side, each pair of which is one kernel after the passes.
fn large(nodes: usize) -> Json {
    let node = |at: usize| {
        let block = at / 50;
        let mut node = json!({
            "name": format!("layers_{block}_conv_{at}"), "opcode": "call_module", "layer": "Conv2D", "target": format!("layers.{block}.conv_{at}"),
            "args": format!("(layers_{}_conv_{},)", at.saturating_sub(1) / 50, at.saturating_sub(1)), "type": "f32[1, 64, 56, 56]",
            "in": if at == 0 { vec![] } else if at % 5 == 4 { vec![at - 4, at - 1] } else { vec![at - 1] },
            "at": format!("src/model.rs:{}", at % 90), "module": block + 1, "flops": 231_211_008, "bytes": 1_605_632, "ms": 0.1234,
        });
        let view = node.clone();
        node["from"] = json!([at, (at + 1).min(nodes - 1)]);
        node["passes"] = json!(["lower-modules", "fold-batch-norm", "fuse-epilogue", "pack-kernels"]);
        (view, node)
    };
    let (before, after): (Vec<Json>, Vec<Json>) = (0..nodes).map(node).unzip();
    let item = |at: usize| json!([format!("layers_{}_conv_{at}", at / 50), "convolution", [at], at]);
    let step = |pass: &str| {
        let items: Vec<Json> = (0..nodes).map(item).collect();
        json!({ "pass": pass, "doc": "rewrites all", "nodes": [nodes, nodes], "rules": [], "went": items, "came": items, "changed": [] })
    };
    let passes = ["fold-batch-norm", "pack-kernels"].map(step);
    let modules: Vec<Json> = std::iter::once(json!(["", "Large"]))
        .chain((0..nodes.div_ceil(50)).map(|block| json!([format!("layers.{block}"), "Block"])))
        .collect();
    json!({
        "format": "fx-view", "version": 1, "model": "Large", "inputs": ["1x3x224x224"], "runs": 3, "modules": modules,
        "before": { "ms": 246.8, "nodes": before }, "after": { "ms": 123.4, "nodes": after },
        "passes": passes, "source": {},
    })
}

#[test]
fn two_thousand_nodes_are_a_page_of_less_than_two_megabytes() {
    let view = large(2000);
    let size = page::of(&view, None).unwrap().len();
    assert!(size < 2_000_000, "{size} bytes");
    let Some((browser, _folder)) = opened(&view, None) else { return };
    let loaded = browser.script("const [page] = performance.getEntriesByType('navigation'); return page.loadEventEnd");
    assert!(loaded.as_f64() < Some(5000.0), "{loaded} ms to load");
    let begin = Instant::now();
    browser.script("document.getElementById('unfold-all').click()");
    let unfolded = begin.elapsed();
    eprintln!("{size} bytes, {loaded} ms to load, {} ms to unfold all", unfolded.as_millis());
    assert_eq!(browser.script("return document.querySelectorAll('.box').length"), 4000);
    assert!(unfolded.as_secs() < 10, "{unfolded:?}");
    browser.press("/conv_1999");
    browser.press(ENTER);
    assert_eq!(browser.text("return document.querySelector('#details h2').textContent"), "layers_39_conv_1999");
    is_quiet(&browser);
}

/// What `cargo fx` and fx-runtime of other versions say to each other.
#[test]
fn other_versions_are_refused() {
    let error = parsed(r#"{"format": "fx-view", "version": 2}"#).unwrap_err().to_string();
    assert!(error.contains("version 2") && error.contains("cargo install cargo-fx"), "{error}");
    assert!(parsed("{").is_err());
}

/// Text of a model's source is text on the page.
#[test]
fn no_text_ends_the_data() {
    let mut view = parsed(NET).unwrap();
    view["model"] = json!("</script><b>");
    let page = page::of(&view, None).unwrap();
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(page.contains("<title>&lt;/script&gt;&lt;b&gt;</title>"));
}
