help: ## print this
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

build: ## build ./winnow
	CGO_ENABLED=0 go build -ldflags '-s -w' -o winnow ./cmd/winnow

test: ## what a change must pass, quickly
	go test ./...

check: ## everything that CI runs
	.ci/run

bench: ## the figures of docs/performance.md
	go test -run '^$$' -bench . -benchtime 2s ./...

fuzz: ## every fuzz target for FUZZTIME (default 1m) each
	@set -e; for p in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(or $(FUZZTIME),1m) -fuzzminimizetime 20x $$p; done; done

torture: ## kill, starve and race it: TORTURE_KILLS (default 500) kills, faults at every write, goroutines under -race
	go test ./internal/torture -v -count=1 -timeout 60m -torture -kills $(or $(TORTURE_KILLS),500) -seed $(or $(TORTURE_SEED),0)
	go test -race ./internal/torture -v -count=1 -timeout 30m -torture -run 'Goroutines|Processes_share|Views'

properties: ## 100,000 random sequences of file operations, 2,000 random sessions under each policy and counter
	go test ./policy -run 'Coverage_what' -count=1 -timeout 60m -rapid.checks=5000
	go test ./policy -run 'Rules_what' -count=1 -timeout 60m -rapid.checks=2000

interop: ## resume sessions in the real products, offline; CLIENTS=path/to/node_modules, or they are installed
	interop/run.sh $(CLIENTS)

.PHONY: help build test check bench fuzz torture properties interop
