// Package deploy holds what installs Berth against the code of Berth: the chart
// is rendered by Helm over several values files, every object is decoded
// strictly with its API type, and checks, each a function over the rendered
// objects that returns problems, compare them with the routes, the flags, the
// kinds, the informers. A test breaks one value at a time and expects exactly
// the right check to complain.
//
// deploy/berth.yaml is what the chart renders with its default values:
// UPDATE_DEPLOY=1 go test -run TestBerthYAML writes it anew.
//
// HELM names a helm binary to use instead of the one that test/tools/helm builds,
// BERTH a berth binary instead of one built from the code that is here.
package deploy
