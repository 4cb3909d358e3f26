//! stub
use crate::failure::Result; use crate::workspace::Workspace;
#[derive(clap::Args)] pub(crate) struct Options {}
pub(crate) fn run(_:&Workspace,_:&Options)->Result<()> {Ok(())}
pub(crate) fn check(_:&Workspace)->Result<()> {Ok(())}
