"""Which page of the documentation the link *Help* opens on each page of the site."""

from collections.abc import Mapping
from types import MappingProxyType

START = "index.html"

# View name -> path in the built documentation, with an anchor where a section helps. Downloads and
# buttons have none.
HELP: Mapping[str, str] = MappingProxyType(
    {
        "home": START,
        "login": START,
        "account": "roles/assessor.html#the-judging-page",
        "password_change": START,
        "tokens": "reference/api.html#tokens",
        "request_link": START,
        "login_link": START,
        "jobs:jobs": "explanation/jobs.html",
        "jobs:job": "explanation/jobs.html",
        # corpus
        "corpus:collections": "howto/import-a-collection.html",
        "corpus:collection": "howto/import-a-collection.html",
        "corpus:imports": "howto/import-a-collection.html",
        "corpus:start_import": "howto/import-a-collection.html",
        "corpus:import": "howto/import-a-collection.html#what-happens",
        "corpus:collection_imports": "howto/import-a-collection.html#what-happens",
        "corpus:thread": "glossary.html#glossary-collection",
        "corpus:formulas": "explanation/visual-ids.html#for-a-whole-collection",
        "corpus:formula": "explanation/visual-ids.html",
        # tracks
        "tracks:track": "howto/run-a-campaign.html",
        "tracks:deadlines": "howto/run-a-campaign.html#set-the-deadlines",
        "tracks:history": "howto/run-a-campaign.html#who-did-what",
        "tracks:site_history": "howto/run-a-campaign.html#who-did-what",
        "tracks:topics": "howto/run-a-campaign.html#import-the-topics",
        "tracks:topic": "glossary.html#glossary-collection",
        "tracks:import_topics": "reference/formats.html#topics",
        "tracks:protocol": "reference/protocols.html",
        "tracks:guidelines": "howto/run-a-campaign.html#write-the-guidelines",
        "tracks:guidelines_version": "howto/run-a-campaign.html#write-the-guidelines",
        "tracks:guidelines_versions": "howto/run-a-campaign.html#write-the-guidelines",
        "tracks:guidelines_changes": "howto/run-a-campaign.html#write-the-guidelines",
        "tracks:edit_guidelines": "howto/run-a-campaign.html#write-the-guidelines",
        "tracks:agreement": "roles/participant.html#join-a-track",
        "tracks:agreement_version": "roles/participant.html#join-a-track",
        "tracks:edit_agreement": "howto/run-a-campaign.html#create-the-teams",
        # pooling
        "pooling:runs": "roles/participant.html#submit-a-run",
        "pooling:submit": "roles/participant.html#write-a-run",
        "pooling:run": "roles/participant.html#check-a-run",
        "pooling:withdraw": "roles/participant.html#submit-a-run",
        "pooling:pools": "howto/run-a-campaign.html#build-the-pool",
        "pooling:new_pool": "howto/run-a-campaign.html#build-the-pool",
        "pooling:preview": "explanation/pools.html#what-it-will-cost",
        "pooling:pool": "explanation/pools.html",
        "pooling:pool_depths": "explanation/pools.html#which-units-are-pooled",
        "pooling:pool_overlap": "explanation/pools.html#what-each-team-alone-contributed",
        "pooling:pool_topic": "explanation/pools.html#which-units-are-pooled",
        "pooling:pool_entry": "explanation/pools.html#which-instances-of-a-formula-are-shown",
        # assessment
        "assessment:mine": "roles/assessor.html#start-judging",
        "assessment:keys": "roles/assessor.html#keys",
        "assessment:stored": "roles/assessor.html#one-task-at-a-time",
        "assessment:done": "roles/assessor.html#change-your-mind",
        "assessment:guidelines": "roles/assessor.html#the-judging-page",
        "assessment:task": "roles/assessor.html#the-judging-page",
        "assessment:back": "roles/assessor.html#your-work-is-safe",
        "assessment:own_judgments": "roles/assessor.html#change-your-mind",
        "assessment:own_statistics": "roles/assessor.html#your-statistics",
        "assessment:judging": "howto/run-a-campaign.html#create-batches-and-judge",
        "assessment:batch": "howto/run-a-campaign.html#create-batches-and-judge",
        "assessment:export": "howto/run-a-campaign.html#take-judgments-out-and-in",
        "assessment:new_batch": "howto/run-a-campaign.html#create-batches-and-judge",
        "assessment:plan": "howto/run-a-campaign.html#plan-who-judges-what",
        "assessment:imports": "howto/run-a-campaign.html#take-judgments-out-and-in",
        "assessment:import": "howto/run-a-campaign.html#take-judgments-out-and-in",
        "assessment:new_training": "howto/run-a-campaign.html#train-and-judge-some-topics-twice",
        "assessment:checks": "howto/run-a-campaign.html#hidden-checks",
        "assessment:gold": "howto/run-a-campaign.html#hidden-checks",
        "assessment:check_results": "howto/run-a-campaign.html#hidden-checks",
        "assessment:discussion": "howto/run-a-campaign.html#train-and-judge-some-topics-twice",
        "assessment:new_dual": "howto/run-a-campaign.html#train-and-judge-some-topics-twice",
        "assessment:agreement": "howto/run-a-campaign.html#watch-agreement-and-adjudicate",
        "assessment:machines": "howto/judge-with-a-program.html",
        "assessment:machine": "howto/judge-with-a-program.html",
        "assessment:new_machine": "howto/judge-with-a-program.html",
        "assessment:board": "howto/run-a-campaign.html#watch-the-judging",
        "assessment:differences": "howto/run-a-campaign.html#watch-the-judging",
        "assessment:disagreements": "howto/run-a-campaign.html#watch-agreement-and-adjudicate",
        "assessment:new_adjudication": "howto/run-a-campaign.html#watch-agreement-and-adjudicate",
        "assessment:examples": "howto/run-a-campaign.html#write-the-guidelines",
        # scoring
        "scoring:qrels_list": "howto/run-a-campaign.html#freeze-the-qrels",
        "scoring:freeze": "howto/run-a-campaign.html#freeze-the-qrels",
        "scoring:import_qrels": "reference/formats.html#qrels",
        "scoring:qrels": "roles/organizer.html#what-counts",
        "scoring:qrels_export": "howto/share-qrels.html",
        "scoring:leaderboards": "howto/run-a-campaign.html#score-the-runs",
        "scoring:leaderboard": "explanation/numbers.html#tiers-randomized-tukey-hsd",
        "scoring:choose_leaderboard": "explanation/numbers.html#how-alike-two-rankings-are",
        "scoring:compare_leaderboards": "explanation/numbers.html#how-alike-two-rankings-are",
        "scoring:topics": "explanation/numbers.html",
        "scoring:topic": "explanation/numbers.html",
        "scoring:reports": "explanation/numbers.html#whether-the-qrels-can-be-reused",
        "scoring:evaluation": "reference/measures.html",
        "scoring:choose_run": "explanation/numbers.html#two-runs-paired-randomization-paired-t-holm",
        "scoring:compare_runs": "explanation/numbers.html#two-runs-paired-randomization-paired-t-holm",
    }
)


def page_for(view_name: str) -> str:
    """The path in the documentation for a view; the first page if the view has none."""
    return HELP.get(view_name, START)
