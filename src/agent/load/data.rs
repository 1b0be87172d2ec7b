//! Data put into the store beforehand, and what the store holds in the end.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::JoinSet;

use super::etcd::Etcd;
use super::numbers::{REGISTERS, register};
use super::pace::Ended;
use super::plan::Access;
use crate::event::{ClientCall, Kept, Op};
use crate::sys::clock::Stamp;

/// The largest value; etcd takes requests of up to 1.5 MiB.
const VALUE: u64 = 1 << 20;
/// Values on their way at once.
const AT_ONCE: usize = 4;
/// Tries of one value: a member that takes much has its pauses.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);

/// Puts so many bytes below `prefix`, in values of at most 1 MiB.
pub(in super::super) async fn preload(access: &Access, prefix: &str, bytes: u64) -> Result<(), String> {
    let (client, _) = Etcd::new(access, prefix).client().await?;
    let mut open = JoinSet::new();
    let mut left = bytes;
    let mut n = 0;
    while left > 0 || !open.is_empty() {
        if left > 0 && open.len() < AT_ONCE {
            let size = left.min(VALUE);
            let (client, key) = (client.clone(), format!("{prefix}{n}"));
            open.spawn(async move {
                let value = vec![b'.'; usize::try_from(size).unwrap_or(0)];
                let mut tried = client.put(&key, value.clone()).await;
                // the same value under the same key can be put again
                for _ in 1..TRIES {
                    if tried.is_ok() {
                        break;
                    }
                    tokio::time::sleep(PAUSE).await;
                    tried = client.put(&key, value.clone()).await;
                }
                tried.map(drop).map_err(|e| e.to_string())
            });
            (left, n) = (left - size, n + 1);
            continue;
        }
        match open.join_next().await {
            Some(Ok(put)) => put?,
            Some(Err(e)) => return Err(e.to_string()),
            None => {}
        }
    }
    Ok(())
}

/// Reads all that writers have written.
pub(in super::super) async fn kept(access: &Access, prefix: &str, node: &str) -> Result<Kept, String> {
    let etcd = Etcd::new(access, prefix);
    let began = Stamp::now();
    let (client, _) = etcd.client().await?;
    let (names, _) = client.names(&format!("{prefix}own/")).await.map_err(|e| e.to_string())?;
    let own = ranges(names.iter().filter_map(|name| name.strip_prefix(prefix)));
    let mut registers = Vec::new();
    for n in 0..REGISTERS {
        let (key, began) = (register(n), Stamp::now());
        let Ended { end, value, revision } = etcd.get(&key).await;
        let (client, node, ended) = ("judge".to_owned(), node.to_owned(), Stamp::now());
        registers.push(ClientCall { client, node, op: Op::Read, key, value, began, ended, end, revision });
    }
    Ok(Kept { began, own, registers })
}

/// The numbers at the end of names, by what the names begin with.
fn ranges<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<String, Vec<(u64, u64)>> {
    let mut numbers: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for name in names {
        if let Some((before, n)) = name.rsplit_once('/').and_then(|(before, n)| Some((before, n.parse().ok()?))) {
            numbers.entry(format!("{before}/")).or_default().push(n);
        }
    }
    let joined = numbers.into_iter().map(|(before, mut numbers)| {
        numbers.sort_unstable();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for n in numbers {
            match ranges.last_mut() {
                Some(last) if last.1 + 1 == n => last.1 = n,
                Some(_) | None => ranges.push((n, n)),
            }
        }
        (before, ranges)
    });
    joined.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_one_range() {
        let names = ["own/cp-1/1", "own/cp-1/10", "own/cp-1/2", "own/cp-1/x", "own/cp-2/7", "own/cp-1/9", "odd"];
        let wanted = [("own/cp-1/".to_owned(), vec![(1, 2), (9, 10)]), ("own/cp-2/".to_owned(), vec![(7, 7)])];
        assert_eq!(ranges(names.into_iter()), BTreeMap::from(wanted));
    }
}
