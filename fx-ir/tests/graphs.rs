//! Every file of `tests/graphs` is a sound graph in the form in which it is printed. `UPDATE_EXPECT=1` rewrites a file
//! that reads well but is laid out otherwise.

use std::fs;
use std::path::Path;

use expect_test::expect_file;
use fx_ir::Graph;

#[test]
fn files_print_as_they_are_written() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/graphs");
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let graph: Graph = fs::read_to_string(&path)?.parse().map_err(|error| format!("{}:{error}", path.display()))?;
        assert_eq!((graph.lint(), graph.lint_origins()), (Ok(()), Ok(())), "{}", path.display());
        expect_file![&path].assert_eq(&format!("{graph}\n"));
    }
    Ok(())
}
