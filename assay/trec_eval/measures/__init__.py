"""The measures of trec_eval: their catalog and parameters, and those that Assay's notation does not have."""
