"""The command `assay`: `main` finds the subcommand, and each subcommand is a module of `commands`."""
