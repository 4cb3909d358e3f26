//! Closures, those that read and those that write.

use super::{Type, Writer};

impl Writer {
    pub(super) fn closure(&mut self) -> String {
        let name = self.name();
        let moves = if self.once_in(5) { "move " } else { "" };
        let body = self.captured(|writer| {
            writer.scope.declare(&name, Type::Shared, false);
            if writer.fuel > 0 && writer.once_in(4) {
                let statements = writer.statements(2);
                return format!("{{ {statements} {} }}", writer.tensor());
            }
            writer.tensor()
        });
        format!("{moves}|{name}: &Tensor| {body}")
    }

    /// A closure that counts, or writes to a tensor, in a variable.
    pub(super) fn counter(&mut self) -> Option<String> {
        let (write, captured) = if self.once_in(2) {
            let one = self.mutable(Type::Int)?;
            (format!("{} += by % 5; {}", one.name, one.name), one.name)
        } else {
            let place = self.tensor_place()?;
            let name = self.owner_of(&place)?.name;
            (format!("{place} += by % 5; by * 2"), name)
        };
        let name = self.name();
        let owner = self.variable(|one| one.name == captured)?.at;
        let at = self.scope.declare(&name, Type::Counter, true);
        self.scope.hold(owner, at);
        Some(format!("let mut {name} = |by: i64| {{ {write} }};"))
    }
}
