// Command floor is the least that a webhook must cost: a TLS server that reads the
// body of a request and writes a constant answer. The last part of the path is the
// size of that answer in bytes; with "mutate" or "validate" there, the answer allows
// what is asked, and with "mutate" it has a patch as Berth's, which changes nothing that
// counts: so that an API server can be given the least of webhooks. With --valid it has
// the standard library check the body: the least that reading JSON costs anybody.
package main

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strconv"
	"time"
)

func main() {
	address := flag.String("address", "127.0.0.1:0", "address to serve on")
	cert := flag.String("cert", "", "file of the certificate")
	key := flag.String("key", "", "file of its key")
	http2 := flag.Bool("http2", false, "speak HTTP/2, too")
	valid := flag.Bool("valid", false, "check that bodies are JSON")
	flag.Parse()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(*http2)
	server := &http.Server{
		Protocols: protocols,
		Addr:      *address, Handler: answer(*valid), ReadHeaderTimeout: 5 * time.Second,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12},
	}
	if err := server.ListenAndServeTLS(*cert, *key); !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

// answer reads the body into memory, as whoever wants to look at it must, and has the
// standard library look whether it is JSON, if that is wanted.
func answer(valid bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body := bytes.NewBuffer(make([]byte, 0, max(r.ContentLength, 0)+bytes.MinRead))
		if _, err := io.Copy(body, r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if valid && !json.Valid(body.Bytes()) {
			http.Error(w, "the body is no JSON", http.StatusBadRequest)
			return
		}
		text, err := answerTo(path.Base(r.URL.Path), body.Bytes())
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		_, _ = w.Write(text) // a client that is gone can't be told
	}
}

// answerTo is the answer that the last part of the path asks for. The first uid in a
// review is the request's.
func answerTo(last string, body []byte) ([]byte, error) {
	switch last {
	case "mutate":
		return allow(body, fmt.Sprintf(`,"patchType":"JSONPatch","patch":"%s"`, base64.StdEncoding.EncodeToString(patch(body)))), nil
	case "validate":
		return allow(body, ""), nil
	}
	size, err := strconv.Atoi(last)
	if err != nil || size < 0 {
		return nil, errors.New("the path must end in a size, mutate or validate")
	}
	return bytes.Repeat([]byte{' '}, size), nil
}

// allow is an answer that allows; more is more of the response.
func allow(body []byte, more string) []byte {
	return fmt.Appendf(nil, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"%s","allowed":true%s}}`, after(body, `"uid":"`), more)
}

// patch is like Berth's, but leaves the claim's name as it is.
func patch(body []byte) []byte {
	claim := after(body, `"claimName":"`)
	return fmt.Appendf(nil, `[{"op":"add","path":"/metadata/annotations","value":{"bench.example/claim":"%s"}},`+
		`{"op":"replace","path":"/spec/volumes/0/persistentVolumeClaim/claimName","value":"%s"}]`, claim, claim)
}

// after is the rest of the string that follows the first occurrence of a key.
func after(body []byte, key string) []byte {
	_, rest, _ := bytes.Cut(body, []byte(key))
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return value
}
