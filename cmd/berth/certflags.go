package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/pflag"

	"berth.dev/berth/certs"
)

const (
	flagCert       = "tls-cert-file"
	flagKey        = "tls-private-key-file"
	flagSelfSigned = "tls-self-signed"
	flagCAOut      = "tls-self-signed-ca-out"
	flagClientCA   = "client-ca-file"
)

// certFlags say which certificate to serve with, and whom to serve.
type certFlags struct {
	certFile   string
	keyFile    string
	selfSigned bool
	caOut      string
	clientCA   string
}

func (f *certFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.certFile, flagCert, "", "serving certificate, a PEM `FILE`; reloaded when it changes")
	flags.StringVar(&f.keyFile, flagKey, "", "its private key, a PEM `FILE`")
	flags.BoolVar(&f.selfSigned, flagSelfSigned, false, "serve with a certificate made at start, for development")
	flags.StringVar(&f.caOut, flagCAOut, "", "write the CA of that certificate to `FILE`, for curl's --cacert")
	flags.StringVar(&f.clientCA, flagClientCA, "", "require client certificates of the CAs in a PEM `FILE`; reloaded when it changes")
}

// validate tells what is wrong. Files are not looked at: a Secret may come later.
func (f *certFlags) validate() []error {
	var errs []error
	switch {
	case f.selfSigned && f.certFile != "":
		errs = append(errs, flagError(flagSelfSigned, "can't be given together with --%s", flagCert))
	case f.selfSigned && f.keyFile != "":
		errs = append(errs, flagError(flagSelfSigned, "can't be given together with --%s", flagKey))
	case f.certFile != "" && f.keyFile == "":
		errs = append(errs, flagError(flagKey, "must be given together with --%s", flagCert))
	case f.certFile == "" && f.keyFile != "":
		errs = append(errs, flagError(flagCert, "must be given together with --%s", flagKey))
	case !f.selfSigned && f.certFile == "":
		errs = append(errs, flagError(flagCert, "must be given together with --%s, unless --%s is", flagKey, flagSelfSigned))
	}
	if f.caOut != "" && !f.selfSigned {
		errs = append(errs, flagError(flagCAOut, "has no meaning without --%s", flagSelfSigned))
	}
	return errs
}

// certificate is what the server serves with.
type certificate interface {
	GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error)
	Ready() error
	NotAfter() (time.Time, bool)
}

// job runs beside the servers until its context is done.
type job func(context.Context) error

// open gives the certificate and the jobs that keep it fresh. The host of the
// bind address is in a self-signed one.
func (f *certFlags) open(bindAddress string, log *slog.Logger) (certificate, []job, error) {
	if !f.selfSigned {
		files := certs.NewFileSource(f.certFile, f.keyFile, log)
		return files, []job{files.Run}, nil
	}
	own, err := certs.NewSelfSigned(hostsOf(bindAddress))
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate: %w", err)
	}
	if f.caOut != "" {
		if err := own.WriteCA(f.caOut); err != nil {
			return nil, nil, fmt.Errorf("--%s: %w", flagCAOut, err)
		}
	}
	return own, nil, nil
}

// hostsOf is the host of an address that names one.
func hostsOf(address string) []string {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return nil
	}
	return []string{host}
}

// openClientCAs gives the CAs that clients must be of, nil for any client.
func (f *certFlags) openClientCAs(log *slog.Logger) (func() *x509.CertPool, []job, error) {
	if f.clientCA == "" {
		return nil, nil, nil
	}
	file, err := certs.NewClientCAFile(f.clientCA, log)
	if err != nil {
		return nil, nil, fmt.Errorf("--%s: %w", flagClientCA, err)
	}
	return file.Pool, []job{file.Run}, nil
}
