//! kinder's actions on a cluster that is there: kubeadm's commands, and what belongs around them. One file each, over the same
//! steps that workflows have.

mod act;
mod balance;
mod certs;
mod config;
mod error;
mod external_ca;
mod ground;
mod info;
mod init;
mod join;
mod reset;
mod secrets;
mod settle;
mod smoke;
mod upgrade;

pub use act::{Action, act};
pub use error::ActionError;
pub use ground::Options;
