FUZZLOGS ?= fuzz-logs

help: ## print this
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

build: ## build ./winnow
	CGO_ENABLED=0 go build -ldflags '-s -w' -o winnow ./cmd/winnow

buildd: ## build ./winnowd, the server of a team
	CGO_ENABLED=0 go build -ldflags '-s -w' -o winnowd ./cmd/winnowd

dist: build ## dist/winnow-VERSION-OS-ARCH.tar.gz: the program, man pages, completions for shells
	go run ./internal/manual ./winnow dist

# The hooks import types of frameworks. make bindings checks them against these; here they are only compiled.
tsc := --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --verbatimModuleSyntax --target es2022 --module nodenext \
  --types node --rewriteRelativeImportExtensions --declaration

packages: ## build/packages: what npm and pip install, from the programs in build/release; needs Node
	rm -rf build/typescript && mkdir -p build/typescript && cp rpc/bindings/typescript/*.ts build/typescript && \
	  cd build/typescript && echo '{"type": "module"}' >package.json && npm install --silent --no-audit --no-fund typescript@7.0.2 @types/node@20 && \
	  node_modules/.bin/tsc $(tsc) winnow.ts hooks.ts && node_modules/.bin/tsc $(tsc) --noCheck ai-sdk.ts mastra.ts langchain.ts
	go run ./internal/packages build build/release build/typescript build/packages

release-check: ## everything that a tag publishes, built, installed and tried, and published nowhere; needs Node, Python, curl
	internal/packages/check.sh

test: ## what a change must pass, quickly
	go test ./...

check: ## everything that CI runs
	.ci/run

# Packages that start processes and wait for them: the program itself, sieges, PostgreSQL, git.
processes := cmd/internal/command internal/deploy internal/siege internal/torture internal/pgtest store/postgres team/river agent/snapshot agent/tools
# Packages that start no goroutine, nor do their tests; and the page and the formats, whose tests run independent work at the same time.
sequential := agent/(permission|selfprune)|model/bill|plan/(budget|call|coverage|pivot(/fact)?|policy|recall|rule/letter|schedule|settings|shell|view)|agent/chat/internal/(draw|drawtest|editor)|desk/config|look/(display|page|skim|tui)|store/(edit|report)|text/(plainfile|quantity|secret|span)|format(/.*)?|internal/(quality|bodytest|catalogue|chromiumtest|floors|folds|forecast|shelltest|size|wiretest|workday|interop.*)|llm/(anthropic|gemini|openai)|store/internal/.*|summarize/.*|wire.*
# Without the setting every process, those that tests start too, waits for a second before it ends. -short leaves out tests that run
# independent work at the same time.
race-test := CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 go test -vet=off -race -short

race: ## the race detector where CI leaves it out: the program, sieges, PostgreSQL, git; ten minutes
	$(race-test) $(addprefix ./,$(processes))

race-short: ## the race detector where goroutines meet, as CI runs it; several times slower than the tests alone
	$(race-test) ./cmd/internal/gateway ./store/sqlite $$(go list ./... | grep -vE "/($(shell echo $(processes) | tr ' ' '|')|$(sequential))$$")

.PHONY: adapters
adapters: ## the adapters for frameworks of Go, each a module of its own
	@for a in gateway/adapters/*/; do (cd $$a && go vet ./... && go test -vet=off ./...) || exit 1; done

size: ## how large the program is: lines, packages, names, dependencies, bytes
	@go run ./internal/size

bench: ## the figures of docs/performance.md
	go test -run '^$$' -bench . -benchtime 2s ./...

gateway-bench: ## what the gateway adds to requests, beside a plain proxy in the same run
	go run ./internal/gatebench $(GATEBENCH)

replicas-bench: ## the same through the built program on SQLite, on PostgreSQL, and three of them: a Markdown table; REPLICASBENCH="-windows 1 -c 1"
	go run ./internal/gatebench replicas $(REPLICASBENCH)

scale-bench: ## what a request costs on PostgreSQL, and how long requests wait: the tables of docs/scale.md; SESSIONS=FOLDER of recorded sessions
	go run ./internal/gatebench cost -sessions "$(SESSIONS)"
	go run ./internal/gatebench arrivals -sessions "$(SESSIONS)"

site: ## a static site, in SITE (default ./site): a page of one screen, and the documents with search; needs Node
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && cp -R docs "$$folder" && \
	  node docs/.vitepress/front.mjs README.md "$$folder/docs" && \
	  npm install --silent --no-audit --no-fund --prefix "$$folder" vitepress@1.6.4 && \
	  "$$folder/node_modules/.bin/vitepress" build "$$folder/docs" --outDir "$(abspath $(or $(SITE),site))"

pictures: ## the pictures of docs/, made in headless Chromium; the frontier where the recorded sessions are
	WINNOW_SHOTS=../../docs go test ./look/page ./gateway/live -run 'picture|Watched' -count=1 -v -timeout 60m
	internal/pictures/first.sh docs/first.svg

fuzz: ## every fuzz target for FUZZTIME (default 1m) each, JOBS (default: one a core) at a time with a worker each; logs in FUZZLOGS (default ./fuzz-logs)
	@mkdir -p $(FUZZLOGS); for p in $$(go list ./...); do go test -list '^Fuzz' $$p | grep '^Fuzz' | sed "s|^|$$p |"; done | \
	  xargs -P $(or $(JOBS),$(shell getconf _NPROCESSORS_ONLN)) -L 1 sh -c 'log=$(FUZZLOGS)/$$(echo "$$0.$$1" | tr / _).log; \
	    if (echo "$$0 $$1"; exec go test -run "^\$$" -fuzz "^$$1\$$" -fuzztime $(or $(FUZZTIME),1m) -fuzzminimizetime 20x -parallel 1 $$0) >$$log 2>&1; \
	    then echo "$$0 $$1: $$(grep execs: $$log | tail -n 1)"; else echo "$$0 $$1: FAILED, see $$log" >&2; exit 1; fi'

fuzz-table: ## write the executions of the last `make fuzz` into internal/floors/fuzz.md
	@for log in $(FUZZLOGS)/*.log; do \
	  read -r p f <$$log; p=$${p#$$(go list -m)}; p=$${p#/}; grep -q '^ok' $$log || { echo "$$p $$f did not end well" >&2; continue; }; \
	  n=$$(sed -nE 's/.*execs: ([0-9]+) .*/\1/p' $$log | tail -n 1 | sed -E ':a;s/([0-9])([0-9]{3})($$|,)/\1,\2\3/;ta'); \
	  sed -i -E "s#^(\| \`$$f\`[^|]*\| \`$${p:-.}\` \|)[^|]*\|#\1 $${n:-–} |#" internal/floors/fuzz.md; done

torture: ## kill, starve and race it: TORTURE_KILLS (default 500) kills, faults at every write, goroutines under -race
	go test ./internal/torture -v -count=1 -timeout 60m -torture -kills $(or $(TORTURE_KILLS),500) -seed $(or $(TORTURE_SEED),0)
	go test -race ./internal/torture -v -count=1 -timeout 30m -torture -run 'Goroutines|Processes_share|Views'
	go test ./cmd/internal/command -v -count=1 -timeout 30m -run aLineEveryMillisecond -inplace-runs $(or $(TORTURE_RUNS),200)
	go test ./cmd/internal/command -v -count=1 -timeout 30m -run TestEngine_killed -engine-kills $(or $(TORTURE_RUNS),200)
	go test ./cmd/internal/command -v -count=1 -timeout 30m -run TestGC_killed -gc-kills $(or $(TORTURE_RUNS),100)

siege: ## every fault of a provider, a store and a client at the gateway, and kills of it; a few minutes
	go test ./internal/siege -v -count=1 -timeout 60m -siege

replicas: ## three gateways behind deploy/'s HAProxy, tenants with budgets, a database with a standby, hostile clients; then the same behind PgBouncer: REQUESTS (default 100000), FAULTS (default 600), of which each has half; an hour on two cores
	for between in "" -bouncer; do \
		go test ./internal/siege -v -count=1 -timeout 180m -siege -run Team -haproxy $$between \
			-kills $$(($(or $(FAULTS),600) / 2)) -requests $$(($(or $(REQUESTS),100000) / 2)) || exit 1; \
	done

previous: ## the program as it was before the newest migrations, on today's tables, beside today's program and after it; builds it from the history
	go test ./internal/siege -v -count=1 -timeout 60m -previous -run Previous

load: ## what a large request costs small ones beside it, and the memory of a thousand sessions of a megabyte
	go test ./internal/siege -v -count=1 -timeout 60m -load -run Load

.PHONY: chart
chart: ## lint the Helm chart and render it as Kubernetes 1.31 gets it, to standard output
	@GOFLAGS= go run helm.sh/helm/v3/cmd/helm@v3.22.0 lint deploy/helm/winnow >&2
	@GOFLAGS= go run helm.sh/helm/v3/cmd/helm@v3.22.0 template winnow deploy/helm/winnow --kube-version 1.31

soak: ## two hundred sessions through the gateway for SOAK (default 1h): nothing may grow
	go test ./internal/siege -v -count=1 -timeout 12h -soak $(or $(SOAK),1h) -run Soak

properties: ## 100,000 random sequences of file operations, 2,000 random sessions under each policy and counter, and recorded ones
	go test ./plan/policy -run 'Coverage_what' -count=1 -timeout 60m -rapid.checks=5000
	go test ./plan/policy -run 'Rules_what' -count=1 -timeout 60m -rapid.checks=2000
	go test ./plan/policy -run 'Rules_onRecorded' -count=1 -timeout 60m -counters
	go test ./format/all -run 'Kept' -count=1 -timeout 60m -rapid.checks=500
	go test ./internal/stories -run 'Gauge|PinsAnd|whateverIsDone|aRestart|SelfPrune_holds' -count=1 -timeout 60m -rapid.checks=300

forecast: ## recorded sessions through the gateway: what is billed is what winnow replay forecasts; MODES (default full), FOLDS=false
	go test ./internal/forecast -run Gateway -count=1 -v -timeout 180m -longest 0 -modes $(or $(MODES),full,warm) $(if $(FOLDS),-folds=$(FOLDS))

interop: ## resume sessions in the real products, offline; CLIENTS=path/to/node_modules, or the newest and the pinned versions are installed
	internal/interop/run.sh $(CLIENTS)

quality: ## what five compactions in a row keep of facts planted in made-up sessions: a table; QUALITY="-policies balanced -to 1/4 -lost"
	go test ./internal/quality -run TestTable -count=1 -v -timeout 60m -table $(QUALITY)

trajectories: ## replay runs of mini-swe-agent (.traj.json) in FOLDER: their bill against the logged one, and every policy
	go run ./cmd/winnow replay $(FOLDER) --cache logged

fidelity: ## which constraints of published sets (COMPINT, compaction-conformance-kit) in FOLDER stand after one fold and five: a table
	go test ./internal/folds -run publishedConstraints -count=1 -v -fidelity $(abspath $(FOLDER))

bindings: ## the hooks for frameworks of other languages, in the newest of each, against the scripted provider; needs Node and Python with PyPI, or BINDINGS_PYTHONPATH: folders of sources
	internal/bindings/run.sh
	rpc/testdata/hooks/run.sh

judges: ## the providers' own libraries read what we write, and we what they write
	cd internal/interop/sdk && go vet ./... && go test ./...

.PHONY: packages release-check quality site trajectories fidelity buildd dist race race-short pictures gateway-bench replicas-bench scale-bench judges bindings adapters help build test check size bench fuzz fuzz-table torture siege replicas previous load soak properties interop forecast
