//! Which functions give chains closures that capture variables: they are marked, so that those become layers.

use std::collections::{BTreeMap, BTreeSet};

use fx_front::closure_conversion::{captures_in_chain, may_construct, returns_chain};
use fx_front::index::{Function, Index};

use super::declared::TypeName;
use super::models::{Place, named, place};

/// The constructors of these modules, and the functions and methods that return chains, which are to be marked, each with a
/// name that says what it makes.
pub(super) fn constructors(index: &Index, modules: &BTreeSet<TypeName>) -> BTreeMap<Place, String> {
    let unmarked = |function: &&Function| !function.is_derived && function.traceable.is_none();
    let capturing = |function: &&Function| captures_in_chain(&function.sig, &function.block);
    let found = index.fns.iter().filter(unmarked).filter(capturing).filter_map(|function| {
        let name = match &function.owner {
            None if returns_chain(&function.sig) => function.sig.ident.to_string(),
            Some(owner) if function.of_trait.is_none() && may_construct(&function.sig) => {
                let is_method = function.sig.receiver().is_some();
                named(index, &function.module, owner).filter(|owner| is_method || modules.contains(owner))?.1
            }
            _ => return None,
        };
        Some((place(function), name))
    });
    found.collect()
}
