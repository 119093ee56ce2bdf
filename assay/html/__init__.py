"""Makes the HTML of a collection safe to show.

When a post is imported, `sanitize` cleans it, with `latex` for formulas and `links` for links. When a page shows it,
`links.resolve` writes the links of the collection, and `highlight` marks a formula.
"""
