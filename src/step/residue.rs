//! Whose a member is, and what a failed join has left.

use crate::event::Member;
use crate::spec::Residue;

/// What the list has of a node.
pub fn left_by(members: &[Member], node: &str, address: &str) -> Residue {
    match own(members, node, address) {
        None => Residue::None,
        Some(member) if !member.learner => Residue::Voter,
        Some(member) if member.started() => Residue::NamedLearner,
        Some(_) => Residue::UnnamedLearner,
    }
}

/// A member belongs to a node by its name, or by its address before it has one.
pub(super) fn own<'a>(members: &'a [Member], node: &str, address: &str) -> Option<&'a Member> {
    let hosts = [address, node].map(|host| format!("//{host}:"));
    let there = |url: &String| hosts.iter().any(|host| url.contains(host));
    members.iter().find(|member| member.name == node || member.peer_urls.iter().any(there))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::MemberId;

    #[test]
    fn a_member_is_known_by_name_or_by_address() {
        let member = |name: &str, address: &str, learner| Member {
            id: MemberId(1),
            name: name.into(),
            peer_urls: vec![format!("https://{address}:2380")],
            learner,
        };
        let first = member("cp-1", "10.0.0.2", false);
        for (second, left) in [
            (None, Residue::None),
            (Some(member("", "10.0.0.3", true)), Residue::UnnamedLearner),
            (Some(member("", "10.0.0.33", true)), Residue::None),
            (Some(member("cp-2", "10.0.0.3", true)), Residue::NamedLearner),
            (Some(member("cp-2", "10.0.0.3", false)), Residue::Voter),
        ] {
            let members: Vec<Member> = std::iter::once(first.clone()).chain(second.clone()).collect();
            assert_eq!(left_by(&members, "cp-2", "10.0.0.3"), left, "{second:?}");
        }
    }
}
