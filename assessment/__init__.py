"""Assessment of pooled documents, on four floors. A package imports those of its floor and below, never in a circle.

1. Judging: `batches` are rounds of judging with their states, progress and locks; they know nothing of planning.
   `judgments` stores and compares what assessors choose. `judging` is their desk: tasks, the queue, the judging page,
   keys and guidelines.
2. Planning: `planning` assigns topics to assessors; `rounds` creates dual, training and adjudication batches.
3. Quality: `checks` mixes hidden checks into the tasks, and follows the work of batches to plan them. `agreement`
   compares assessors with each other and with machines, and holds the discussions of training rounds. `board` shows how
   the judging goes on.
4. Exchange: `imports` brings in judgments that were made elsewhere.
"""
