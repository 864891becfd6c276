//! A panic in what is under test is a failure like any other: caught, with the place it came from, and not printed.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `work`; a panic becomes an error that says where and why.
///
/// # Errors
/// What `work` says, or the panic.
pub fn quietly<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if IS_QUIET.get() {
                LAST.replace(panic.to_string().replace('\n', " "));
            } else {
                before(panic);
            }
        }));
    });
    let was_quiet = IS_QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    IS_QUIET.set(was_quiet);
    result.unwrap_or_else(|_| Err(LAST.take()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_sentence_with_its_place() {
        let result: Result<(), String> = quietly(|| panic!("no such {}", "thing"));
        let sentence = result.unwrap_err();
        assert!(sentence.contains("no such thing") && sentence.contains("panics.rs"), "{sentence}");
        assert_eq!(quietly(|| Ok(7)), Ok(7));
    }
}
