//! What the structs and enums of a frozen type are called.

use std::collections::HashSet;

use fx_ir::RegionId;

use super::plan::{Decided, Plan, Shape};

impl Plan {
    /// The names of all its structs and enums.
    pub(super) fn type_names(&self) -> HashSet<&str> {
        let structs = self.scopes.values().map(|scope| scope.name.as_str());
        let enums = self.decided.values().filter_map(|decided| match &decided.shape {
            Shape::Choice(name, _) => Some(name.as_str()),
            _ => None,
        });
        structs.chain(enums).collect()
    }

    /// Names each struct and enum by the field that holds it, behind the name of the frozen type.
    pub(super) fn name_types(&mut self, body: RegionId, frozen: &str) {
        let mut taken: HashSet<String> = [frozen.to_owned(), format!("{frozen}Kernels")].into();
        let mut fresh = |label: &str, ending: &str| {
            let numbered = (2..).map(|number| format!("{frozen}{label}{number}"));
            let wanted = [format!("{frozen}{label}"), format!("{frozen}{label}{ending}")].into_iter().chain(numbered);
            wanted.into_iter().find(|name| taken.insert(name.clone())).unwrap_or_default()
        };
        let regions: Vec<RegionId> = self.scopes.keys().copied().collect();
        for region in regions {
            let has_struct = self.only_field(region).is_none();
            let Some(scope) = self.scopes.get_mut(&region) else { continue };
            if region == body {
                frozen.clone_into(&mut scope.name);
            } else if has_struct {
                scope.name = fresh(&scope.label, "Part");
            }
            for id in &scope.fields {
                if let Some(Decided { shape: Shape::Choice(name, _), field, .. }) = self.decided.get_mut(id) {
                    *name = fresh(&fx_ir::camel(field), "Choice");
                }
            }
        }
    }
}
