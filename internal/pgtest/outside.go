package pgtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Make makes a cluster outside of tests, with settings of PostgreSQL such as "name=value". It is gone
// after Remove, or with this process.
func Make(durable bool, settings ...string) (*Cluster, error) {
	return newCluster(durable, settings...)
}

// Remove stops the server and removes its folder.
func (c *Cluster) Remove() { c.remove() }

// Process is the id of the server's first process, whose children are the others.
func (c *Cluster) Process() (int, error) {
	text, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(strings.TrimSpace(first))
}

// Socket is the path of the socket that the server listens at.
func (c *Cluster) Socket() string { return filepath.Join(c.dir, ".s.PGSQL.5432") }
