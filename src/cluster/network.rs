//! A network of the cluster's own: the next /24 that nobody else has.

use crate::runtime::api::Subnet;
use crate::runtime::label::Labels;
use crate::runtime::{Fault, NetworkSpec, Runtime, RuntimeError};

/// Subnets are taken from here: away from the engine's own pools (172.17–31, 192.168), Kubernetes' services (10.96/12) and
/// our pods (10.244/16).
const FIRST_TWO: [u8; 2] = [10, 213];

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
