package gateway

import "golang.org/x/sys/unix"

// undumpable keeps the memory of this process out of core dumps and from other processes of its
// user: while requests are relayed there are credentials in it. Programs that it starts are not
// concerned.
func undumpable() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
