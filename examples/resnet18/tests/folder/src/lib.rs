use fx_runtime::{Module, Result, Tensor, graph_module::GraphModule};
#[derive(Debug, Module)]
pub struct ResNetGraph {}
impl ResNetGraph {
    pub fn load(path: impl AsRef<std::path::Path>) -> Result<ResNetGraph> {
        Self::new(&GraphModule::load(path)?)
    }
    pub fn new(_: &GraphModule) -> Result<ResNetGraph> {
        Ok(ResNetGraph {})
    }
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        Ok(xs.shallow_clone())
    }
}
