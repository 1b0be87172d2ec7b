//! What a run over the fake engine comes to, by the rows of docs/exit-codes.md that it can end in. The others are in
//! `tests/cli.rs` (0, 2, 3, 4, 130, 143), `tests/verbs.rs` (1) and `tests/real_cluster.rs` (130, 143, a remote code).

use joinder::cli::Exit;
use joinder::runtime::Fault;
use joinder::runtime::fake::{Way, When};
use joinder::sys::stop::Stop;

use crate::support::{Rig, Script, plan, workflow};

/// Every task well, and one more way out of it.
enum Row {
    Well,
    KubeadmFails,
    ExpectationFails,
    NotSeen,
    NotSeenAndLeft,
    Left,
}

async fn exit(row: Row) -> u8 {
    let rig = Rig::new();
    let tasks = |tasks: &str| plan(&format!("{{version: 2, cluster: {{name: one, workers: 1}}, tasks: [{tasks}]}}"));
    let refuse = || {
        let target = "one-control-plane-1".to_owned();
        rig.engine.disturb(When::Next { op: "remove container", target, times: usize::MAX }, Way::Refuse(Fault::Other));
    };
    // a worker is no learner, so nothing of a promotion can be seen
    let not_seen = "{name: init, init: {}}, {name: join, join: {nodes: workers}, expect: {promotion: {max: 30s}}}";
    let plan = match row {
        Row::Well => workflow("one", "parallel"),
        Row::KubeadmFails => {
            rig.nodes.script("one-control-plane-1", Script::Fails("error execution phase etcd: no"));
            workflow("one", "serial")
        }
        Row::ExpectationFails => tasks("{name: init, init: {}, expect: {members: {voters: 9, within: 1s}}}"),
        Row::NotSeen => tasks(not_seen),
        Row::NotSeenAndLeft => {
            refuse();
            tasks(not_seen)
        }
        Row::Left => {
            refuse();
            tasks("{name: create, create: {}}")
        }
    };
    let ran = rig.run(&plan, "r1", &Stop::new()).await;
    Exit::of(&ran.result, None).code()
}

#[tokio::test(start_paused = true)]
async fn each_way_to_end_has_its_code() {
    for (row, code) in [
        (Row::Well, 0),
        (Row::KubeadmFails, 100),
        (Row::ExpectationFails, 100),
        (Row::NotSeen, 102),
        (Row::NotSeenAndLeft, 102),
        (Row::Left, 101),
    ] {
        assert_eq!(exit(row).await, code);
    }
}
