package cluster

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

const (
	// AppImage is the image of the command app: the tests' containers, and pause.
	AppImage = "docker.io/berth-e2e/app:1"
	// BerthVersion is the version that deploy/berth.yaml installs.
	BerthVersion = "v0.1.0"
)

// buildImages makes the archives that nodes import: Berth's own as `make image`
// makes it, and the tests'.
func (c *Cluster) buildImages(ctx context.Context) error {
	if err := c.buildBerth(ctx, BerthVersion); err != nil {
		return err
	}
	return writeImage(c.appArchive(), c.program("app"), AppImage)
}

// ImportBerth builds Berth's image with another version and gives it to the nodes
// that run.
func (c *Cluster) ImportBerth(ctx context.Context, version string) error {
	if err := c.buildBerth(ctx, version); err != nil {
		return err
	}
	for _, node := range c.nodes() {
		if err := c.ctr(ctx, node, "images", "import", c.berthArchive(version)); err != nil {
			return fmt.Errorf("import Berth %s into %s: %w", version, node, err)
		}
	}
	return nil
}

// buildBerth makes the image and keeps a copy: the next `make image` may be another
// version's.
func (c *Cluster) buildBerth(ctx context.Context, version string) error {
	if err := run(ctx, c.Root, "make", "image", "VERSION="+version, "IMAGE_ARCHES="+runtime.GOARCH); err != nil {
		return err
	}
	archive, err := os.ReadFile(filepath.Join(c.Root, "bin", "image", "berth-"+runtime.GOARCH+".tar"))
	if err != nil {
		return fmt.Errorf("read Berth's image: %w", err)
	}
	if err := os.MkdirAll(c.state(), 0o755); err != nil {
		return fmt.Errorf("make the state's folder: %w", err)
	}
	return os.WriteFile(c.berthArchive(version), archive, 0o644)
}

func (c *Cluster) appArchive() string { return c.state("app.tar") }

func (c *Cluster) berthArchive(version string) string { return c.state("berth-" + version + ".tar") }

// writeImage writes an image of one static program as an archive that containerd
// imports: one layer, one configuration, and the list of both.
func writeImage(archive, program, name string) error {
	binary, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read the program of image %s: %w", name, err)
	}
	entry := "/" + filepath.Base(program)
	layer, err := tarOf(file{entry[1:], 0o755, binary})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(layer)
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": []string{entry}, "Cmd": []string{"pause"}},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
	})
	if err != nil {
		return fmt.Errorf("write the configuration of image %s: %w", name, err)
	}
	manifest, err := json.Marshal([]map[string]any{{
		"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"},
	}})
	if err != nil {
		return fmt.Errorf("write the manifest of image %s: %w", name, err)
	}
	whole, err := tarOf(file{"layer.tar", 0o644, layer}, file{"config.json", 0o644, config}, file{"manifest.json", 0o644, manifest})
	if err != nil {
		return err
	}
	return os.WriteFile(archive, whole, 0o644)
}

type file struct {
	name    string
	mode    int64
	content []byte
}

func tarOf(files ...file) ([]byte, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), Typeflag: tar.TypeReg}
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("archive %s: %w", f.name, err)
		}
		if _, err := writer.Write(f.content); err != nil {
			return nil, fmt.Errorf("archive %s: %w", f.name, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("end an archive: %w", err)
	}
	return buffer.Bytes(), nil
}
