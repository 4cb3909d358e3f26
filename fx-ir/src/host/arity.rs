//! How many arguments each host operation takes.
// tidy: table

use std::ops::RangeInclusive;

use super::HostOp;

impl HostOp {
    /// How many arguments it takes: at least and at most so many.
    #[allow(clippy::too_many_lines, reason = "one row an operation")]
    pub fn arity(&self) -> RangeInclusive<usize> {
        match self {
            HostOp::Exchange(name) if name == "take" => 1..=1,
            HostOp::Unit
            | HostOp::EmptyVec(_)
            | HostOp::NoneOf(_)
            | HostOp::PartLayer(_)
            | HostOp::PartClosure(_)
            | HostOp::Frame => 0..=0,
            HostOp::Exchange(_)
            | HostOp::Binary(_)
            | HostOp::Range(_)
            | HostOp::Repeat
            | HostOp::Filled(_)
            | HostOp::Item
            | HostOp::ItemRef
            | HostOp::MapList
            | HostOp::MapOption
            | HostOp::MapLoan
            | HostOp::Index
            | HostOp::LstmState
            | HostOp::Known(_)
            | HostOp::CellSet
            | HostOp::Assign
            | HostOp::AssignOp(_)
            | HostOp::Exactly
            | HostOp::LayerFromEnd(_)
            | HostOp::MatchChain
            | HostOp::PartEither
            | HostOp::ConvertOr(_)
            | HostOp::HandleOr => 2..=2,
            HostOp::ResizeWith | HostOp::LayersBetween(_) | HostOp::MatchedLayer(_) => 3..=3,
            HostOp::Layer(_) => 2..=3,
            // An open end may be left out.
            HostOp::Slice(_) => 1..=3,
            HostOp::IndexRange(_) => 0..=2,
            HostOp::Return => 0..=1,
            HostOp::Struct((_, fields)) | HostOp::StructDefault((_, fields)) => fields.len()..=fields.len(),
            HostOp::Tuple
            | HostOp::Array
            | HostOp::Vec
            | HostOp::Construct(_)
            | HostOp::Function(_)
            | HostOp::Call(_)
            | HostOp::Runtime(_)
            | HostOp::Nn(_)
            | HostOp::Panic(_)
            | HostOp::Format(_) => 0..=usize::MAX,
            HostOp::Method(_)
            | HostOp::Mutate(_)
            | HostOp::CallMethod(_)
            | HostOp::CallPointer
            | HostOp::CallPart(_)
            | HostOp::RuntimeMethod(_) => 1..=usize::MAX,
            HostOp::Use
            | HostOp::Literal(_)
            | HostOp::Ascribe(_)
            | HostOp::Handle
            | HostOp::Clone
            | HostOp::ToVec
            | HostOp::Ref
            | HostOp::RefMut
            | HostOp::Copied
            | HostOp::AsFunction(_)
            | HostOp::BorrowTensor
            | HostOp::BorrowOption
            | HostOp::EndMut(_)
            | HostOp::Some
            | HostOp::Field(_)
            | HostOp::Deref
            | HostOp::UnwrapMut(_)
            | HostOp::UnwrapBorrow
            | HostOp::Interior
            | HostOp::MutSlice
            | HostOp::Unwrap(_)
            | HostOp::UnwrapRef(_)
            | HostOp::UnwrapLoan(_)
            | HostOp::Neg
            | HostOp::Not
            | HostOp::Cast(_)
            | HostOp::From(_)
            | HostOp::Convert(_)
            | HostOp::Number(_)
            | HostOp::Scalar
            | HostOp::CopiedElements
            | HostOp::HandleElements
            | HostOp::Sum(_)
            | HostOp::Product(_)
            | HostOp::Extremum(_)
            | HostOp::Collect(_)
            | HostOp::Count(_)
            | HostOp::CopyList
            | HostOp::TensorOf
            | HostOp::TryFrom(_)
            | HostOp::GruState
            | HostOp::Pointer(_)
            | HostOp::FreezePart(_)
            | HostOp::Cell(_)
            | HostOp::ForeignCell(_)
            | HostOp::Lock
            | HostOp::CellValue
            | HostOp::Handles
            | HostOp::HandlesOfList
            | HostOp::Layers(_)
            | HostOp::PartRepeat
            | HostOp::PartOptional
            | HostOp::Output => 1..=1,
        }
    }
}
