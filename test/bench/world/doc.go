// Package world makes what the benchmarks work on: clusters of any size, the pods
// that run on them, and the AdmissionReviews that an API server sends for those.
// Everything is made from numbers, so that every run measures the same bytes.
package world
