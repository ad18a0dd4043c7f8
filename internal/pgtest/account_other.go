//go:build !unix

package pgtest

import "os/exec"

// account is the user that PostgreSQL runs as: this one.
type account struct{}

func unprivileged() (*account, error) {
	return nil, &missingError{"clusters for tests are made on Unix only"}
}

func (*account) own(string) error { return nil }

func (*account) run(*exec.Cmd) {}
