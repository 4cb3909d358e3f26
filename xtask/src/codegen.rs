//! stub
use crate::failure::Result; use crate::workspace::Workspace; use crate::libtorch::Libtorch;
#[derive(clap::Args)] pub(crate) struct Options {}
pub(crate) fn run(_:&Workspace,_:&Options)->Result<()> {Ok(())}
pub(crate) fn check(_:&Workspace,_:&Libtorch)->Result<()> {Ok(())}
