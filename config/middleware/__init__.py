"""What the project does with each request before and after its view."""
