//! The graphs of the models against torch.fx's of the same forwards, and their operations against PyTorch's counter.
//!
//! `tests/torch_fx/zoo.py` made what is compared with. What Rust spells otherwise than Python stands in `torch_fx/NAME.txt`,
//! each stretch of lines of torch.fx's listing (`-`) with ours in its place (`+`); all other lines are equal.
//! `UPDATE_EXPECT=1` writes these files.

use std::path::{Path, PathBuf};

use fx_runtime::graph_module::{GraphModule, value};
use fx_runtime::{Freeze, Tensor};
use resnet18::{Error, ResNet18, weights};
use zoo::reference::model;
use zoo::{BertModel, Gpt2, MobileNetV2, ResNet50, VitB16};

/// The differences of two listings: stretches of lines that are not equal, between equal lines.
fn differences(theirs: &[&str], ours: &[&str]) -> String {
    // Lengths of the longest common part of what is left of both.
    let mut longest = vec![vec![0_u32; ours.len() + 1]; theirs.len() + 1];
    for i in (0..theirs.len()).rev() {
        for j in (0..ours.len()).rev() {
            longest[i][j] =
                if theirs[i] == ours[j] { longest[i + 1][j + 1] + 1 } else { longest[i + 1][j].max(longest[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut text) = (0, 0, String::new());
    while i < theirs.len() || j < ours.len() {
        if i < theirs.len() && j < ours.len() && theirs[i] == ours[j] {
            (i, j) = (i + 1, j + 1);
            if !text.is_empty() && !text.ends_with("\n\n") {
                text.push('\n');
            }
        } else if j == ours.len() || i < theirs.len() && longest[i + 1][j] >= longest[i][j + 1] {
            text.push_str(&format!("- {}\n", theirs[i]));
            i += 1;
        } else {
            text.push_str(&format!("+ {}\n", ours[j]));
            j += 1;
        }
    }
    text
}

fn file(parts: &[&str]) -> PathBuf {
    parts.iter().fold(Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf(), |path, part| path.join(part))
}

fn check(name: &str, graph: &GraphModule) -> Result<(), Error> {
    let theirs = std::fs::read_to_string(file(&["..", "..", "tests", "torch_fx", &format!("zoo_{name}.graph.txt")]))?;
    let ours = format!("{graph}\n");
    let lines = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<String>>();
    let (theirs, ours) = (lines(&theirs), lines(&ours));
    let borrowed = |lines: &[String]| lines.iter().map(String::as_str).collect::<Vec<&str>>().join("\n");
    let found =
        differences(&borrowed(&theirs).lines().collect::<Vec<&str>>(), &borrowed(&ours).lines().collect::<Vec<&str>>());
    let listed = file(&["tests", "torch_fx", &format!("{name}.txt")]);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&listed, &found)?;
        return Ok(());
    }
    let wanted = std::fs::read_to_string(&listed)?;
    assert!(found == wanted, "{name}: other differences than {} lists:\n{found}", listed.display());
    Ok(())
}

#[test]
fn resnet50() -> Result<(), Error> {
    check("resnet50", &model(|p| ResNet50::new(p, 1000)).graph_module()?)
}

#[test]
fn mobilenet_v2() -> Result<(), Error> {
    check("mobilenet_v2", &model(|p| MobileNetV2::new(p, 1000)).graph_module()?)
}

#[test]
fn vit_b_16() -> Result<(), Error> {
    check("vit_b_16", &model(|p| VitB16::new(p, 1000)).graph_module()?)
}

#[test]
fn bert_base() -> Result<(), Error> {
    check("bert_base", &model(BertModel::new).graph_module()?)
}

#[test]
fn gpt2() -> Result<(), Error> {
    check("gpt2", &model(Gpt2::new).graph_module()?)
}

/// Floating-point operations of one image, or one text, as `torch.utils.flop_counter` counts them.
#[test]
fn operations_are_as_many_as_pytorch_counts() -> Result<(), Error> {
    let counted = std::fs::read_to_string(file(&["..", "..", "tests", "torch_fx", "zoo_flops.json"]))?;
    let counted: serde_json::Value = serde_json::from_str(&counted)?;
    let image = value(weights::input(1, 224));
    let none = || value(None::<&Tensor>);
    let words = |length, vocabulary| value(weights::tokens(1, length, vocabulary));
    let graphs = [
        ("resnet18", model(|p| ResNet18::new(p, 1000)).graph_module()?, vec![image.clone()]),
        ("resnet50", model(|p| ResNet50::new(p, 1000)).graph_module()?, vec![image.clone()]),
        ("mobilenet_v2", model(|p| MobileNetV2::new(p, 1000)).graph_module()?, vec![image.clone()]),
        ("vit_b_16", model(|p| VitB16::new(p, 1000)).graph_module()?, vec![image]),
        ("bert_base", model(BertModel::new).graph_module()?, vec![words(128, BertModel::VOCABULARY), none(), none()]),
        ("gpt2", model(Gpt2::new).graph_module()?, vec![words(64, Gpt2::VOCABULARY)]),
    ];
    for (name, mut graph, inputs) in graphs {
        graph.propagate_shapes(&inputs)?;
        assert_eq!(graph.costs().flops(), counted[name].as_u64().ok_or("no figure")?, "{name}");
    }
    Ok(())
}

/// Of ResNet-18's profile as generated code tells it: each operation once, modules, lines, and all of the time.
#[test]
fn a_generated_types_profile_is_its_wall_time() -> Result<(), Error> {
    let (xs, net) = (weights::input(1, 224), model(|p| ResNet18::new(p, 1000)));
    let frozen = net.freeze(&Freeze::default())?;
    let profile = frozen.profile(2, 10, |frozen| frozen.try_forward(&xs))?;
    let stem = profile.nodes.iter().find(|node| node.name == "conv1, bn1, relu").ok_or("no stem")?;
    assert_eq!((stem.calls, stem.times.len()), (10, 10));
    let total = |timings: &[fx_runtime::graph_module::Timing]| timings.iter().map(|one| one.mean()).sum::<f64>();
    let wall = profile.runs.iter().map(std::time::Duration::as_secs_f64).sum::<f64>() / 10.0;
    let (nodes, lines) = (total(&profile.nodes), total(&profile.lines));
    assert!((0.9..=1.0).contains(&(nodes / wall)), "{nodes} s of {wall} s\n{profile}");
    assert!((nodes - lines).abs() < 1e-9, "{nodes} s in nodes, {lines} s in lines");
    let whole = profile.modules.iter().find(|module| module.name.is_empty()).ok_or("no model")?;
    assert!((whole.mean() - nodes).abs() < 1e-9, "{profile}");
    Ok(())
}
