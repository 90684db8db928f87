// Package cluster runs what a benchmark needs as processes on loopback, each with
// ports and folders of its own: an etcd and a kube-apiserver that hold a world, the
// DaemonSet controller, and webhooks. It ends what it started, and nothing else.
package cluster
