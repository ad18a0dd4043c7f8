// Package shelltest is the one table of shell commands that every reader of commands is tested
// with: the parser, what a call did, what a command may do, what a summary says of it and may say
// of it, and which commands ask the same question.
package shelltest

// Case is a command and what is to be made of it.
type Case struct {
	Command string
	// Unknown: it cannot be parsed. Then it runs nothing that is known, changes nothing and is
	// asked about.
	Unknown bool
	// Runs are the programs that it runs, in order, as call.Invocations names them; Main the one
	// that it is known by.
	Runs []string
	Main string
	// Files are what it does to files of /repo, in order: "+a" makes a, "~a" edits it, "-a" removes
	// it, "=a" reads it, "a>b" moves it. A "?" at the end: perhaps.
	Files []string
	// Looks: it only looks, so that nobody needs to be asked about it in a folder that holds a.go,
	// b.go and sub/c.go.
	Looks bool
	// Removes: a rule that denies "rm" denies it.
	Removes bool
	// Asks: it asks for the state of something and does nothing else, so that a newer answer to it
	// stands for an older one.
	Asks bool
	// Says are commands that a summary may claim of it, Unsaid those that it may not: their words
	// stand in it, but in no command that it ran. That the whole of it was run may be said of each.
	Says, Unsaid []string
}

// Cases are all of them.
var Cases = []Case{
	// What stood in the way.
	{Command: "git commit -m \"$(cat <<'EOF'\nfix: the build\n\nRun \"make && rm bar.go > log.txt\" no more; it's (not) needed.\nEOF\n)\"", Runs: []string{"cat", "git commit"}, Main: "git commit", Says: []string{"git commit -m"}, Unsaid: []string{"git commit --amend"}},
	{Command: "[[ $a > b.txt ]]", Runs: []string{"[["}, Main: "[["},
	{Command: "((a > b))", Runs: []string{"(("}, Main: "(("},
	{Command: "case $x in a) rm q.go;; *) ls;; esac", Runs: []string{"rm", "ls"}, Main: "rm", Files: []string{"-q.go?"}, Removes: true, Says: []string{"rm q.go"}, Unsaid: []string{"ls q.go"}},
	{Command: "echo $'it\\'s' > out.txt", Runs: []string{"echo"}, Main: "echo", Files: []string{"+out.txt"}},
	// Plain commands.
	{Command: "ls", Runs: []string{"ls"}, Main: "ls", Looks: true, Asks: true},
	{Command: "cat a.go", Runs: []string{"cat"}, Main: "cat", Files: []string{"=a.go"}, Looks: true},
	{Command: "cat 'a.go' \"b.go\" sub/c.go", Runs: []string{"cat"}, Main: "cat", Files: []string{"=a.go", "=b.go", "=sub/c.go"}, Looks: true},
	{Command: "head -n 5 a.go", Runs: []string{"head"}, Main: "head", Files: []string{"=a.go"}, Looks: true},
	{Command: "sed -n '1,20p' a.go", Runs: []string{"sed"}, Main: "sed", Files: []string{"=a.go"}, Looks: true},
	{Command: "sed -i 's/a/b/' a.go", Runs: []string{"sed"}, Main: "sed", Files: []string{"~a.go"}},
	{Command: "rm -rf a.go", Runs: []string{"rm"}, Main: "rm", Files: []string{"-a.go"}, Removes: true, Says: []string{"rm -fr a.go", "rm -r -f a.go", "rm a.go"}, Unsaid: []string{"rm -rfv a.go"}},
	{Command: "mv a.go d.go", Runs: []string{"mv"}, Main: "mv", Files: []string{"a.go>d.go"}},
	{Command: "cp a.go d.go", Runs: []string{"cp"}, Main: "cp", Files: []string{"+d.go"}},
	{Command: "git mv a.go d.go && git rm b.go", Runs: []string{"git mv", "git rm"}, Main: "git mv", Files: []string{"a.go>d.go", "-b.go"}, Says: []string{"git mv a.go d.go", "git rm b.go"}, Unsaid: []string{"git rm a.go", "git mv b.go d.go"}},
	{Command: "grep -n main a.go", Runs: []string{"grep"}, Main: "grep", Looks: true, Says: []string{"grep main a.go"}, Unsaid: []string{"grep -rn main a.go"}},
	{Command: "find . -name '*.go'", Runs: []string{"find"}, Main: "find", Looks: true, Asks: true},
	{Command: "go test ./...", Runs: []string{"go test"}, Main: "go test"},
	// Quotes.
	{Command: "echo 'rm a.go > b.go'", Runs: []string{"echo"}, Main: "echo", Looks: true},
	{Command: "echo \"a > b\" # > c", Runs: []string{"echo"}, Main: "echo", Looks: true},
	{Command: "echo a\\>b", Runs: []string{"echo"}, Main: "echo", Looks: true},
	{Command: "\"r\"'m' a.go", Runs: []string{"rm"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "r\\m a.go", Runs: []string{"rm"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "touch 'a b.txt'", Runs: []string{"touch"}, Main: "touch", Files: []string{"+a b.txt"}},
	{Command: "echo 'unclosed", Unknown: true},
	{Command: "echo \"unclosed", Unknown: true},
	{Command: "echo $(unclosed", Unknown: true},
	{Command: "if true; then rm a.go", Unknown: true, Removes: true},
	{Command: "rm a.go\nfi", Unknown: true, Removes: true},
	// Redirections.
	{Command: "make > build.log 2>&1", Runs: []string{"make"}, Main: "make", Files: []string{"+build.log"}},
	{Command: "make 2> errors.txt", Runs: []string{"make"}, Main: "make", Unsaid: []string{"make errors.txt"}},
	{Command: "make &> all.log", Runs: []string{"make"}, Main: "make", Files: []string{"+all.log"}},
	{Command: "make 2>/dev/null", Runs: []string{"make"}, Main: "make"},
	{Command: "ls 2>&1 >/dev/null", Runs: []string{"ls"}, Main: "ls", Looks: true},
	{Command: "echo x >> a.go", Runs: []string{"echo"}, Main: "echo", Files: []string{"~a.go"}},
	{Command: "> empty.txt", Files: []string{"+empty.txt"}},
	{Command: "echo x >| a.go", Runs: []string{"echo"}, Main: "echo", Files: []string{"+a.go"}},
	{Command: "{ ls; pwd; } > both.txt", Runs: []string{"ls", "pwd"}, Main: "ls", Files: []string{"+both.txt"}},
	{Command: "for f in a b; do echo $f; done > list.txt", Runs: []string{"echo"}, Main: "echo", Files: []string{"+list.txt"}},
	{Command: "ls > \"$OUT\"", Runs: []string{"ls"}, Main: "ls"},
	{Command: "sort < a.go", Runs: []string{"sort"}, Main: "sort"},
	// Here-documents are data.
	{Command: "cat > n.md <<'EOF'\nrm a.go\nx > y\nEOF", Runs: []string{"cat"}, Main: "cat", Files: []string{"+n.md"}, Says: []string{"cat > n.md"}, Unsaid: []string{"cat a.go", "rm n.md"}},
	{Command: "cat <<EOF\n$(rm a.go)\nEOF", Runs: []string{"rm", "cat"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "cat <<'EOF'\n$(rm a.go)\nEOF", Runs: []string{"cat"}, Main: "cat"},
	{Command: "python3 - <<'PY'\nimport os\nif 1 > 0: os.remove('a.go')\nPY", Runs: []string{"python3"}, Main: "python3"},
	{Command: "cat <<< 'rm a.go'", Runs: []string{"cat"}, Main: "cat"},
	{Command: "sh <<EOF\nrm a.go\nEOF", Runs: []string{"rm"}, Main: "rm", Files: []string{"-a.go"}, Removes: true, Says: []string{"rm a.go"}, Unsaid: []string{"sh a.go"}},
	{Command: "cat <<-X | tr a b\n\tx > y\n\tX", Runs: []string{"cat", "tr"}, Main: "cat"},
	// Lists, pipelines, groups.
	{Command: "ls && cat a.go | head -3; pwd", Runs: []string{"ls", "cat", "head", "pwd"}, Main: "ls", Files: []string{"=a.go"}, Looks: true, Says: []string{"cat a.go", "head -3"}, Unsaid: []string{"ls a.go", "cat -3", "cat pwd"}},
	{Command: "ls || rm a.go", Runs: []string{"ls", "rm"}, Main: "rm", Files: []string{"-a.go?"}, Removes: true},
	{Command: "make & rm a.go", Runs: []string{"make", "rm"}, Main: "make", Files: []string{"-a.go"}, Removes: true},
	{Command: "cd sub && rm c.go", Runs: []string{"cd", "rm"}, Main: "rm", Files: []string{"-sub/c.go"}, Removes: true, Says: []string{"rm c.go", "cd sub"}, Unsaid: []string{"cd c.go"}},
	{Command: "cd sub && cat c.go", Runs: []string{"cd", "cat"}, Main: "cd", Files: []string{"=sub/c.go"}, Looks: true},
	{Command: "(cd sub && rm c.go); rm a.go", Runs: []string{"cd", "rm", "rm"}, Main: "rm", Files: []string{"-sub/c.go", "-a.go"}, Removes: true, Says: []string{"rm c.go", "rm a.go"}, Unsaid: []string{"cd a.go"}},
	{Command: "cd \"$D\" && rm a.go", Runs: []string{"cd", "rm"}, Main: "rm", Removes: true},
	{Command: "if test -f a.go; then rm a.go; fi", Runs: []string{"test", "rm"}, Main: "rm", Files: []string{"-a.go?"}, Removes: true},
	{Command: "while read f; do rm \"$f\"; done < list", Runs: []string{"read", "rm"}, Main: "rm", Removes: true},
	{Command: "f() { rm a.go; }; f", Runs: []string{"f", "rm"}, Main: "f", Files: []string{"-a.go?"}, Removes: true},
	{Command: "f() { rm a.go; }", Runs: nil},
	{Command: "! grep -q x a.go", Runs: []string{"grep"}, Main: "grep"},
	{Command: "time go build ./...", Runs: []string{"go build"}, Main: "go build"},
	// Substitutions run.
	{Command: "echo $(rm a.go)", Runs: []string{"rm", "echo"}, Main: "rm", Files: []string{"-a.go"}, Removes: true, Says: []string{"rm a.go"}},
	{Command: "echo `rm a.go`", Runs: []string{"rm", "echo"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "diff <(ls) <(rm a.go)", Runs: []string{"ls", "rm", "diff"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "x=$(cat a.go); echo \"$x\"", Runs: []string{"cat", "echo"}, Main: "cat"},
	{Command: "echo ${x:-$(rm a.go)}", Runs: []string{"rm", "echo"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "echo $((1 > 0))", Runs: []string{"echo"}, Main: "echo"},
	// Texts for a shell, and programs that run others.
	{Command: "bash -lc 'cat a.go'", Runs: []string{"cat"}, Main: "cat", Files: []string{"=a.go"}, Says: []string{"cat a.go"}, Unsaid: []string{"bash a.go"}},
	{Command: "sh -c \"rm a.go && ls\"", Runs: []string{"rm", "ls"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "bash -o pipefail -c 'rm a.go'", Runs: []string{"rm"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "sudo -u me sh -c 'rm a.go'", Runs: []string{"rm"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "eval 'rm a.go'", Runs: []string{"rm"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "echo 'rm a.go' | sh", Runs: []string{"echo", "sh", "rm"}, Main: "sh", Files: []string{"-a.go"}, Removes: true},
	{Command: "env A=1 nice -n 5 timeout -s KILL 10 rm a.go", Runs: []string{"rm"}, Main: "rm", Files: []string{"-a.go"}, Removes: true, Says: []string{"rm a.go"}},
	{Command: "env -S 'rm a.go'", Runs: []string{"env", "rm"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "trap 'rm a.go' EXIT", Runs: []string{"trap", "rm"}, Main: "rm", Files: []string{"-a.go?"}, Removes: true},
	{Command: "uv run --with x pytest -k one", Runs: []string{"pytest"}, Main: "pytest"},
	{Command: "poetry run rm a.go", Runs: []string{"rm"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "bundle exec rm a.go", Runs: []string{"rm"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "npx rm a.go", Runs: []string{"rm"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "docker exec -it box rm /srv/a.go", Runs: []string{"docker exec", "rm"}, Main: "docker exec", Removes: true, Says: []string{"docker exec box", "rm /srv/a.go"}, Unsaid: []string{"rm box"}},
	{Command: "docker exec box sh -c 'rm /srv/a.go'", Runs: []string{"docker exec", "rm"}, Main: "docker exec", Removes: true},
	{Command: "ssh -p 22 host rm /srv/a.go", Runs: []string{"ssh", "rm"}, Main: "ssh", Removes: true},
	{Command: "find . -name x -exec rm {} +", Runs: []string{"find", "rm"}, Main: "rm", Removes: true},
	{Command: "find . -name x | xargs -n 1 rm", Runs: []string{"find", "xargs", "rm"}, Main: "rm", Removes: true, Says: []string{"xargs -n 1 rm"}, Unsaid: []string{"find . rm"}},
	{Command: "nohup rm a.go", Runs: []string{"rm"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "exec rm a.go", Runs: []string{"rm"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "command -v rm", Runs: []string{"command"}, Main: "command", Looks: true},
	{Command: "A=1 rm a.go", Runs: []string{"rm"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "/bin/rm a.go", Runs: []string{"rm"}, Main: "rm", Files: []string{"-a.go"}, Removes: true},
	{Command: "{rm,a.go}", Runs: []string{"{rm,a.go}"}, Main: "{rm,a.go}", Removes: true},
	// Names that the shell looks up are not sure.
	{Command: "rm *.go", Runs: []string{"rm"}, Main: "rm", Removes: true},
	{Command: "rm $X", Runs: []string{"rm"}, Main: "rm", Removes: true},
	{Command: "cat *.go", Runs: []string{"cat"}, Main: "cat", Looks: true},
	{Command: "$X a.go", Runs: []string{"$X"}, Main: "$X"},
	// What only seems to look.
	{Command: "cat /etc/passwd", Runs: []string{"cat"}, Main: "cat", Files: []string{"=/etc/passwd"}},
	{Command: "cat ../x", Runs: []string{"cat"}, Main: "cat", Files: []string{"=/x"}},
	{Command: "cat .env", Runs: []string{"cat"}, Main: "cat", Files: []string{"=.env"}},
	{Command: "find . -delete", Runs: []string{"find"}, Main: "find"},
	{Command: "sort -o a.go b.go", Runs: []string{"sort"}, Main: "sort"},
	{Command: "uniq a.go b.go", Runs: []string{"uniq"}, Main: "uniq"},
	{Command: "tee a.go < b.go", Runs: []string{"tee"}, Main: "tee", Files: []string{"+a.go"}},
	{Command: "Get-Content a.go | Set-Content b.go", Runs: []string{"Get-Content", "Set-Content"}, Main: "Get-Content"},
	{Command: "powershell -Command rm a.go > b.go", Runs: []string{"powershell"}, Main: "powershell", Removes: true},
}
