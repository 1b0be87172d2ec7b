//! Is there an order of a register's calls in which each read returns what was written last, and no call comes before one that had
//! ended when it began? The search of Wing and Gong (Testing and Verifying Concurrent Objects, 1993), which goes through all
//! orders, with what Lowe added to it (Testing for linearizability, 2017): places that were come to before are not gone through again.

use std::collections::HashSet;

/// Steps and remembered places of one search; a place takes a bit for each call.
const MOST_STEPS: usize = 2_000_000;
const MOST_PLACES: usize = 100_000;

/// What a call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Did {
    /// Wrote this.
    Write(u64),
    /// Read this, or that there was nothing.
    Read(Option<u64>),
}

/// A call, in time of any unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) did: Did,
    pub(super) began: u64,
    /// `None` where it may be carried out at any later time, or never.
    pub(super) ended: Option<u64>,
}

/// What the register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// Whatever the first read says.
    Anything,
    /// This, or nothing.
    Holds(Option<u64>),
}

/// What a search came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// There is such an order.
    Found,
    /// There is none: the call up to which the longest one came.
    Stuck(usize),
    /// Nobody knows: there are too many to go through.
    TooLarge,
}

/// Does this order of all calls explain them? Where somebody knows one, nothing needs to be searched.
pub(super) fn explains(calls: &[Call], order: &[usize], start: State) -> bool {
    let mut state = start;
    for at in order {
        match apply(calls[*at].did, state) {
            Some(then) => state = then,
            None => return false,
        }
    }
    let mut first_end = u64::MAX;
    order.iter().rev().all(|at| {
        let after = first_end >= calls[*at].began;
        first_end = first_end.min(calls[*at].ended.unwrap_or(u64::MAX));
        after
    })
}

/// A call's beginning or end, at its place in the list of those that are not in the order yet.
#[derive(Clone, Copy)]
struct Edge {
    call: usize,
    end: bool,
}

struct Searcher<'a> {
    calls: &'a [Call],
    /// From 1; 0 is before the first, and the last is behind all.
    edges: Vec<Edge>,
    next: Vec<usize>,
    before: Vec<usize>,
    /// The places of a call's two edges.
    places: Vec<(usize, usize)>,
}

/// Looks for an order.
pub(super) fn search(calls: &[Call], start: State) -> Search {
    Searcher::new(calls).run(start)
}

impl<'a> Searcher<'a> {
    fn new(calls: &'a [Call]) -> Self {
        let mut times: Vec<(u64, bool, usize)> = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            times.push((call.began, false, at));
            times.push((call.ended.unwrap_or(u64::MAX), true, at));
        }
        // at one moment beginnings come first: such calls overlap
        times.sort_unstable();
        let mut places = vec![(0, 0); calls.len()];
        let mut edges = vec![Edge { call: 0, end: false }];
        for (place, (_, end, call)) in times.into_iter().enumerate() {
            edges.push(Edge { call, end });
            if end { places[call].1 = place + 1 } else { places[call].0 = place + 1 }
        }
        let behind = edges.len();
        let next = (1..=behind).chain([behind]).collect();
        let before = [0].into_iter().chain(0..behind).collect();
        Self { calls, edges, next, before, places }
    }

    fn run(mut self, start: State) -> Search {
        let behind = self.edges.len();
        let mut state = start;
        let mut placed = vec![0_u64; self.calls.len().div_ceil(64)];
        let mut stack: Vec<(usize, State)> = Vec::new();
        let mut seen: HashSet<(Vec<u64>, State)> = HashSet::new();
        let (mut longest, mut stuck) = (0, 0);
        let mut at = self.next[0];
        for _ in 0..MOST_STEPS {
            if at == behind {
                return Search::Found;
            }
            let Edge { call, end } = self.edges[at];
            if !end {
                if let Some(then) = apply(self.calls[call].did, state) {
                    placed[call / 64] |= 1 << (call % 64);
                    if seen.insert((placed.clone(), then)) {
                        stack.push((call, state));
                        state = then;
                        self.take_out(call);
                        at = self.next[0];
                        if seen.len() > MOST_PLACES {
                            return Search::TooLarge;
                        }
                        continue;
                    }
                    placed[call / 64] &= !(1 << (call % 64));
                }
                at = self.next[at];
                continue;
            }
            // all that are sure to have been carried out are in the order
            if self.calls[call].ended.is_none() {
                return Search::Found;
            }
            if stack.len() >= longest {
                (longest, stuck) = (stack.len(), call);
            }
            let Some((last, was)) = stack.pop() else { return Search::Stuck(stuck) };
            state = was;
            placed[last / 64] &= !(1 << (last % 64));
            self.put_back(last);
            at = self.next[self.places[last].0];
        }
        Search::TooLarge
    }

    fn take_out(&mut self, call: usize) {
        let (begin, end) = self.places[call];
        for place in [begin, end] {
            let (before, next) = (self.before[place], self.next[place]);
            self.next[before] = next;
            self.before[next] = before;
        }
    }

    /// The opposite, in the opposite order.
    fn put_back(&mut self, call: usize) {
        let (begin, end) = self.places[call];
        for place in [end, begin] {
            let (before, next) = (self.before[place], self.next[place]);
            self.next[before] = place;
            self.before[next] = place;
        }
    }
}

/// What the register holds behind a call that can come now.
fn apply(did: Did, state: State) -> Option<State> {
    match (did, state) {
        (Did::Write(value), _) => Some(State::Holds(Some(value))),
        (Did::Read(value), State::Anything) => Some(State::Holds(value)),
        (Did::Read(value), State::Holds(held)) => (value == held).then_some(state),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(value: u64, began: u64, ended: u64) -> Call {
        Call { did: Did::Write(value), began, ended: Some(ended) }
    }

    fn read(value: u64, began: u64, ended: u64) -> Call {
        Call { did: Did::Read((value > 0).then_some(value)), began, ended: Some(ended) }
    }

    fn from_nothing(calls: &[Call]) -> Search {
        search(calls, State::Holds(None))
    }

    #[test]
    fn calls_that_overlap_may_come_in_any_order_and_others_in_theirs_alone() {
        assert_eq!(from_nothing(&[]), Search::Found);
        assert_eq!(from_nothing(&[write(1, 0, 10), read(0, 5, 6), read(1, 7, 8)]), Search::Found, "in the middle of the write");
        assert_eq!(from_nothing(&[write(1, 0, 10), read(1, 5, 6), read(0, 7, 8)]), Search::Stuck(2), "and back again");
        assert_eq!(from_nothing(&[write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)]), Search::Stuck(2), "it was overwritten");
        assert_eq!(from_nothing(&[write(1, 0, 4), write(2, 2, 3), read(1, 5, 6)]), Search::Found, "the writes overlap");
        let both = [write(1, 0, 9), write(2, 0, 9), read(1, 10, 11), read(2, 12, 13)];
        assert_eq!(from_nothing(&both), Search::Stuck(3), "one of the two was the last");
    }

    #[test]
    fn an_order_that_is_known_is_looked_through_in_its_turn() {
        let calls = [write(1, 0, 9), write(2, 0, 9), read(1, 10, 11)];
        assert!(explains(&calls, &[1, 0, 2], State::Holds(None)));
        assert!(!explains(&calls, &[0, 1, 2], State::Holds(None)), "it reads what was overwritten");
        let apart = [write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)];
        assert!(!explains(&apart, &[1, 0, 2], State::Holds(None)), "the first had ended");
    }

    #[test]
    fn a_write_of_unknown_end_comes_at_any_later_time_or_never() {
        let open = Call { ended: None, ..write(1, 5, 0) };
        assert_eq!(from_nothing(&[open, write(2, 6, 7), read(2, 8, 9), read(1, 50, 51)]), Search::Found);
        assert_eq!(from_nothing(&[open, write(2, 6, 7), read(2, 8, 9)]), Search::Found);
        assert_eq!(from_nothing(&[open, read(1, 1, 2)]), Search::Stuck(1), "but not before it was sent");
    }

    #[test]
    fn what_was_before_may_be_anything_but_only_one_thing() {
        assert_eq!(search(&[read(7, 0, 1), read(7, 2, 3)], State::Anything), Search::Found);
        assert_eq!(search(&[read(7, 0, 1), read(8, 2, 3)], State::Anything), Search::Stuck(1));
    }

    /// Calls of four clients, each with its own register in mind, of which every order is tried by brute force.
    #[test]
    fn it_agrees_with_who_tries_all_orders() {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut found, mut stuck) = (0, 0);
        for _ in 0..2_000 {
            let calls: Vec<Call> = (0..random.u64(1..7))
                .map(|n| {
                    let began = random.u64(0..12);
                    let ended = (random.u8(0..5) > 0).then(|| began + random.u64(1..6));
                    let did = if random.bool() { Did::Write(n + 1) } else { Did::Read(Some(random.u64(0..7)).filter(|v| *v > 0)) };
                    let ended = if matches!(did, Did::Read(_)) { ended.or(Some(began + 1)) } else { ended };
                    Call { did, began, ended }
                })
                .collect();
            let (fast, slow) = (from_nothing(&calls), brute(&calls, &mut Vec::new(), State::Holds(None)));
            assert_eq!(fast == Search::Found, slow, "{calls:?}");
            if slow { found += 1 } else { stuck += 1 }
        }
        assert!(found > 200 && stuck > 200, "{found} {stuck}");
    }

    fn brute(calls: &[Call], placed: &mut Vec<usize>, state: State) -> bool {
        let left = |at: &usize| !placed.contains(at);
        let open: Vec<usize> = (0..calls.len()).filter(left).collect();
        if open.iter().all(|at| calls[*at].ended.is_none()) {
            return true;
        }
        let first = open.iter().filter_map(|at| calls[*at].ended).min().unwrap_or(u64::MAX);
        open.iter().filter(|at| calls[**at].began <= first).any(|at| {
            let Some(then) = apply(calls[*at].did, state) else { return false };
            placed.push(*at);
            let good = brute(calls, placed, then);
            placed.pop();
            good
        })
    }

    #[test]
    fn thousands_of_calls_are_gone_through_and_a_search_that_grows_too_large_ends() {
        let many: Vec<Call> = (0..2_000).flat_map(|n| [write(n + 1, n * 10, n * 10 + 9), read(n + 1, n * 10 + 5, n * 10 + 12)]).collect();
        assert_eq!(from_nothing(&many), Search::Found);
        // all at once, and a read that none of them explains
        let mut knot: Vec<Call> = (0..40).map(|n| write(n + 1, 0, 100)).collect();
        knot.push(read(99, 50, 60));
        assert_eq!(from_nothing(&knot), Search::TooLarge);
    }
}
