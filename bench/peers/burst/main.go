// An API server of ConfigMaps with one list and one watch. The list has -objects ConfigMaps. The watch sends -events
// changes as fast as the connection accepts them, or one in each -pause, then one event of an object named "last", and
// stays open. An object has the time when it was sent, in nanoseconds since 1970. HTTPS with an untrusted
// certificate; -http2 serves HTTP/2, otherwise HTTP/1.1. Prints its URL, and serves until its standard input ends.
package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"time"
)

const poolSize = 1 << 20

var (
	objects = flag.Int("objects", 20000, "objects in the list")
	events  = flag.Int("events", 100000, "changes in the watch")
	size    = flag.Int("size", 5000, "bytes of an object's data")
	pause   = flag.Duration("pause", 0, "pause before each change; 0: as fast as the connection accepts them")
	http2   = flag.Bool("http2", false, "serve HTTP/2")
	pool    = make([]byte, poolSize)
)

// Fills the pool with text that packs about as well as a pod's JSON: pieces that repeat, and random numbers between them.
func fill(pool []byte) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := make([]string, 60)
	for i := range pieces {
		piece := make([]byte, 20+random.IntN(80))
		for j := range piece {
			piece[j] = byte('a' + random.IntN(26))
		}
		pieces[i] = string(piece)
	}
	for at := 0; at < len(pool); {
		text := pieces[random.IntN(len(pieces))]
		if random.IntN(4) == 0 {
			text = fmt.Sprintf("-%08x-", random.Uint32())
		}
		at += copy(pool[at:], text)
	}
}

// Writes an object whose data differs in each version.
func writeObject(w io.Writer, name string, version int) {
	at := version * 977 % (poolSize - *size)
	fmt.Fprintf(w, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s","namespace":"default",`+
		`"uid":"%s","resourceVersion":"%d"},"data":{"at":"%d","text":"%s"}}`, name, name, version, time.Now().UnixNano(),
		pool[at:at+*size])
}

func nameOf(number int) string { return fmt.Sprintf("object-%d", number) }

func list(w *bufio.Writer) {
	fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[`, *objects)
	for i := range *objects {
		if i > 0 {
			w.WriteByte(',')
		}
		writeObject(w, nameOf(i), i+1)
	}
	w.WriteString("]}")
}

func writeEvent(w io.Writer, kind, name string, version int) {
	fmt.Fprintf(w, `{"type":"%s","object":`, kind)
	writeObject(w, name, version)
	fmt.Fprint(w, "}\n")
}

func watch(w *bufio.Writer, connection *http.ResponseController) {
	version := *objects
	for i := range *events {
		version++
		if *pause > 0 {
			w.Flush()
			connection.Flush()
			time.Sleep(*pause)
		}
		writeEvent(w, "MODIFIED", nameOf(i%*objects), version)
	}
	writeEvent(w, "ADDED", "last", version+1)
}

func serve(response http.ResponseWriter, request *http.Request) {
	response.Header().Set("Content-Type", "application/json")
	w := bufio.NewWriterSize(response, 64<<10)
	isWatch := request.URL.Query().Get("watch") != ""
	if isWatch {
		watch(w, http.NewResponseController(response))
	} else {
		list(w)
	}
	w.Flush()
	if isWatch {
		http.NewResponseController(response).Flush()
		<-request.Context().Done()
	}
}

func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(crand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		log.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func main() {
	flag.Parse()
	fill(pool)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := http.Server{Handler: http.HandlerFunc(serve),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate()}}, ErrorLog: log.New(io.Discard, "", 0)}
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(!*http2)
	server.Protocols.SetHTTP2(*http2)
	fmt.Printf("https://%s\n", listener.Addr())
	go server.ServeTLS(listener, "", "")
	io.Copy(io.Discard, os.Stdin)
}
