"""Formulas: their Symbol Layout Tree strings (`slt`), and their clusters by appearance (`visual_ids`)."""
