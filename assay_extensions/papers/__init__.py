"""The tables of papers about evaluation campaigns: overviews of labs, and comparisons of test collections."""
