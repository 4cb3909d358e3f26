//! Layers as fields: every way to call one, chains of them, and kinds that are chosen while a model is built.

pub mod calls;
pub mod capturing_closures;
pub mod chains_of_helpers;
pub mod chosen_closures;
pub mod chosen_modes;
pub mod closures_in_constructors;
pub mod closures_made_elsewhere;
pub mod closures_of_other_modules;
pub mod counted;
pub mod dispatch;
pub mod kinds;
pub mod known_options;
pub mod late_layers;
pub mod maps;
pub mod modes;
pub mod nested_chains;
pub mod norms;
pub mod sequential;
