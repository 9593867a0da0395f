//! Finds the dependencies by which items would wait for each other for ever. An item waits for what it depends on, and
//! a whole waits for its parts.

#[derive(Clone, Copy)]
struct Wait {
    on: usize,
    /// The waiting of a whole for its part stays, and so does what is here already; any other dependency can go.
    stays: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mark {
    New,
    Open,
    Done,
}

/// Returns dependencies of the new items, which come first, from and to, without which nothing waits for itself. Without
/// recursion: a chain may be as long as the file. The parents must be free of circles, and so must be what is here.
pub(super) fn waiting_for_ever(
    depends_on: &[Vec<usize>],
    parents: &[Option<usize>],
    new: usize,
) -> Vec<(usize, usize)> {
    let mut waits: Vec<Vec<Wait>> = vec![Vec::new(); depends_on.len()];
    for (part, parent) in parents.iter().enumerate() {
        if let Some(list) = parent.and_then(|parent| waits.get_mut(parent)) {
            list.push(Wait { on: part, stays: true });
        }
    }
    for (from, (list, on)) in waits.iter_mut().zip(depends_on).enumerate() {
        list.extend(on.iter().map(|on| Wait { on: *on, stays: from >= new }));
    }
    let mut search =
        Search { marks: vec![Mark::New; waits.len()], waits, stack: Vec::new(), gone: Vec::new() };
    for start in 0..depends_on.len() {
        search.from(start);
    }
    search.gone
}

struct Search {
    waits: Vec<Vec<Wait>>,
    marks: Vec<Mark>,
    /// Items on the way, each with the place of the next thing that it waits for.
    stack: Vec<(usize, usize)>,
    gone: Vec<(usize, usize)>,
}

impl Search {
    fn mark(&mut self, item: usize, mark: Mark) {
        if let Some(slot) = self.marks.get_mut(item) {
            *slot = mark;
        }
    }

    fn open(&mut self, item: usize) {
        self.mark(item, Mark::Open);
        self.stack.push((item, 0));
    }

    fn from(&mut self, start: usize) {
        if self.marks.get(start) == Some(&Mark::New) {
            self.open(start);
        }
        while let Some((item, next)) = self.stack.last_mut() {
            let (item, place) = (*item, *next);
            *next += 1;
            let Some(wait) = self.waits.get(item).and_then(|list| list.get(place)).copied() else {
                self.mark(item, Mark::Done);
                self.stack.pop();
                continue;
            };
            match self.marks.get(wait.on) {
                Some(Mark::New) => self.open(wait.on),
                Some(Mark::Open) if wait.stays => self.back_to_dependency(wait.on),
                Some(Mark::Open) => self.gone.push((item, wait.on)),
                _ => {}
            }
        }
    }

    /// Something that stays closes the circle: the last dependency on the way that can go does, and the search goes on
    /// from there, because what came after it was reached by nothing else.
    fn back_to_dependency(&mut self, first: usize) {
        let from_first = self.stack.iter().rposition(|(item, _)| *item == first).unwrap_or(0);
        let waits = &self.waits;
        let taken = |(item, next): &(usize, usize)| -> Option<Wait> {
            waits.get(*item)?.get(next.checked_sub(1)?).copied()
        };
        // The last one on the stack is that whose wait closed the circle.
        let last = self.stack.len().saturating_sub(1);
        let on_the_way = self.stack.get(from_first..last).unwrap_or_default();
        let found = on_the_way.iter().rposition(|step| taken(step).is_some_and(|wait| !wait.stays));
        let Some(found) = found.map(|place| place + from_first) else { return };
        if let Some(step) = self.stack.get(found).copied()
            && let Some(wait) = taken(&step)
        {
            self.gone.push((step.0, wait.on));
        }
        for (item, _) in self.stack.split_off(found + 1) {
            self.mark(item, Mark::New);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Tells whether something waits for itself, by taking away what waits for nothing until nothing more goes.
    fn is_stuck(depends_on: &[Vec<usize>], parents: &[Option<usize>]) -> bool {
        let mut left: Vec<usize> = (0..depends_on.len()).collect();
        loop {
            let waits = |item: &usize| {
                depends_on[*item].iter().any(|on| left.contains(on))
                    || left.iter().any(|part| parents[*part] == Some(*item))
            };
            let next: Vec<usize> = left.iter().copied().filter(waits).collect();
            if next.len() == left.len() {
                return !left.is_empty();
            }
            left = next;
        }
    }

    proptest! {
        #[test]
        fn nothing_waits_for_ever_and_nothing_goes_without_need(
            edges in prop::collection::vec((0usize..8, 0usize..8), 0..20),
            above in prop::collection::vec(prop::option::of(0usize..8), 8),
            new in 0usize..=8,
        ) {
            // A parent has a smaller number or is here already, so that there is no circle among them. What is here
            // waits for higher numbers only: nothing is stuck before the import.
            let is_parent = |n: usize, p: usize| if n < new { p < n || p >= new } else { (new..n).contains(&p) };
            let parents: Vec<Option<usize>> =
                above.iter().enumerate().map(|(n, p)| p.filter(|p| is_parent(n, *p))).collect();
            let mut depends_on = vec![Vec::new(); 8];
            for (from, to) in edges {
                let fits = if from < new { from != to } else { from < to };
                if fits && !depends_on[from].contains(&to) {
                    depends_on[from].push(to);
                }
            }
            let gone = waiting_for_ever(&depends_on, &parents, new);
            prop_assert_eq!(gone.is_empty(), !is_stuck(&depends_on, &parents));
            for (from, to) in gone {
                prop_assert!(from < new && depends_on[from].contains(&to));
                depends_on[from].retain(|on| *on != to);
            }
            prop_assert!(!is_stuck(&depends_on, &parents));
        }
    }
}
