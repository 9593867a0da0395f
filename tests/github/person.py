"""A person with PyGithub, which nobody here wrote: does one thing on GitHub and prints what GitHub says, as JSON.

python person.py LOGIN OWNER/NAME VERB …
"""

import json
import os
import sys

from github import Auth, Github

login, repository, verb, *rest = sys.argv[1:]
github = Github(base_url=os.environ["GITHUB_URL"], auth=Auth.Token(f"gho_{login}"), retry=None)
repo = github.get_repo(repository)


def shown(issue):
    return {
        "number": issue.number,
        "title": issue.title,
        "state": issue.state,
        "state_reason": issue.state_reason,
        "labels": sorted(label.name for label in issue.get_labels()),
        "assignees": sorted(user.login for user in issue.assignees),
        "comments": [{"by": comment.user.login, "body": comment.body} for comment in issue.get_comments()],
    }


if verb == "open":
    print(json.dumps(shown(repo.create_issue(title=rest[0], body=rest[1], labels=rest[2:]))))
elif verb == "list":
    print(json.dumps([shown(issue) for issue in repo.get_issues(state="all") if not issue.pull_request]))
elif verb == "review":
    print(json.dumps({"id": repo.get_pull(int(rest[0])).create_review(event=rest[1], body=rest[2]).id}))
elif verb == "merge":
    print(json.dumps({"merged": repo.get_pull(int(rest[0])).merge().merged}))
else:
    issue = repo.get_issue(int(rest[0]))
    if verb == "label":
        issue.add_to_labels(*rest[1:])
    elif verb == "unlabel":
        issue.remove_from_labels(rest[1])
    elif verb == "say":
        issue.create_comment(rest[1])
    elif verb == "close":
        issue.edit(state="closed", state_reason=rest[1])
    elif verb != "read":
        sys.exit(f"no such verb: {verb}")
    print(json.dumps(shown(repo.get_issue(int(rest[0])))))
