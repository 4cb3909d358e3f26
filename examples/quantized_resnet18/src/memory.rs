//! What memory a frozen model takes: that of a process that loads it and runs it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use fx_runtime::{Device, Freeze, Kind, Tensor};
use resnet18::model::ResNet18Frozen;
use resnet18::weights;

use super::Result;

/// Loads both models, each in a process of its own, and prints what they take there.
pub(super) fn compared(out: &mut impl Write, [floats, codes]: &[PathBuf; 2]) -> Result<()> {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let ([rest, most], [small, small_most]) = (in_a_process(floats)?, in_a_process(codes)?);
    let line = |name: &str, floats: f64, codes: f64| {
        format!("{name}: f32 {floats:.1} MB, int8 {codes:.1} MB: {:.2} of it", codes / floats)
    };
    let (rest, most) = (line("between calls", rest, small), line("at most", most, small_most));
    Ok(writeln!(
        out,
        "Memory of a process that loads the file, for the model and three calls on a picture\n\n{rest}\n{most}\n"
    )?)
}

fn in_a_process(path: &Path) -> Result<[f64; 2]> {
    let mut process = Command::new(std::env::current_exe()?);
    // What is free counts for nobody. By itself glibc keeps some MB of the heap that calls have freed, as many for either
    // model; with a threshold it gives back what is more.
    process.env("MALLOC_TRIM_THRESHOLD_", "65536");
    let told = process.arg("--load").arg(path).output()?;
    let text = String::from_utf8_lossy(&told.stdout);
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    <[f64; 2]>::try_from(figures).map_err(|_| String::from_utf8_lossy(&told.stderr).into_owned().into())
}

/// Loads a model and calls it; prints by how many MB the memory of this process, what is of files left out, is larger than
/// before: behind the calls, and at most.
pub(super) fn of_this_process(path: &Path, out: &mut impl Write) -> Result<()> {
    let _no_grad = tch::no_grad_guard();
    let picture = weights::input(1, 224);
    // The threads and kernels of libtorch come first.
    let kernel = Tensor::ones([8, 3, 3, 3], (Kind::Float, Device::Cpu));
    drop(picture.f_conv2d(&kernel, None::<&Tensor>, [1], [1], [1], 1)?.f_sum(Kind::Float)?);
    let before = status("RssAnon:")?;
    std::fs::write("/proc/self/clear_refs", "5")?;
    let model = ResNet18Frozen::load(path, &Freeze::new())?;
    for _ in 0..3 {
        drop(model.try_forward(&picture)?);
    }
    let (rest, most) = (status("RssAnon:")? - before, status("VmHWM:")? - status("RssFile:")? - before);
    Ok(writeln!(out, "{rest} {most}")?)
}

/// MB.
fn status(field: &str) -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)).ok_or_else(|| format!("no {field}"))?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<f64>()? * 1.024e-3)
}
