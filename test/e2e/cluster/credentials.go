package cluster

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// identity is one that the API server knows by a token.
type identity struct {
	name, user string
	groups     []string
}

// identities are all that the cluster uses. Three nodes are known, two are started;
// the third joins in a test.
func identities() []identity {
	all := []identity{
		{"admin", "admin", []string{"system:masters"}},
		{"cert-manager", "cert-manager", []string{"system:masters"}},
		{"kube-controller-manager", "system:kube-controller-manager", nil},
		{"kube-scheduler", "system:kube-scheduler", nil},
	}
	for _, node := range knownNodes {
		all = append(all, identity{node, "system:node:" + node, []string{"system:nodes"}})
	}
	return all
}

// writeTokens makes a token for each identity, once, in the API server's format.
func (c *Cluster) writeTokens() error {
	if _, err := os.Stat(c.tokenFile()); err == nil {
		return nil
	}
	var lines strings.Builder
	for _, one := range identities() {
		token := make([]byte, 16)
		_, _ = rand.Read(token)
		_, _ = fmt.Fprintf(&lines, "%s,%s,%s,%q\n", hex.EncodeToString(token), one.user, one.name, strings.Join(one.groups, ","))
	}
	return writeSecret(c.tokenFile(), []byte(lines.String()))
}

// writeServiceAccountKey makes the key that signs the tokens of ServiceAccounts.
func (c *Cluster) writeServiceAccountKey() error {
	if _, err := os.Stat(c.serviceAccountKey()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("make the key of ServiceAccounts: %w", err)
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return writeSecret(c.serviceAccountKey(), pem.EncodeToMemory(block))
}

// writeKubeconfigs writes a kubeconfig for each identity; the API server has made
// its certificate by then.
func (c *Cluster) writeKubeconfigs() error {
	text, err := os.ReadFile(c.tokenFile())
	if err != nil {
		return fmt.Errorf("read the tokens: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(line, ",", 4)
		config := api.NewConfig()
		config.Clusters["berth-e2e"] = &api.Cluster{
			Server: "https://" + apiAddress, CertificateAuthority: c.apiCertificate(),
		}
		config.AuthInfos[fields[2]] = &api.AuthInfo{Token: fields[0]}
		config.Contexts["berth-e2e"] = &api.Context{Cluster: "berth-e2e", AuthInfo: fields[2]}
		config.CurrentContext = "berth-e2e"
		if err := clientcmd.WriteToFile(*config, c.kubeconfigOf(fields[2])); err != nil {
			return fmt.Errorf("write the kubeconfig of %s: %w", fields[2], err)
		}
	}
	return nil
}

func (c *Cluster) kubeconfigOf(name string) string {
	if name == "admin" {
		return c.Kubeconfig()
	}
	return c.state("kubeconfigs", name)
}

func (c *Cluster) tokenFile() string         { return c.state("apiserver", "tokens.csv") }
func (c *Cluster) serviceAccountKey() string { return c.state("apiserver", "service-account.key") }
func (c *Cluster) apiCertificate() string    { return c.state("apiserver", "apiserver.crt") }

func writeSecret(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of %s: %w", path, err)
	}
	return os.WriteFile(path, content, 0o600)
}
