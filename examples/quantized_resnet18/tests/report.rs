//! The program's report has all its parts, with figures that hold.

use std::process::Command;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[test]
fn the_report_has_all_its_parts() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut program = Command::new(env!("CARGO_BIN_EXE_quantized_resnet18"));
    let output = program.args(["--rounds", "1", "--folder"]).arg(folder.path()).output()?;
    let text = String::from_utf8(output.stdout)?;
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for part in ["layer4_1_conv2", "% of the FLOPs on codes", "f32 / int8", "between calls", "minimum, maximum"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let line = text.lines().find(|line| line.contains("of the int8 kernels")).ok_or("no figure")?;
    let decibels: f64 = line.split(' ').next().ok_or("no figure")?.parse()?;
    assert!(decibels > 38.0, "{line}");
    // The share of the memory that f32 takes, of a CPU that has kernels on codes.
    if fx_runtime::capabilities().int8.is_ok() {
        let line = text.lines().find(|line| line.starts_with("between calls")).ok_or("no figure")?;
        let share: f64 = line.rsplit(": ").next().and_then(|end| end.split(' ').next()).ok_or("no figure")?.parse()?;
        assert!(share <= 0.35, "{line}");
    }
    for name in ["histogram.json", "min_max.json"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
    Ok(())
}
