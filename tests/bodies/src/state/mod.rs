//! What lasts from one call to the next, or is written for the caller: kept by the model, lent to it, handed in and out.

pub mod accumulated;
pub mod behind_traits;
pub mod caches;
pub mod handed_in_and_out;
pub mod handed_on;
pub mod interior;
pub mod kept;
pub mod lent;
pub mod lent_slots;
pub mod matched_options;
pub mod optional;
pub mod own_types;
pub mod owned_values;
pub mod references;
pub mod shared_values;
pub mod solvers;
pub mod views;
