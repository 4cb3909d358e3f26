//! Which order a tensor's axes have in memory.

use crate::ffi::ops;

/// The `channels_last` format for a rank; none where there is none.
pub(crate) fn channels_last_of(rank: usize) -> Option<ops::MemoryFormat> {
    match rank {
        4 => Some(ops::MemoryFormat::ChannelsLast),
        5 => Some(ops::MemoryFormat::ChannelsLast3d),
        _ => None,
    }
}
