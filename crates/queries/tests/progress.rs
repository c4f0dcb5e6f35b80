//! Progress of a compile as another thread sees it.

use oriole_queries::Progress;
use std::sync::Arc;

#[test]
fn what_is_done_and_what_is_at_work() {
    let progress = Progress::default();
    assert_eq!((progress.counts(), progress.current()), ((0, 0), None));
    progress.begin(3);
    let [first, second] = ["first", "second"].map(Arc::from);
    progress.during(&first, || {
        progress.during(&second, || assert_eq!(progress.current(), Some(first.clone())));
        assert_eq!((progress.counts(), progress.current()), ((1, 3), Some(first.clone())));
    });
    assert_eq!((progress.counts(), progress.current()), ((2, 3), None));
}
