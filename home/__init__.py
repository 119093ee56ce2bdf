"""The pages of no single app: home, account, the steps of a role, the checklist, documentation, health, errors."""
