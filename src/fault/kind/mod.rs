//! What faults do, one file a kind. Each gives a guard, which can show that it took effect, and undoes it.

mod bandwidth;
mod call;
mod certificate;
mod crash;
mod disk;
mod each;
mod guard;
mod manifest;
mod node;
mod partition;
mod process;
mod rules;
mod strike;

pub(super) use call::{act, side};
pub(super) use guard::{Down, Guard, Refused};
pub(super) use strike::strike;
