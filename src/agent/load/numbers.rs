//! How writers number what they write: each write is told apart from every other one, also by whoever only reads it.
//!
//! A writer's number says under which key it goes: most go under a key of their own, some into registers that all writers share.
//! Numbers are given in the order in which calls begin, and never twice in a run.

/// Registers that all writers of etcd share.
pub const REGISTERS: u64 = 4;
/// One in so many writes goes into a register.
const SHARED: u64 = 5;
/// Calls of one client that may be under way at once.
pub const IN_FLIGHT: u64 = 64;
/// Writers that can be told apart in a register; a cluster has far fewer nodes.
const WRITERS: u64 = 1_000;

/// Where the numbered write of a writer goes, and what it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The key, without the run's prefix.
    pub key: String,
    /// The value.
    pub value: u64,
}

/// The `n`th write of the writer on `node`, whose number there is `index`.
pub fn write(node: &str, index: u64, n: u64) -> Write {
    if n.is_multiple_of(SHARED) {
        return Write { key: register(n / SHARED), value: n * WRITERS + index % WRITERS };
    }
    Write { key: format!("{}{n}", own(node)), value: n }
}

/// The name of a register, by a number of any size.
pub fn register(n: u64) -> String {
    format!("register/{}", n % REGISTERS)
}

/// What the names of a writer's own keys begin with.
pub fn own(node: &str) -> String {
    format!("own/{node}/")
}

/// Is it a register's key?
pub fn is_register(key: &str) -> bool {
    key.starts_with("register/")
}

/// The writer and the number that a register's value came from.
pub fn origin(value: u64) -> (u64, u64) {
    (value % WRITERS, value / WRITERS)
}

/// A value as it is stored: its number, and as much behind it as makes it `size` bytes.
pub fn stored(value: u64, size: usize) -> String {
    let mut text = format!("{value} ");
    text.extend(std::iter::repeat_n('.', size.saturating_sub(text.len())));
    text
}

/// The number in what is stored; `None` where it is none of ours.
pub fn read(stored: &[u8]) -> Option<u64> {
    let end = stored.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(stored.len());
    std::str::from_utf8(&stored[..end]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_shared_and_their_values_are_not() {
        let keys: Vec<String> = (0..25).map(|n| write("cp-1", 1, n).key).filter(|key| is_register(key)).collect();
        assert_eq!(keys, ["register/0", "register/1", "register/2", "register/3", "register/0"]);
        assert_eq!(write("cp-2", 2, 10), Write { key: "register/2".into(), value: 10_002 });
        assert_eq!(origin(10_002), (2, 10));
        assert_eq!(write("cp-2", 2, 11), Write { key: "own/cp-2/11".into(), value: 11 });
    }

    #[test]
    fn what_is_stored_is_as_long_as_wanted_and_can_be_read() {
        assert_eq!(stored(7, 5), "7 ...");
        assert_eq!(stored(123_456, 2), "123456 ");
        for (text, value) in [("7 ...", Some(7)), ("42", Some(42)), ("", None), ("x7", None), ("99999999999999999999", None)] {
            assert_eq!(read(text.as_bytes()), value, "{text}");
        }
    }
}
