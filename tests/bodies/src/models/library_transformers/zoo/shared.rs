//! Functions and types that the models of other modules use.

use fx_runtime::Tensor;

#[derive(Debug)]
pub enum Fault {
    Value(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Fault::Value(message) = self;
        f.write_str(message)
    }
}

impl std::error::Error for Fault {}

/// The length of whichever input there is.
pub fn checked_size(ids: Option<&Tensor>, embeds: Option<&Tensor>) -> Result<i64, Fault> {
    Ok(match (ids, embeds) {
        (Some(_), Some(_)) => {
            return Err(Fault::Value("both ids and embeddings".into()));
        }
        (Some(ids), None) => ids.size()[1],
        (None, Some(embeds)) => embeds.size()[1],
        (None, None) => {
            return Err(Fault::Value("neither ids nor embeddings".into()));
        }
    })
}

/// A function that only the live model knows, in a field that only this module sees.
#[derive(Clone, Debug)]
pub struct Function(Box<fn(&Tensor) -> Tensor>);

impl Function {
    pub fn new(function: fn(&Tensor) -> Tensor) -> Function {
        Function(Box::new(function))
    }

    pub fn get(&self) -> &fn(&Tensor) -> Tensor {
        &self.0
    }
}
