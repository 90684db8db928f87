package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const flagClusterFile = "cluster-file"

// clusterFlags say which cluster to read: kubectl's connection flags, or a file.
type clusterFlags struct {
	kube       *genericclioptions.ConfigFlags
	connection *pflag.FlagSet // kubectl's flags alone
	file       string
}

func newClusterFlags() *clusterFlags {
	kube := genericclioptions.NewConfigFlags(false)
	// Commands that have a namespace add their own; discovery is never cached.
	kube.Namespace, kube.CacheDir = nil, nil
	return &clusterFlags{kube: kube}
}

func (f *clusterFlags) addTo(flags *pflag.FlagSet) {
	f.connection = pflag.NewFlagSet("connection", pflag.ContinueOnError)
	f.kube.AddFlags(f.connection)
	flags.StringVar(&f.file, flagClusterFile, f.file, "read Nodes, PVCs, PVs, StorageClasses and Namespaces from a YAML `FILE`, once, instead of from a cluster")
	flags.AddFlagSet(f.connection)
}

// validate tells what is wrong.
func (f *clusterFlags) validate() []error {
	var errs []error
	if f.file != "" {
		f.connection.VisitAll(func(given *pflag.Flag) {
			if given.Changed {
				errs = append(errs, flagError(given.Name, "has no meaning with --%s", flagClusterFile))
			}
		})
	}
	if _, err := clientcmd.ParseTimeout(*f.kube.Timeout); err != nil {
		errs = append(errs, flagError("request-timeout", "%q must be a duration, for example 5s", *f.kube.Timeout))
	}
	return errs
}

// namespaceOr is the namespace that is given, else the one that kubectl would
// take for objects that name none.
func (f *clusterFlags) namespaceOr(given string) string {
	if given != "" {
		return given
	}
	if namespace, _, err := f.kube.ToRawKubeConfigLoader().Namespace(); err == nil && namespace != "" {
		return namespace
	}
	return metav1.NamespaceDefault
}

// restConfig says how to reach the cluster: by the flags and the kubeconfig as
// kubectl does, else as a pod in it.
func (f *clusterFlags) restConfig() (*rest.Config, error) {
	if err := f.findCluster(); err != nil {
		return nil, err
	}
	config, err := f.kube.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return config, nil
}

// findCluster refuses kubectl's last resort, which is localhost:8080: a
// server that nobody told where its cluster is should say so.
func (f *clusterFlags) findCluster() error {
	raw, err := f.kube.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	if len(raw.Clusters) > 0 || *f.kube.APIServer != "" {
		return nil
	}
	switch _, err := rest.InClusterConfig(); {
	case errors.Is(err, rest.ErrNotInCluster):
		return fmt.Errorf("no cluster: this is no pod, and there is no kubeconfig. Give --kubeconfig or --%s", flagClusterFile)
	case err != nil:
		return fmt.Errorf("read this pod's service account: %w", err)
	}
	return nil
}
