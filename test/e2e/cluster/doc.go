// Package cluster runs a real Kubernetes cluster on one machine, from Go modules
// and Debian packages: etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler, cert-manager's controllers, and nodes of a kubelet and a
// containerd each. It needs root.
//
// Everything lives in a network namespace of its own and in one folder of state:
//
//	198.18.77.1         the API server, for people and tests on this machine
//	198.18.77.11, …     the nodes
//	198.18.128.0/17     pods, on one bridge
//	198.19.0.0/20       Services. There is no kube-proxy: the API server reaches a
//	                    Service's pods itself, and its own Service's address is an
//	                    address of the namespace
//
// The ranges are those set aside for benchmarks (RFC 2544), so they meet no other.
package cluster
