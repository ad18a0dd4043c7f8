#!/bin/sh
# Records `winnow`, then c, on a session of a made-up project as an animated picture.
#   first.sh OUT.svg
# Needs Go, git, tmux and termtosvg.
set -eu
out=$(realpath "$1")
cd "$(dirname "$0")/../.."
folder=$(mktemp -d /tmp/XXXX) # as long as the path that stands for it in the picture
shown=/home/dev
trap 'tmux -L first kill-server 2>/dev/null || true; rm -rf "$folder"' EXIT
go build -o "$folder/bin/winnow" ./cmd/winnow
printf '#!/bin/sh\n' >"$folder/bin/claude" # the picture ends where the agent would start
chmod +x "$folder/bin/claude"
export HOME="$folder" LANG=C.UTF-8 TERM=xterm-256color
id=017b582e-579d-8d51-9701-95c6f60ecef2
project=$HOME/larder
kept=$HOME/.claude/projects/$(echo "$project" | tr / -)
mkdir -p "$kept" "$project"
"$folder/bin/winnow" export examples/long-session.json --format claude-code | sed "s#/home/dev/larder#$project#g" >"$kept/$id.jsonl"
touch -d '1 hour ago' "$kept/$id.jsonl"
echo "PATH=$folder/bin:/usr/bin:/bin PS1='~/larder $ '; echo \$\$ >$folder/pid" >"$folder/rc"
cd "$project"
tmux -L first new-session -d -x 100 -y 36 \
	"termtosvg $folder/first.svg -g 100x36 -M 2500 -D 5000 -c 'bash --rcfile $folder/rc' 2>$folder/log"
shows() { # waits for a text on the screen
	for _ in $(seq 300); do
		tmux -L first capture-pane -p | grep -q -- "$1" && return
		sleep 0.2
	done
	echo "the screen does not show: $1" >&2
	tmux -L first capture-pane -p >&2
	exit 1
}
shows 'larder \$'
for key in w i n n o w; do tmux -L first send-keys "$key"; sleep 0.15; done
tmux -L first send-keys Enter
shows 'q  leave'
sleep 4
tmux -L first send-keys c
shows 'Resume with'
sleep 1
kill -KILL "$(cat "$folder/pid")" # at the end of a file it would say exit
for _ in $(seq 100); do tmux -L first has-session 2>/dev/null || break; sleep 0.2; done
sed "s#$folder#$shown#g; s#$(echo "$folder" | tr / -)#$(echo $shown | tr / -)#g" "$folder/first.svg" >"$out"
