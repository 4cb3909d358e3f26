//! Nothing: tch's own models are what is tested.
