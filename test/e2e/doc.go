// Package e2e proves Berth's roads on a real cluster: each test is named after the
// sentence that it proves, and asserts what Kubernetes then does (which node a pod
// runs on, which bytes its container read, what kubectl prints), not only what
// Berth answered. The tests have the build tag e2e and need the cluster that
// cmd/cluster starts.
package e2e
