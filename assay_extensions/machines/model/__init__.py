"""Ask a model, or the classifier that Assay trains, about one unit."""
