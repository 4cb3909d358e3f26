//! Nothing: the cases are what is tested.
