//! What a build script tells Cargo, in the form that the oldest Rust of the package allows.

/// The first minor version of Rust whose Cargo takes `cargo::` in place of `cargo:`.
const DOUBLE_COLON: u32 = 77;
/// The first that takes `cargo::error`.
const ERROR: u32 = 84;

/// Prints the directives, `cargo::key=value` each. Of a package that names an older Rust Cargo refuses that form, and has
/// them in the one that it takes. Returns whether the build has to end here: a fault that Cargo would not know as one is
/// among them.
#[allow(clippy::print_stdout, reason = "it is how a build script speaks to Cargo")]
pub(super) fn print(directives: &[String], oldest: Option<u32>) -> bool {
    let mut ends = false;
    for directive in directives {
        let (line, is_fault) = spelled(directive, oldest);
        println!("{line}");
        ends |= is_fault;
    }
    ends
}

/// The directive as Cargo takes it, and whether it is a fault that Cargo does not know as one.
fn spelled(directive: &str, oldest: Option<u32>) -> (String, bool) {
    let knows = |since: u32| oldest.is_none_or(|oldest| oldest >= since);
    let is_unknown_fault = directive.starts_with("cargo::error=") && !knows(ERROR);
    let line =
        if is_unknown_fault { directive.replacen("cargo::error=", "cargo::warning=", 1) } else { directive.into() };
    let line = if knows(DOUBLE_COLON) { line } else { line.replacen("cargo::", "cargo:", 1) };
    (line, is_unknown_fault)
}

/// The minor version of a `rust-version`: 70 of `1.70` and of `1.70.0`.
pub(super) fn minor_version(version: &str) -> Option<u32> {
    version.trim().strip_prefix("1.")?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_package_gets_the_old_form() {
        let of = |directive: &str, version: &str| spelled(directive, minor_version(version));
        assert_eq!(of("cargo::rustc-cfg=a", "1.70.0"), ("cargo:rustc-cfg=a".to_owned(), false));
        assert_eq!(of("cargo::rustc-cfg=a", "1.77"), ("cargo::rustc-cfg=a".to_owned(), false));
        assert_eq!(of("cargo::error=no", "1.70"), ("cargo:warning=no".to_owned(), true));
        assert_eq!(of("cargo::error=no", "1.80.1"), ("cargo::warning=no".to_owned(), true));
        assert_eq!(of("cargo::error=no", ""), ("cargo::error=no".to_owned(), false));
    }
}
