"""Programs that judge: `assay judge`, and the pages and addresses for machines of a track."""
