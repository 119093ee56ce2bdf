"""Pools: which units of the runs are judged, in which order, and what judging costs.

`strategies.build_pool` is the entry point. Each strategy has its module: `depth`, `distinct_formulas`, `known_items`,
`near_duplicates`. `order` and `move_to_front` give the order of judging; `next_pairs` gives the pairs of a round;
`preview` gives size and hours at every depth.
"""
