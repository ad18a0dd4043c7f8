#!/bin/sh
# Records `winnow`, then c, on a session of a made-up project as an animated picture.
#   first.sh OUT.svg
# Needs Go, git, tmux and termtosvg.
set -eu
out=$(realpath "$1")
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'tmux -L first kill-server 2>/dev/null; rm -rf "$folder"' EXIT
go build -o "$folder/bin/winnow" ./cmd/winnow
export HOME="$folder/home" LANG=C.UTF-8 TERM=xterm-256color
id=017b582e-579d-8d51-9701-95c6f60ecef2
project=$HOME/larder
kept=$HOME/.claude/projects/$(echo "$project" | tr / -)
mkdir -p "$kept" "$project"
"$folder/bin/winnow" export examples/long-session.json --format claude-code | sed "s#/home/dev/larder#$project#g" >"$kept/$id.jsonl"
touch -d '1 hour ago' "$kept/$id.jsonl"
cd "$project"
tmux -L first new-session -d -e "PATH=$folder/bin:/usr/bin:/bin" -e 'PS1=~/larder $ ' -x 100 -y 36 \
	"termtosvg $folder/first.svg -g 100x36 -M 2500 -D 5000 -c 'sh -i' 2>$folder/log"
sleep 2
for key in w i n n o w; do tmux -L first send-keys "$key"; sleep 0.15; done
tmux -L first send-keys Enter
sleep 5
tmux -L first send-keys c
sleep 8
tmux -L first send-keys C-d
for _ in $(seq 40); do tmux -L first has-session 2>/dev/null || break; sleep 0.5; done
cat "$folder/log" >&2
mv "$folder/first.svg" "$out"
