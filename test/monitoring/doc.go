// Package monitoring holds what operators get against a running Berth: the alert
// rules and the dashboard of deploy/chart/monitoring, and the handbook
// deploy/README.md. A real Prometheus scrapes a real `berth serve` and runs every
// query; promtool and the current rule parser judge the rules.
//
// It is a module of its own, because Prometheus' parser must not raise a version
// of the product. Prometheus and promtool are Debian's package, found on PATH.
package monitoring
