"""An example for `assay judge --with`: the more words of its topic a document contains, the higher its grade."""

import json
import re
import sys


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{4,}", text.lower()))


def main() -> None:
    for line in sys.stdin:
        unit = json.loads(line)
        topic = words(unit["title"] + " " + unit["description"])
        share = len(topic & words(unit["text"])) / max(1, len(topic))
        grades = sorted(grade["grade"] for grade in unit["grades"])
        grade = grades[min(int(share * 2 * len(grades)), len(grades) - 1)]
        answer = {"topic": unit["topic"], "docno": unit["docno"], "grade": grade}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
