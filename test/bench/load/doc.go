// Package load puts webhooks under load: over HTTP/1.1 and HTTP/2 on connections
// that are kept, in a closed loop (the next request follows the answer) or in an
// open one (requests leave on time, whatever the answers do). Its clients do as
// little as they can, because they share the machine with what they measure.
package load
