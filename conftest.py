"""All tests, also those of extensions, have the same fixtures."""

import os

pytest_plugins = ["tests.fixtures"]
# Its tests need settings of their own: test_signin.py runs them
collect_ignore = [] if os.environ.get("SECOND_FACTOR") else ["tests/accounts/signin/with_signin.py"]
