//! Keys and values, through one member.

use etcd_client::GetOptions;

use super::client::Client;
use super::error::EtcdError;

/// Keys in one answer: its size stays far below what a client takes (4 MiB).
const PAGE: i64 = 4_000;

/// What a linearizable read found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The value; `None` where the key is not there.
    pub value: Option<Vec<u8>>,
    /// The store's revision when it was read.
    pub revision: u64,
}

impl Client {
    /// Puts a value; returns the store's revision with it.
    ///
    /// # Errors
    /// As they come; [`EtcdError::is_surely_not_done`] says whether it may have been put all the same.
    pub async fn put(&self, key: &str, value: impl Into<Vec<u8>>) -> Result<u64, EtcdError> {
        let mut inner = self.inner.clone();
        let answer = self.limited("put a key", inner.put(key, value, None)).await?;
        Ok(answer.header().map_or(0, |header| revision(header.revision())))
    }

    /// Reads a key linearizably.
    ///
    /// # Errors
    /// As they come.
    pub async fn get(&self, key: &str) -> Result<Found, EtcdError> {
        let mut inner = self.inner.clone();
        let answer = self.limited("read a key", inner.get(key, None)).await?;
        let value = answer.kvs().first().map(|kv| kv.value().to_vec());
        Ok(Found { value, revision: answer.header().map_or(0, |header| revision(header.revision())) })
    }

    /// The names of all keys that begin so, as they are at one revision, in order. The first answer is linearizable.
    ///
    /// # Errors
    /// As they come.
    pub async fn names(&self, prefix: &str) -> Result<(Vec<String>, u64), EtcdError> {
        let (mut names, mut at) = (Vec::new(), 0);
        let end = after(prefix);
        let mut from = prefix.as_bytes().to_vec();
        loop {
            let options = GetOptions::new().with_range(end.clone()).with_keys_only().with_limit(PAGE).with_revision(at);
            let mut inner = self.inner.clone();
            let answer = self.limited("list keys", inner.get(from, Some(options))).await?;
            if at == 0 {
                at = answer.header().map_or(0, etcd_client::ResponseHeader::revision);
            }
            names.extend(answer.kvs().iter().map(|kv| String::from_utf8_lossy(kv.key()).into_owned()));
            match answer.kvs().last() {
                // the next key there can be
                Some(last) if answer.more() => from = [last.key(), &[0]].concat(),
                Some(_) | None => return Ok((names, revision(at))),
            }
        }
    }
}

/// The first key behind all that begin so; our prefixes end in a character.
fn after(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last = last.saturating_add(1);
    }
    end
}

fn revision(revision: i64) -> u64 {
    u64::try_from(revision).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_the_next_one() {
        assert_eq!(after("joinder/x/own/"), b"joinder/x/own0");
    }
}
