//! A network of the cluster's own: the next /24 that nobody else has.

use std::net::Ipv4Addr;

use crate::runtime::api::Subnet;
use crate::runtime::label::Labels;
use crate::runtime::{Fault, Network, NetworkSpec, Runtime, RuntimeError};

/// Subnets are taken from here: away from the engine's own pools (172.17–31, 192.168), Kubernetes' services (10.96/12) and
/// our pods (10.244/16).
const FIRST_TWO: [u8; 2] = [10, 213];

/// [`FIRST_TWO`] in CIDR form.
pub const RANGE: &str = "10.213.0.0/16";

/// How many subnets of [`RANGE`] do not overlap with any of these networks.
pub fn free_subnets(networks: &[Network]) -> usize {
    let taken: Vec<(u32, u32)> = networks.iter().filter_map(|n| span(n.subnet.as_deref()?)).collect();
    let [a, b] = FIRST_TWO;
    let free = |c: &u8| {
        let first = u32::from(Subnet([a, b, *c]).host(0));
        !taken.iter().any(|(from, to)| *from <= first + 255 && first <= *to)
    };
    (0..=u8::MAX).filter(free).count()
}

/// First and last address of `10.213.0.0/16`; `None` for what is no IPv4 range.
pub fn span(cidr: &str) -> Option<(u32, u32)> {
    let (address, bits) = cidr.trim().split_once('/')?;
    let bits: u32 = bits.parse().ok().filter(|bits| *bits <= 32)?;
    let rest = u32::MAX.checked_shr(bits).unwrap_or(0);
    let first = u32::from(address.parse::<Ipv4Addr>().ok()?) & !rest;
    Some((first, first | rest))
}

/// Makes the network, in `wanted` or the next free subnet.
///
/// # Errors
/// [`Fault::SubnetTaken`] when `wanted` is taken, naming the network that has it, or when all are.
pub(super) async fn create(runtime: &dyn Runtime, name: &str, wanted: Option<Subnet>, labels: Labels) -> Result<Subnet, RuntimeError> {
    if let Some(subnet) = wanted {
        return create_at(runtime, name, subnet, labels).await.map(|()| subnet);
    }
    let taken: Vec<String> = runtime.networks(&[]).await?.into_iter().filter_map(|n| n.subnet).collect();
    let [a, b] = FIRST_TWO;
    let mut last = None;
    for c in 0..=u8::MAX {
        let subnet = Subnet([a, b, c]);
        if taken.contains(&subnet.to_string()) {
            continue;
        }
        match create_at(runtime, name, subnet, labels.clone()).await {
            // Another run took it between our look and our call, or it overlaps with something wider.
            Err(e) if e.is(Fault::SubnetTaken) => last = Some(e),
            done => return done.map(|()| subnet),
        }
    }
    Err(last.unwrap_or_else(|| RuntimeError {
        op: "find a free subnet for network",
        target: name.to_owned(),
        said: format!("all of {a}.{b}.0.0/16 is taken by other networks: remove some (`joinder gc`, `docker network prune`)"),
        fault: Fault::SubnetTaken,
    }))
}

async fn create_at(runtime: &dyn Runtime, name: &str, subnet: Subnet, labels: Labels) -> Result<(), RuntimeError> {
    let spec = NetworkSpec { name: name.to_owned(), subnet, labels };
    match runtime.create_network(&spec).await {
        Err(mut e) if e.is(Fault::SubnetTaken) => {
            let all = runtime.networks(&[]).await.unwrap_or_default();
            let list: Vec<String> = all.into_iter().filter_map(|n| Some(format!("{} {}", n.name, n.subnet?))).collect();
            e.said = format!("{} (wanted {subnet}; in use: {}): choose another `subnet`, or leave it out", e.said, list.join(", "));
            Err(e)
        }
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subnet_is_free_where_no_network_reaches_into_it() {
        let free = |subnets: &[&str]| {
            let network = |s: &&str| Network { name: "x".into(), labels: Labels::new(), subnet: Some((*s).to_owned()) };
            free_subnets(&subnets.iter().map(network).collect::<Vec<_>>())
        };
        for (subnets, want) in [
            (&[][..], 256),
            (&["172.17.0.0/16", "fd00::/64", "nonsense", "1.2.3.4/40"], 256),
            (&["10.213.0.0/24", "10.213.7.128/25"], 254),
            (&["10.213.0.0/17"], 128),
            (&["10.0.0.0/8"], 0),
            (&["0.0.0.0/0"], 0),
        ] {
            assert_eq!(free(subnets), want, "{subnets:?}");
        }
        assert_eq!(span(RANGE).map(|(first, _)| first), Some(u32::from(Subnet([10, 213, 0]).host(0))));
    }
}
