//! The steps of a workflow, one file each, over one world.

mod advise;
mod cmd;
mod copy;
mod create;
mod delete;
mod documents;
mod each;
mod error;
mod exec;
mod export;
mod init;
mod join;
mod member;
mod reset;
mod restart;
mod scale;
mod wait;
mod world;

pub use advise::advise;
pub use cmd::cmd;
pub use copy::{copy_in, copy_out};
pub use create::create;
pub use delete::delete;
pub use documents::{documents, init_documents, kubeadm, upgrade_documents};
pub use error::StepError;
pub use exec::exec;
pub use export::export;
pub use init::init;
pub use join::join;
pub use member::member;
pub use reset::reset;
pub use restart::restart;
pub use scale::scale;
pub use wait::wait;
pub use world::World;
