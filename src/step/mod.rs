//! The steps of a workflow, one file each, over one world.

mod create;
mod delete;
mod error;
mod init;
mod join;
mod select;
mod world;

pub use create::create;
pub use delete::delete;
pub use error::StepError;
pub use init::init;
pub use join::join;
pub use world::World;
