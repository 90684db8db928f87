package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// TestImage builds the image as a user does, and opens it.
func TestImage(t *testing.T) {
	if _, err := exec.LookPath("buildah"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("buildah is not installed: apt-get install buildah")
		}
		t.Skip("buildah is not installed: apt-get install buildah")
	}
	cmd := exec.CommandContext(t.Context(), "make", "image", "VERSION=v0.0.0-test")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		t.Run(arch, func(t *testing.T) {
			archive := readTar(t, filepath.Join(root, "bin/image/berth-"+arch+".tar"))
			checkImage(t, archive, arch, machine)
		})
	}
}

// TestTheDockerfileEndsFromScratch: nothing is in the image but the binary.
func TestTheDockerfileEndsFromScratch(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	require.NoError(t, err)
	last := ""
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "FROM ") {
			last = strings.TrimSpace(line)
		}
	}
	assert.Equal(t, "FROM scratch", last)
}

// descriptor is how an OCI image names a part of it.
type descriptor struct {
	Digest      string            `json:"digest"`
	Annotations map[string]string `json:"annotations"`
}

func checkImage(t *testing.T, archive map[string][]byte, arch string, machine elf.Machine) {
	var index struct{ Manifests []descriptor }
	decode(t, archive["index.json"], &index)
	require.Len(t, index.Manifests, 1)
	assert.Equal(t, "ghcr.io/berth-dev/berth:v0.0.0-test", index.Manifests[0].Annotations["org.opencontainers.image.ref.name"])

	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	decode(t, blob(archive, index.Manifests[0]), &manifest)
	var image struct {
		Architecture, OS string
		Config           struct {
			User            string
			Entrypoint, Cmd []string
			ExposedPorts    map[string]any
		}
	}
	decode(t, blob(archive, manifest.Config), &image)
	assert.Equal(t, arch, image.Architecture)
	assert.Equal(t, "linux", image.OS)
	assert.Equal(t, "65532:65532", image.Config.User, "runAsNonRoot needs a number")
	assert.Equal(t, []string{"/berth"}, image.Config.Entrypoint)
	assert.Equal(t, []string{"serve"}, image.Config.Cmd)

	require.Len(t, manifest.Layers, 1)
	files := unpack(t, blob(archive, manifest.Layers[0]))
	require.Len(t, files, 1, "nothing but the binary")
	binary, err := elf.NewFile(bytes.NewReader(files["berth"]))
	require.NoError(t, err)
	assert.Equal(t, machine, binary.Machine)
	assert.Nil(t, binary.Section(".interp"), "static: there is no loader in the image")
	assert.Contains(t, string(files["berth"]), "v0.0.0-test", "the version is stamped in")
}

func blob(archive map[string][]byte, d descriptor) []byte {
	return archive["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
}

func decode(t *testing.T, b []byte, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(b, into), "%s", b)
}

func readTar(t *testing.T, path string) map[string][]byte {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return filesOf(t, f)
}

func unpack(t *testing.T, layer []byte) map[string][]byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(layer))
	require.NoError(t, err)
	return filesOf(t, z)
}

// filesOf are the files of a tar archive.
func filesOf(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if files[strings.TrimPrefix(h.Name, "./")], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}
