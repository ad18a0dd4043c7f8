// Package deploy tests what deploy/ ships: the environment of the compose file and of the chart,
// the probes of both, and the balancer, which other tests start by it, too.
package deploy
