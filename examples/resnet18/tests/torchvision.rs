//! The graph of torchvision's ResNet-18 is torch.fx's: 71 nodes with opcode, name, target, args and kwargs, in its order.
//!
//! `tests/torch_fx/nodes.py` made what is compared with. What Rust cannot spell as Python does stands here, line by line.

use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::{Device, Freeze, Kind, Module as _, Tensor, nn};
use resnet18::torchvision::ResNet;
use resnet18::{Error, ResNet18, weights};

/// Python leaves the default of `end_dim` out, which a call in Rust cannot.
const LISTED: &[(&str, &str)] = &[(
    "    %flatten : [num_users=1] = call_function[target=torch.flatten](args = (%avgpool, 1), kwargs = {})",
    "    %flatten : [num_users=1] = call_function[target=torch.flatten](args = (%avgpool, 1, -1), kwargs = {})",
)];

fn graph() -> Result<GraphModule, Error> {
    let vs = nn::VarStore::new(Device::Cpu);
    Ok(ResNet::new(&vs.root(), 1000).graph_module()?)
}

#[test]
fn the_listing_is_that_of_torch_fx() -> Result<(), Error> {
    let mut theirs = include_str!("../../../tests/torch_fx/torchvision_resnet18.graph.txt").to_owned();
    for (line, ours) in LISTED {
        assert_eq!(theirs.matches(line).count(), 1, "torch.fx has no line {line}");
        theirs = theirs.replace(line, ours);
    }
    let ours = format!("{}\n", graph()?);
    assert_eq!(ours.lines().count(), 1 + 71);
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours, theirs);
    Ok(())
}

/// The first five columns. Python shows a function as its address, ours by its name.
#[test]
fn the_table_is_that_of_torch_fx() -> Result<(), Error> {
    let cells = |line: &str| -> Vec<String> {
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).take(5).map(str::to_owned).collect()
    };
    let rows = |table: &str| -> Vec<Vec<String>> {
        table.lines().filter(|line| !line.starts_with("---")).map(cells).collect()
    };
    let ours = rows(&graph()?.graph().print_tabular());
    let theirs = rows(include_str!("../../../tests/torch_fx/torchvision_resnet18.table.txt"));
    assert_eq!(ours.len(), 1 + 71);
    let mut differences = 0;
    for (ours, mut theirs) in ours.into_iter().zip(theirs) {
        let theirs_in_rust = match (ours[1].as_str(), theirs[2].as_str()) {
            (name, "<built-in function add>") if name.starts_with("add") => Some((2, "add")),
            ("flatten", "<built-in method flatten>") => Some((2, "flatten")),
            _ => None,
        };
        if let Some((column, cell)) = theirs_in_rust {
            theirs[column] = cell.to_owned();
            differences += 1;
        }
        if ours[1] == "flatten" {
            assert_eq!(theirs[3], "(avgpool, 1)");
            theirs[3] = "(avgpool, 1, -1)".to_owned();
        }
        assert_eq!(ours, theirs);
    }
    assert_eq!(differences, 8 + 1, "eight sums and one flatten");
    Ok(())
}

/// It is the network of `model`: the same names, and from the same weights the same numbers, eager, interpreted and frozen.
#[test]
fn it_computes_what_the_other_declaration_computes() -> Result<(), Error> {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = ResNet::new(&vs.root(), 1000);
    weights::fill(&net);
    let other_vs = nn::VarStore::new(Device::Cpu);
    let other = ResNet18::new(&other_vs.root(), 1000);
    weights::fill(&other);
    let names = |names: Vec<(String, &Tensor)>| names.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(net.state_dict()), names(other.state_dict()));

    let xs = Tensor::randn([2, 3, 64, 64], (Kind::Float, Device::Cpu));
    let want = tch::no_grad(|| other.forward(&xs));
    assert_eq!(tch::no_grad(|| net.forward(&xs)), want);
    let Value::Tensor(ys) = net.graph_module()?.run(&[value(&xs)])? else { return Err("no tensor".into()) };
    assert_eq!(*ys, want);
    let frozen = net.freeze(&Freeze::default())?.try_forward(&xs)?;
    assert!(frozen.allclose(&want, 1e-4, 1e-4, false), "{}", (frozen - want).abs().max());
    Ok(())
}

/// The tree that Python prints for `resnet18()`, with shapes of parameters in place of settings.
#[test]
fn the_tree_of_modules_is_that_of_torchvision() -> Result<(), Error> {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = ResNet::new(&vs.root(), 1000);
    let tree = net.print_module_tree();
    let block = [
        "    (0): BasicBlock(",
        "      (conv1): Conv2D(weight=[128, 64, 3, 3])",
        "      (bn1): BatchNorm(weight=[128], bias=[128])",
        "      (relu): ReLU()",
        "      (conv2): Conv2D(weight=[128, 128, 3, 3])",
        "      (bn2): BatchNorm(weight=[128], bias=[128])",
        "      (downsample): SequentialT(",
        "        (0): Conv2D(weight=[128, 64, 1, 1])",
        "        (1): BatchNorm(weight=[128], bias=[128])",
        "      )",
        "    )",
    ];
    assert!(tree.starts_with("ResNet(\n  (conv1): Conv2D(weight=[64, 3, 7, 7])\n"), "{tree}");
    assert!(tree.contains(&block.join("\n")), "{tree}");
    // The graph knows the same layers by their paths, and not what holds them.
    let of_graph = net.graph_module()?.print_module_tree();
    assert!(of_graph.contains(&block.join("\n").replace("BasicBlock", "Module").replace("SequentialT", "Module")));
    assert_eq!(of_graph.lines().count(), tree.lines().count());
    Ok(())
}
