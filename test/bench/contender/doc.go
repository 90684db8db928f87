// Package contender holds the ways to do Berth's job that are measured against each
// other: Berth itself, and the common way, a controller-runtime admission handler as
// the Kubebuilder book shows it. What each of them can't do stands beside it in
// limits, with those of the ways that run in an API server only.
package contender
