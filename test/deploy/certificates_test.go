package deploy_test

import (
	"path"
	"slices"
	"time"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// mounted is the Secret that the pods mount, and where.
func mounted(r *rendered) (secret, directory string) {
	for _, volume := range one[appsv1.Deployment](r).Spec.Template.Spec.Volumes {
		if volume.Secret == nil {
			continue
		}
		for _, mount := range container(r).VolumeMounts {
			if mount.Name == volume.Name && mount.SubPath == "" { // a subPath is never refreshed
				return volume.Secret.SecretName, mount.MountPath
			}
		}
	}
	return "", ""
}

// serving is the Certificate that Berth serves with, or an empty one.
func serving(r *rendered) *cmv1.Certificate {
	secret, _ := mounted(r)
	if c := certificateOf(r, secret); c != nil {
		return c
	}
	return &cmv1.Certificate{}
}

// checkDNSNames: the API server verifies <service>.<namespace>.svc.
func checkDNSNames(r *rendered) []string {
	var found problems
	service := one[corev1.Service](r)
	name := service.Name + "." + service.Namespace
	// Whichever certificate is not a CA: that it is the one mounted, another check says.
	for _, c := range all[*cmv1.Certificate](r) {
		if !c.Spec.IsCA {
			want := []string{name + ".svc", name + ".svc.cluster.local", name}
			found.unless(slices.Equal(c.Spec.DNSNames, want), "certificate %s has %v, not %v", c.Name, c.Spec.DNSNames, want)
		}
	}
	return found
}

// checkCertificates: the Secret that is written is the one that is mounted, read
// and trusted, and every issuer that is named is there, unless it is the administrator's.
func checkCertificates(r *rendered) []string {
	var found problems
	secret, directory := mounted(r)
	c, args := serving(r), flags(r)
	found.unless(c.Spec.SecretName != "" && !c.Spec.IsCA, "no certificate writes Secret %q, which is mounted", secret)
	found.unless(args["tls-cert-file"] == path.Join(directory, corev1.TLSCertKey), "--tls-cert-file is not mounted: %s", args["tls-cert-file"])
	found.unless(args["tls-private-key-file"] == path.Join(directory, corev1.TLSPrivateKeyKey), "--tls-private-key-file is not mounted: %s", args["tls-private-key-file"])
	found.unless(slices.Contains(c.Spec.Usages, cmv1.UsageServerAuth), "the certificate is not for servers")
	inject := c.Namespace + "/" + c.Name
	for _, annotations := range []map[string]string{
		one[admissionregistrationv1.MutatingWebhookConfiguration](r).Annotations, one[admissionregistrationv1.ValidatingWebhookConfiguration](r).Annotations,
	} {
		found.unless(annotations[cmv1.WantInjectAnnotation] == inject, "the CA comes from %q, not from %s", annotations[cmv1.WantInjectAnnotation], inject)
	}
	return append(found, checkIssuers(r)...)
}

// checkIssuers: the chain from the serving certificate to its root is whole.
func checkIssuers(r *rendered) []string {
	var found problems
	issuers := all[*cmv1.Issuer](r)
	if len(issuers) == 0 {
		ref := serving(r).Spec.IssuerRef
		found.unless(ref.Name != "" && ref.Kind != "" && len(all[*cmv1.Certificate](r)) == 1, "no issuer, and none named: %v", ref)
		return found
	}
	for _, c := range all[*cmv1.Certificate](r) {
		ref := c.Spec.IssuerRef
		i := slices.IndexFunc(issuers, func(i *cmv1.Issuer) bool { return i.Name == ref.Name })
		if i < 0 || ref.Kind != cmv1.IssuerKind {
			found.unless(false, "certificate %s is of no issuer here: %v", c.Name, ref)
			continue
		}
		found.unless(c.Spec.IsCA == (issuers[i].Spec.SelfSigned != nil), "certificate %s is of the wrong issuer", c.Name)
		if ca := issuers[i].Spec.CA; ca != nil {
			parent := certificateOf(r, ca.SecretName)
			found.unless(parent != nil && parent.Spec.IsCA, "issuer %s signs with Secret %s, which no CA writes", ref.Name, ca.SecretName)
		}
	}
	return found
}

// leafDuration is how long the certificate that is not a CA lives.
func leafDuration(r *rendered) time.Duration {
	var longest time.Duration
	for _, c := range all[*cmv1.Certificate](r) {
		if !c.Spec.IsCA && c.Spec.Duration != nil {
			longest = max(longest, c.Spec.Duration.Duration)
		}
	}
	return longest
}

// checkLifetimes: a serving certificate never outlives its CA; a CA keeps its key,
// so that what the old one signed is still trusted; the others change theirs.
func checkLifetimes(r *rendered) []string {
	var found problems
	leaf := leafDuration(r)
	for _, c := range all[*cmv1.Certificate](r) {
		s := c.Spec
		if s.Duration == nil || s.RenewBefore == nil || s.PrivateKey == nil {
			found.unless(false, "certificate %s leaves its lifetime to chance", c.Name)
			continue
		}
		found.unless(s.RenewBefore.Duration < s.Duration.Duration, "certificate %s is renewed for ever", c.Name)
		want := cmv1.RotationPolicyAlways
		if s.IsCA {
			want = cmv1.RotationPolicyNever
			found.unless(s.RenewBefore.Duration >= leaf, "a certificate can outlive its CA")
			found.unless(s.Duration.Duration >= 10*leaf, "the CA doesn't outlive many certificates")
		}
		found.unless(s.PrivateKey.RotationPolicy == want, "certificate %s: rotation policy %s", c.Name, s.PrivateKey.RotationPolicy)
	}
	return found
}
