// Package deploy runs what deploy/ ships: the environment of the compose file and of the chart, the
// probes of both, and the balancer. It has tests alone.
package deploy
