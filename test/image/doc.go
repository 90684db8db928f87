// Package image tests the container image: that make image builds it without
// a registry, and that it is what the manifests rely on.
package image
