//! Whether the kernel can be asked here.

use airtcp_drill::Kernel;
use airtcp_test_support::skip;

/// Says why not, if so, where `make test` looks for it.
pub fn can_run() -> bool {
    let Err(reason) = Kernel::check_available() else { return true };
    skip(&reason.to_string());
    false
}
