#!/bin/sh
# session.compacting: tells the writer of the summary which branch the work is on and what is not
# committed, and has nothing folded by itself in the middle of a merge.
told=$(cat)
git rev-parse --git-dir >/dev/null 2>&1 || exit 0 # not a repository: nothing is printed, nothing changes
case $told in *'"trigger":"auto"'*)
	if [ -e "$(git rev-parse --git-path MERGE_HEAD)" ]; then
		echo '{"cancel": true, "reason": "a merge is not finished"}'
		exit
	fi
esac
branch=$(git branch --show-current | sed 's/"/\\"/g')
changed=$(git -c core.fsmonitor=false status --porcelain | wc -l | tr -d ' ')
printf '{"context": ["The branch is %s.", "Files that are not committed: %s."]}\n' "$branch" "$changed"
