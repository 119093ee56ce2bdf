"""Judge files and templates of prompts."""
