"""The demo campaign: content of our own, and the steps that make two tracks of it. `manage.py demo` runs them."""
