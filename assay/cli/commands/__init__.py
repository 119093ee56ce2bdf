"""The subcommands of `assay`, one module each, with `add_arguments`, `run` and `EXAMPLE`."""
