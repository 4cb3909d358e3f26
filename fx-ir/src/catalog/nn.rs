//! The methods with which constructors of models build: those of `nn::Sequential` and `nn::SequentialT`, and those of
//! `nn::Path` by what they return.

/// A method of `nn::Sequential` or `nn::SequentialT` that adds a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainMethod {
    /// `add(layer)`
    Add,
    /// `add_fn(|xs| ..)`
    AddFn,
    /// `add_fn_t(|xs, train| ..)`
    AddFnT,
    /// `add_fn_at(place, |xs| ..)`, as closure conversion writes `add_fn`.
    AddFnAt,
    /// `add_fn_t_at(place, |xs, train| ..)`, as closure conversion writes `add_fn_t`.
    AddFnTAt,
}

impl ChainMethod {
    /// The method of this name.
    pub fn of_name(name: &str) -> Option<ChainMethod> {
        match name {
            "add" => Some(Self::Add),
            "add_fn" => Some(Self::AddFn),
            "add_fn_t" => Some(Self::AddFnT),
            "add_fn_at" => Some(Self::AddFnAt),
            "add_fn_t_at" => Some(Self::AddFnTAt),
            _ => None,
        }
    }

    /// The method's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::AddFn => "add_fn",
            Self::AddFnT => "add_fn_t",
            Self::AddFnAt => "add_fn_at",
            Self::AddFnTAt => "add_fn_t_at",
        }
    }

    /// The form that takes the place at which the user added a closure; nothing for `add` and for these forms.
    pub fn with_place(self) -> Option<ChainMethod> {
        match self {
            Self::AddFn => Some(Self::AddFnAt),
            Self::AddFnT => Some(Self::AddFnTAt),
            Self::Add | Self::AddFnAt | Self::AddFnTAt => None,
        }
    }
}

/// What a method of `nn::Path` returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMethod {
    /// A path: `sub`, `set_group`.
    Path,
    /// A variable: `var`, `zeros_no_train`, `randn_standard`, ..
    Variable,
}

impl PathMethod {
    /// The method of this name, if it returns a path or a variable.
    pub fn of_name(name: &str) -> Option<PathMethod> {
        const VARIABLES: [&str; 8] = ["var", "zeros", "ones", "randn", "uniform", "kaiming", "normal", "orthogonal"];
        match name {
            "sub" | "set_group" => Some(Self::Path),
            _ => VARIABLES.iter().any(|prefix| name.starts_with(prefix)).then_some(Self::Variable),
        }
    }
}
