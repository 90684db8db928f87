package main

import (
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"berth.dev/berth/webhook/claim"
)

const (
	flagBind          = "bind-address"
	flagMetricsBind   = "metrics-bind-address"
	flagShutdownDelay = "shutdown-delay-duration"
	flagMaxBytes      = "max-request-bytes"
	flagHTTP2         = "http2"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	bindAddress     string
	metricsAddress  string
	shutdownDelay   time.Duration
	maxRequestBytes int64
	http2           bool
	certs           *certFlags
	cluster         *clusterFlags
	rules           *ruleFlags
	log             *logFlags
	bad             badValues
}

// newServeOptions has the defaults.
func newServeOptions() *serveOptions {
	return &serveOptions{
		bindAddress: ":9443", metricsAddress: ":8080",
		shutdownDelay: 5 * time.Second, maxRequestBytes: 8 << 20,
		certs: &certFlags{}, cluster: newClusterFlags(), rules: newRuleFlags(), log: newLogFlags(),
	}
}

// addFlags gives the command its flags.
func (o *serveOptions) addFlags(cmd *cobra.Command) {
	addSections(cmd,
		newSection("Serving", o.addTo),
		newSection("Certificates", o.certs.addTo),
		newSection("Cluster (default: the kubeconfig, else the cluster that this pod runs in)", o.cluster.addTo),
		newSection("Rules", o.rules.addTo),
		newSection("Logging", o.log.addTo),
	)
	o.bad.watch(cmd.Flags())
}

func (o *serveOptions) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&o.bindAddress, flagBind, o.bindAddress, "`ADDRESS` of /mutate and /validate, over HTTPS. Port 0 takes a free one")
	flags.StringVar(&o.metricsAddress, flagMetricsBind, o.metricsAddress, "`ADDRESS` of /livez, /readyz and /metrics, over plain HTTP. Port 0 takes a free one")
	flags.DurationVar(&o.shutdownDelay, flagShutdownDelay, o.shutdownDelay, "go on answering for this long after SIGTERM, not ready, before connections are closed")
	flags.Int64Var(&o.maxRequestBytes, flagMaxBytes, o.maxRequestBytes, "largest review that is read, in `BYTES`")
	flags.BoolVar(&o.http2, flagHTTP2, o.http2, "speak HTTP/2, too")
}

// validate gives the rules, or everything that is wrong with the flags.
func (o *serveOptions) validate() (*claim.Rules, []error) {
	errs := o.bad.errs
	errs = append(errs, checkAddress(flagBind, o.bindAddress), checkAddress(flagMetricsBind, o.metricsAddress))
	if o.bindAddress == o.metricsAddress && !hasPortZero(o.bindAddress) {
		errs = append(errs, flagError(flagMetricsBind, "%q is the address of --%s already", o.metricsAddress, flagBind))
	}
	if o.shutdownDelay < 0 {
		errs = append(errs, flagError(flagShutdownDelay, "%s must not be negative", o.shutdownDelay))
	}
	if o.maxRequestBytes <= 0 {
		errs = append(errs, flagError(flagMaxBytes, "%d must be positive", o.maxRequestBytes))
	}
	errs = append(errs, o.certs.validate()...)
	errs = append(errs, o.cluster.validate()...)
	rules, ruleErrs := o.rules.rules()
	errs = append(errs, ruleErrs...)
	return &rules, withoutNil(append(errs, o.log.validate()...))
}

// checkAddress holds that an address is host:port, with a port that is a number.
func checkAddress(flag, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return flagError(flag, "%q must be HOST:PORT or :PORT", address)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return flagError(flag, "%q must have a port from 0 to 65535", address)
	}
	return nil
}

func hasPortZero(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && port == "0"
}

func withoutNil(errs []error) []error {
	var out []error
	for _, err := range errs {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}
