//! Every case has to fail with exactly the words beside it; `TRYBUILD=overwrite` writes them anew.

#[test]
fn cases() {
    trybuild::TestCases::new().compile_fail("cases/*.rs");
}
