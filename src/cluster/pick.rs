//! Which nodes a word of a selector means.

use crate::node::Role;
use crate::spec::Pick;

/// Does a word mean the node of this name and role? `first`: it is the first control plane. `None` where only etcd can tell.
pub fn means(pick: &Pick, name: &str, role: Role, first: bool) -> Option<bool> {
    let nth = |of: Role, n: u8| role == of && name.ends_with(&format!("-{}-{n}", of.as_str()));
    Some(match pick {
        Pick::All => true,
        Pick::First => first,
        Pick::ControlPlanes => role == Role::ControlPlane,
        Pick::Secondaries => role.has_member() && !first,
        Pick::Workers => role == Role::Worker,
        Pick::ControlPlane(n) => nth(Role::ControlPlane, *n),
        Pick::Worker(n) => nth(Role::Worker, *n),
        Pick::Etcd(n) => nth(Role::Etcd, *n),
        Pick::Name(wanted) => name == wanted,
        Pick::Leader | Pick::Followers | Pick::Learner => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_within_a_role_and_only_whole_ones_match() {
        let (control_plane, worker) = (Role::ControlPlane, Role::Worker);
        for (pick, name, role, first, meant) in [
            (Pick::ControlPlane(1), "a-control-plane-1", control_plane, true, Some(true)),
            (Pick::ControlPlane(1), "a-control-plane-11", control_plane, false, Some(false)),
            (Pick::Worker(1), "a-control-plane-1", control_plane, true, Some(false)),
            (Pick::Worker(2), "a-worker-2", worker, false, Some(true)),
            (Pick::Secondaries, "a-control-plane-1", control_plane, true, Some(false)),
            (Pick::Secondaries, "a-control-plane-2", control_plane, false, Some(true)),
            (Pick::Etcd(2), "a-etcd-2", Role::Etcd, false, Some(true)),
            (Pick::ControlPlanes, "a-etcd-2", Role::Etcd, false, Some(false)),
            (Pick::Secondaries, "a-etcd-2", Role::Etcd, false, Some(true)),
            (Pick::Leader, "a-control-plane-1", control_plane, true, None),
        ] {
            assert_eq!(means(&pick, name, role, first), meant, "{pick} {name}");
        }
    }
}
