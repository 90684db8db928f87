package webhook

import (
	"net/http"
	"strconv"
	"strings"
)

// Headers of every review, made once. Nobody may write to them.
var (
	typeJSON = []string{"application/json"}
	noSniff  = []string{"nosniff"}
)

// writeReview answers with an AdmissionReview.
func writeReview(w http.ResponseWriter, answer []byte) {
	h := w.Header()
	h["Content-Type"] = typeJSON
	h["Content-Length"] = []string{strconv.Itoa(len(answer))}
	h["X-Content-Type-Options"] = noSniff
	w.WriteHeader(http.StatusOK)
	// A client that is gone can't be told; nothing is left to do for it.
	_, _ = w.Write(answer)
}

// writeLine answers with one line of text.
func writeLine(w http.ResponseWriter, code int, line string) {
	writeText(w, code, oneLine(line)+"\n")
}

// writeText answers with text as it is.
func writeText(w http.ResponseWriter, code int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text))
}

// oneLine joins the lines of a text.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
