//! The library's rules compute what they replace, values and gradients.

use fx_passes::library;
use fx_rule_tests::self_test;

#[test]
fn arithmetic() {
    assert!(self_test(&library::Arithmetic) >= 14);
}

#[test]
fn layout() {
    assert!(self_test(&library::Layout) >= 10);
}

#[test]
fn joins() {
    assert!(self_test(&library::Joins) >= 5);
}

#[test]
fn activations() {
    assert!(self_test(&library::Activations) >= 19);
}

#[test]
fn norms() {
    assert!(self_test(&library::Norms) >= 12);
}

#[test]
fn attention() {
    assert!(self_test(&library::Attention) >= 13);
}

#[test]
fn linears() {
    assert!(self_test(&library::Linears) >= 5);
}
