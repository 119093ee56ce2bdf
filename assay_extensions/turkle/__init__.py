"""Projects of Turkle: the command that makes a lab of one, and the pages on which organizers import them as tracks."""
