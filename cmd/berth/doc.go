// Command berth serves Berth, the admission webhook that gives each pod the
// PersistentVolumeClaim of the node that the pod is pinned to.
//
// It has one file per subcommand, and one per group of flags that subcommands
// share (rules, cluster, logging). It reads flags, wires the rooms together and
// starts them; it knows no rule of the domain.
//
// Exit codes of serve: 0 after SIGTERM or SIGINT, 1 if something failed, 2 for bad
// usage. Of review: 0 if all is admitted, 1 if something is refused, 2 if something
// could not be judged, or for bad usage. Of coverage: 0 if every node is served or
// will be, 1 if somebody must act, 2 if something can't be read, or for bad usage.
// Of expand: 0, 1 if a node PVC can't be made, 2 as coverage.
package main
