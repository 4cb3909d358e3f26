//! Which model finds more digits than which, in a short run.

use digits::{Budget, Result, run};

#[test]
fn at_four_bits_training_wins_back_what_quantization_loses() -> Result<()> {
    let report = run(Budget { first: 10, further: 15 }, &[1, 2])?;
    let test = |name: &str| report.test(name).ok_or_else(|| format!("no `{name}`"));
    let float = test("float, continued")?;
    assert!(float > 0.93, "{report}");
    for eight in ["PTQ 8 bits", "QAT 8 bits"] {
        assert!((test(eight)? - float).abs() < 0.015, "{report}");
    }
    assert!(test("PTQ 4 bits")? < float - 0.03, "{report}");
    assert!(test("QAT 4 bits")? > test("PTQ 4 bits")? + 0.02, "{report}");
    assert!(test("QAT 4 bits")? > float - 0.03, "{report}");
    Ok(())
}
