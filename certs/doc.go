// Package certs gives Berth's server its certificate and decides which clients
// it takes: a pair of files that is reloaded without restart ([FileSource],
// over cert-manager's file source), a certificate made in memory for
// development ([SelfSigned]), a bundle of client CAs ([ClientCAFile]), and the
// TLS configuration over them ([ServerConfig]).
//
// Files are polled, not watched: a Secret volume changes by the rename of a
// symbolic link, which a watch on the file misses, and a poll needs no repair
// after an error. Whatever stands in the files, the last good certificate and
// the last good bundle stay in use until better ones are there.
//
// A certificate that is missing, expired or not valid yet makes the server not
// ready; it never ends the process, because cert-manager may still renew it.
//
// The package knows nothing of admission and imports nothing else of Berth.
package certs
