// Many kubeconfigs, flags and environments, read by client-go and by kinformer's library. Both must get the same configuration (server,
// credentials, CA, proxy and so on), or both an error. Each row of allKubeconfigs has its intended difference and the reason.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"
)

var kubeconfigCases = []testCase{{name: "kubeconfigs", kinformerOnly: true, run: compareKubeconfigs}}

// The differences between kinformer and client-go.
const (
	same               = ""
	onlyKinformerFails = "an error from kinformer only"
	onlyClientGoFails  = "an error from client-go only"
	readDifferently    = "different results"
)

type kubeconfig struct {
	name    string
	files   map[string]string // files in the directory DIR, in addition to those of tlsFiles
	list    string            // KUBECONFIG, with names of files in DIR
	flags   string            // flags of the command line; DIR/ stands for the directory
	differs string            // the expected difference
	why     string            // the reason for the difference
}

func compareKubeconfigs(ctx context.Context, h *harness) error {
	showConfig := filepath.Join(filepath.Dir(h.kinformer), "..", "tests", "programs", "show_config")
	files, err := tlsFiles()
	if err != nil {
		return err
	}
	var errs []error
	counts := map[string]int{}
	total, alike, rejected := 0, 0, 0
	for i, k := range allKubeconfigs(files) {
		total++
		dir := filepath.Join(h.caseDir, fmt.Sprint(i))
		if err := k.write(dir, files); err != nil {
			return err
		}
		theirs, err := k.read(ctx, dir, filepath.Join(h.bin, "kubeconfig"))
		if err != nil {
			return err
		}
		ours, err := k.read(ctx, dir, showConfig)
		if err != nil {
			return err
		}
		found := compareResponses(ours, theirs)
		if found != k.differs {
			errs = append(errs, fmt.Errorf("%s: difference %q, wanted %q\n  kinformer: %v\n  client-go: %v", k.name, found, k.differs, ours, theirs))
		}
		switch {
		case found != same:
			counts[found]++
		case theirs["error"] != nil:
			rejected++
		default:
			alike++
		}
	}
	fmt.Printf("# %d kubeconfigs: %d with the same result, %d with an error from both; %d with an error from kinformer only, %d from client-go only, %d with different results\n",
		total, alike, rejected, counts[onlyKinformerFails], counts[onlyClientGoFails], counts[readDifferently])
	return errors.Join(errs...)
}

func compareResponses(ours, theirs map[string]any) string {
	weFail, theyFail := ours["error"] != nil, theirs["error"] != nil
	switch {
	case weFail && theyFail:
		return same
	case weFail:
		return onlyKinformerFails
	case theyFail:
		return onlyClientGoFails
	case reflect.DeepEqual(ours, theirs):
		return same
	}
	return readDifferently
}

func (k kubeconfig) write(dir string, shared map[string]string) error {
	for _, files := range []map[string]string{shared, k.files} {
		for name, text := range files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// read runs a program, and returns its output in a comparable form: asExtra is sorted, and the path of the plugin is cleaned.
func (k kubeconfig) read(ctx context.Context, dir, program string) (map[string]any, error) {
	flags := strings.Fields(strings.ReplaceAll(k.flags, "DIR/", dir+"/"))
	command := exec.CommandContext(ctx, program, flags...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	command.Dir = dir
	command.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	if k.list != "" {
		var paths []string
		for _, name := range strings.Split(k.list, ":") {
			if name != "" && !strings.HasPrefix(name, "./") {
				name = filepath.Join(dir, name)
			}
			paths = append(paths, name)
		}
		command.Env = append(command.Env, "KUBECONFIG="+strings.Join(paths, ":"))
	}
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", k.name, filepath.Base(program), err)
	}
	var response map[string]any
	if err := json.Unmarshal(text, &response); err != nil {
		return nil, fmt.Errorf("%s: %s: %w: %s", k.name, filepath.Base(program), err, text)
	}
	if extra, isList := response["asExtra"].([]any); isList {
		slices.SortFunc(extra, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	if plugin, isMap := response["exec"].(map[string]any); isMap {
		if path, isText := plugin["command"].(string); isText && strings.Contains(path, "/") {
			plugin["command"] = filepath.Clean(path)
		}
	}
	return response, nil
}

// tlsFiles returns files for the kubeconfigs: three self-signed certificates (a CA and two clients), tokens, and a file that is not PEM.
func tlsFiles() (map[string]string, error) {
	files := map[string]string{
		"token": "file-token\n", "spaced": " \t file-token \n\n", "empty": "", "blank": " \n", "garbage": "this is no PEM\n",
		"lines": "two\nlines\n",
	}
	for i, name := range []string{"ca", "client", "other"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		template := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 1)), Subject: pkix.Name{CommonName: name}, IsCA: name == "ca",
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
		}
		certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		if err != nil {
			return nil, err
		}
		keyBytes, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, err
		}
		files["pki/"+name+".pem"] = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
		files["pki/"+name+".key"] = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyBytes}))
	}
	return files, nil
}

// kubeconfigText returns a kubeconfig with one cluster and one user, both given as the inside of a YAML flow mapping.
func kubeconfigText(cluster, user string) string {
	return "apiVersion: v1\nkind: Config\ncurrent-context: main\ncontexts:\n- name: main\n  context: {cluster: c, user: u, namespace: ns1}\n" +
		"clusters:\n- name: c\n  cluster: {" + cluster + "}\nusers:\n- name: u\n  user: {" + user + "}\n"
}

const httpsServer = "server: 'https://a.example:6443'"

func allKubeconfigs(files map[string]string) []kubeconfig {
	data := func(name string) string { return base64.StdEncoding.EncodeToString([]byte(files[name])) }
	all := combinedKubeconfigs(data)
	all = append(all, clusterKubeconfigs(data)...)
	all = append(all, userKubeconfigs(data)...)
	all = append(all, textKubeconfigs(data)...)
	all = append(all, listKubeconfigs()...)
	return append(all, flagKubeconfigs(data)...)
}

// singleFile is a kubeconfig in one file, with the flag --kubeconfig.
func singleFile(name, cluster, user string) kubeconfig {
	return kubeconfig{name: name, files: map[string]string{"config": kubeconfigText(cluster, user)}, flags: "--kubeconfig DIR/config"}
}

func (k kubeconfig) differing(differs, why string) kubeconfig {
	k.differs, k.why = differs, why
	return k
}

// combinedKubeconfigs combines each way to verify the server with each kind of user credentials.
func combinedKubeconfigs(data func(string) string) []kubeconfig {
	servers := []string{
		"", "certificate-authority: pki/ca.pem", "certificate-authority-data: " + data("pki/ca.pem"),
		"certificate-authority: pki/ca.pem, certificate-authority-data: " + data("pki/ca.pem"),
		"insecure-skip-tls-verify: true", "insecure-skip-tls-verify: true, certificate-authority: pki/ca.pem",
	}
	plugin := "exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Never}"
	users := []string{
		"", "token: t", "tokenFile: token", "token: t, tokenFile: token", "username: me, password: pw", "token: t, username: me, password: pw",
		"client-certificate: pki/client.pem, client-key: pki/client.key",
		"client-certificate-data: " + data("pki/client.pem") + ", client-key-data: " + data("pki/client.key"),
		"client-certificate: pki/client.pem, client-key-data: " + data("pki/client.key"),
		"client-certificate: pki/client.pem, client-key: pki/client.key, token: t",
		"client-certificate: pki/client.pem", plugin, plugin + ", token: t",
		plugin + ", client-certificate: pki/client.pem, client-key: pki/client.key",
	}
	var all []kubeconfig
	for i, server := range servers {
		for k, user := range users {
			all = append(all, singleFile(fmt.Sprintf("server %d, user %d", i, k), httpsServer+", "+server, user))
		}
	}
	return all
}

func clusterKubeconfigs(data func(string) string) []kubeconfig {
	plainHTTP := "client-go silently drops credentials over http"
	noScheme := "client-go uses http"
	return []kubeconfig{
		singleFile("no server", "", ""),
		singleFile("server with a path", "server: 'https://a.example/k8s/clusters/x'", "token: t"),
		singleFile("server with a slash at the end", "server: 'https://a.example/'", "token: t"),
		singleFile("server with a path and slashes", "server: 'https://a.example/x//'", "token: t"),
		singleFile("server with an uppercase scheme", "server: 'HTTPS://a.example'", "token: t"),
		singleFile("server with an IPv4 address", "server: 'https://10.0.0.1:6443'", "token: t"),
		singleFile("server with an IPv6 address", "server: 'https://[fd00::1]:6443'", "token: t"),
		singleFile("server with an incomplete IPv6 address", "server: 'https://[fd00::1'", "token: t"),
		singleFile("plain http", "server: 'http://a.example:8080'", ""),
		singleFile("plain http with a token", "server: 'http://a.example:8080'", "token: t").differing(onlyKinformerFails, plainHTTP),
		singleFile("plain http with a certificate", "server: 'http://a.example:8080'", "client-certificate: pki/client.pem, client-key: pki/client.key").differing(onlyKinformerFails, plainHTTP),
		singleFile("plain http with impersonation", "server: 'http://a.example:8080'", "as: bob"),
		singleFile("no scheme", "server: a.example", "").differing(onlyKinformerFails, noScheme),
		singleFile("no scheme but a port", "server: 'a.example:6443'", "").differing(onlyKinformerFails, noScheme),
		singleFile("no scheme, with a path", "server: 'a.example/x'", ""),
		singleFile("another scheme", "server: 'ftp://a.example'", "").differing(onlyKinformerFails, "client-go fails when it connects"),
		singleFile("a password in the server's URL", "server: 'https://me:pw@a.example'", "").differing(onlyKinformerFails, "client-go prints URLs, with the password"),
		singleFile("a query in the server's URL", "server: 'https://a.example?x=y'", "").differing(onlyKinformerFails, "client-go overwrites the query"),
		singleFile("a server that is a number", "server: 6443", ""),
		singleFile("a server that is a list", "server: [a]", ""),
		singleFile("invalid port", "server: 'https://a.example:x'", ""),
		singleFile("port too large", "server: 'https://a.example:65536'", "").differing(onlyKinformerFails, "client-go fails when it connects"),
		singleFile("server with a control character", "server: \"https://a.example\\nX: y\"", ""),
		singleFile("CA file that is missing", httpsServer+", certificate-authority: pki/none.pem", ""),
		singleFile("CA file that is a directory", httpsServer+", certificate-authority: pki", ""),
		singleFile("CA file that is no PEM", httpsServer+", certificate-authority: garbage", ""),
		singleFile("CA file that is empty", httpsServer+", certificate-authority: empty", "").differing(onlyKinformerFails, "client-go uses the CAs of the system"),
		singleFile("CA file that is a key", httpsServer+", certificate-authority: pki/ca.key", ""),
		singleFile("CA data that is no PEM", httpsServer+", certificate-authority-data: Z2FyYmFnZQ==", ""),
		singleFile("CA data that is no base64", httpsServer+", certificate-authority-data: '***'", ""),
		singleFile("CA data that is truncated", httpsServer+", certificate-authority-data: 'Q0EtREFUQQ='", ""),
		singleFile("CA data with stray bits at the end", httpsServer+", certificate-authority-data: '"+strayBits(data("pki/ca.pem"))+"'", "").differing(onlyKinformerFails, "the data is truncated or damaged"),
		singleFile("CA data in lines", httpsServer+", certificate-authority-data: \""+inLines(data("pki/ca.pem"))+"\"", ""),
		singleFile("CA data that is empty", httpsServer+", certificate-authority-data: ''", ""),
		singleFile("CA data that is null", httpsServer+", certificate-authority-data: null", ""),
		singleFile("insecure, quoted", httpsServer+", insecure-skip-tls-verify: 'true'", ""),
		singleFile("insecure: yes", httpsServer+", insecure-skip-tls-verify: yes", ""),
		singleFile("insecure: maybe", httpsServer+", insecure-skip-tls-verify: maybe", ""),
		singleFile("tls-server-name", httpsServer+", tls-server-name: other.example", "token: t"),
		singleFile("disable-compression", httpsServer+", disable-compression: true", "token: t"),
		singleFile("proxy", httpsServer+", proxy-url: 'http://proxy.example:3128'", "token: t"),
		singleFile("proxy over TLS", httpsServer+", proxy-url: 'https://proxy.example'", "token: t"),
		singleFile("socks proxy", httpsServer+", proxy-url: 'socks5://proxy.example:1080'", "token: t"),
		singleFile("proxy with a password", httpsServer+", proxy-url: 'http://me:pw@proxy.example:3128'", "token: t"),
		singleFile("proxy with a slash", httpsServer+", proxy-url: 'http://proxy.example:3128/'", "token: t"),
		singleFile("proxy with another scheme", httpsServer+", proxy-url: 'socks6://proxy.example'", "token: t"),
		singleFile("proxy without a scheme", httpsServer+", proxy-url: 'proxy.example:3128'", "token: t"),
		singleFile("proxy without a host", httpsServer+", proxy-url: 'http://'", "token: t").differing(onlyKinformerFails, "client-go fails when it connects"),
		singleFile("proxy that is no URL", httpsServer+", proxy-url: 'chewbacca@example.com'", "token: t"),
		singleFile("an extension", httpsServer+", extensions: [{name: x, extension: {a: 1}}]", "token: t"),
		singleFile("extensions of one name", httpsServer+", extensions: [{name: x, extension: {a: 1}}, {name: x, extension: {a: 2}}]", "token: t"),
		singleFile("an unknown field", httpsServer+", colour: green", "token: t"),
		singleFile("a known field with a capital letter", httpsServer+", Server: 'https://b.example'", "token: t"),
	}
}

// strayBits returns base64 with bits set in the last letter that belong to no byte. Base64 without padding gets one more byte for that.
func strayBits(text string) string {
	if !strings.HasSuffix(text, "=") {
		return strings.TrimRight(text, "=") + "Ch=="
	}
	bare := strings.TrimRight(text, "=")
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	last := strings.IndexByte(letters, bare[len(bare)-1])
	return bare[:len(bare)-1] + string(letters[last|1]) + text[len(bare):]
}

// inLines returns base64 in lines of 76 letters, as `base64` without -w0 prints it.
func inLines(text string) string {
	var lines []string
	for len(text) > 76 {
		lines, text = append(lines, text[:76]), text[76:]
	}
	return strings.Join(append(lines, text), "\\n")
}

func userKubeconfigs(data func(string) string) []kubeconfig {
	v1 := "apiVersion: client.authentication.k8s.io/v1, interactiveMode: IfAvailable, "
	exec := func(name, plugin string) kubeconfig {
		return singleFile(name, httpsServer+", extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: foo, n: [1, 1.5, true, null, 'x']}}]",
			"exec: {"+plugin+"}")
	}
	return []kubeconfig{
		singleFile("token that is a number", httpsServer, "token: 12345"),
		singleFile("token in quotes", httpsServer, "token: '12345'"),
		singleFile("token that is a date", httpsServer, "token: 2001-01-01"),
		singleFile("token with a time", httpsServer, "token: 12:30:45"),
		singleFile("token that is a YAML boolean", httpsServer, "token: on"),
		singleFile("token with line ends", httpsServer, "token: \"a\\r\\nHost: b\""),
		singleFile("token with a zero byte", httpsServer, "token: \"a\\0b\""),
		singleFile("token that is empty", httpsServer, "token: ''"),
		singleFile("token file with spaces around it", httpsServer, "tokenFile: spaced"),
		singleFile("token file that is missing", httpsServer, "tokenFile: none"),
		singleFile("token file that is missing, and a token", httpsServer, "token: t, tokenFile: none"),
		singleFile("token file that is empty", httpsServer, "tokenFile: empty"),
		singleFile("token file that is blank", httpsServer, "tokenFile: blank"),
		singleFile("token file that is empty, and a token", httpsServer, "token: t, tokenFile: empty"),
		singleFile("token file with two lines", httpsServer, "tokenFile: lines"),
		singleFile("token file and basic", httpsServer, "tokenFile: token, username: me, password: pw"),
		singleFile("username alone", httpsServer, "username: me"),
		singleFile("password alone", httpsServer, "password: pw").differing(onlyKinformerFails, "client-go silently ignores it"),
		singleFile("username with a colon", httpsServer, "username: 'a:b', password: pw").differing(onlyKinformerFails, "the server would get another username"),
		singleFile("key alone", httpsServer, "client-key: pki/client.key").differing(onlyKinformerFails, "client-go silently ignores it"),
		singleFile("certificate that is missing", httpsServer, "client-certificate: pki/none.pem, client-key: pki/client.key"),
		singleFile("key that is missing", httpsServer, "client-certificate: pki/client.pem, client-key: pki/none.key"),
		singleFile("certificate that is no PEM", httpsServer, "client-certificate: garbage, client-key: pki/client.key").differing(onlyKinformerFails, "client-go fails when it connects"),
		singleFile("key that is no PEM", httpsServer, "client-certificate: pki/client.pem, client-key: garbage").differing(onlyKinformerFails, "client-go fails when it connects"),
		singleFile("key of another certificate", httpsServer, "client-certificate: pki/client.pem, client-key: pki/other.key").differing(onlyKinformerFails, "client-go fails when it connects"),
		singleFile("key of another certificate, as data", httpsServer, "client-certificate-data: "+data("pki/client.pem")+", client-key-data: "+data("pki/other.key")),
		singleFile("certificate as file and data", httpsServer, "client-certificate: pki/client.pem, client-certificate-data: "+data("pki/client.pem")+", client-key: pki/client.key"),
		singleFile("key as file and data", httpsServer, "client-certificate: pki/client.pem, client-key: pki/client.key, client-key-data: "+data("pki/client.key")),
		singleFile("certificate with an absolute path", httpsServer, "client-certificate: /etc/none.pem, client-key: pki/client.key"),
		singleFile("as", httpsServer, "token: t, as: bob"),
		singleFile("as with all fields", httpsServer, "token: t, as: bob, as-uid: '7', as-groups: [x, z], as-user-extra: {reason: [a, b], 'k/x': [c]}"),
		singleFile("as-user-extra with keys that are not strings", httpsServer, "token: t, as: bob, as-user-extra: {no: [a], 017: [b], 'on': [c], 1.5: [d]}"),
		singleFile("as-user-extra with a null key", httpsServer, "token: t, as: bob, as-user-extra: {~: [a]}"),
		singleFile("as-groups alone", httpsServer, "token: t, as-groups: [x]"),
		singleFile("as-uid alone", httpsServer, "token: t, as-uid: x"),
		singleFile("as-user-extra alone", httpsServer, "token: t, as-user-extra: {a: [b]}"),
		singleFile("as-user-extra that is a string", httpsServer, "token: t, as: bob, as-user-extra: {a: b}"),
		singleFile("as-groups that is a string", httpsServer, "token: t, as: bob, as-groups: x"),
		singleFile("as-groups with a number", httpsServer, "token: t, as: bob, as-groups: [1]"),
		singleFile("auth-provider gcp", httpsServer, "auth-provider: {name: gcp}"),
		singleFile("auth-provider azure", httpsServer, "auth-provider: {name: azure, config: {a: b}}"),
		singleFile("auth-provider oidc", httpsServer, "auth-provider: {name: oidc, config: {idp-issuer-url: 'https://i.example', client-id: x}}").differing(onlyKinformerFails, "auth-provider is deprecated; exec plugins replace it"),
		singleFile("auth-provider without a name", httpsServer, "auth-provider: {}"),
		singleFile("auth-provider and exec", httpsServer, "auth-provider: {name: oidc}, exec: {"+v1+"command: x}"),
		exec("exec with a name", v1+"command: aws, args: [a, 'b c'], env: [{name: NAME, value: v}]"),
		exec("exec with an absolute path", v1+"command: /usr/bin/aws, provideClusterInfo: true"),
		exec("exec with a relative path", v1+"command: ./bin/aws"),
		exec("exec with a relative path and ..", v1+"command: bin/../aws, installHint: \"get \\e[1mit\\e[0m\\nthere \\x7f\""),
		exec("exec v1beta1", "apiVersion: client.authentication.k8s.io/v1beta1, command: aws"),
		exec("exec v1beta1, Always", "apiVersion: client.authentication.k8s.io/v1beta1, command: aws, interactiveMode: Always"),
		exec("exec v1 without interactiveMode", "apiVersion: client.authentication.k8s.io/v1, command: aws"),
		exec("exec with an unknown interactiveMode", v1+"interactiveMode: Perhaps, command: aws"),
		exec("exec v1alpha1", "apiVersion: client.authentication.k8s.io/v1alpha1, command: aws"),
		exec("exec with an unknown apiVersion", "apiVersion: v7, command: aws, interactiveMode: Never"),
		exec("exec without apiVersion", "command: aws, interactiveMode: Never"),
		exec("exec without a command", v1+"args: [a]"),
		exec("exec with args that are a string", v1+"command: aws, args: a"),
		exec("exec with args null", v1+"command: aws, args: null, env: null"),
		exec("exec with a nameless variable", v1+"command: aws, env: [{value: v}]"),
		exec("exec with an unknown field", v1+"command: aws, colour: green"),
		singleFile("exec that is empty", httpsServer, "exec: {}"),
		singleFile("exec that is null", httpsServer, "exec: null"),
		singleFile("exec that is a string", httpsServer, "exec: aws"),
		singleFile("exec and basic", httpsServer, "exec: {"+v1+"command: aws}, username: me, password: pw"),
		singleFile("an unknown field of a user", httpsServer, "token: t, colour: green"),
	}
}

// text is a kubeconfig in one file with this content.
func text(name, content string) kubeconfig {
	return kubeconfig{name: name, files: map[string]string{"config": content}, flags: "--kubeconfig DIR/config"}
}

func textKubeconfigs(data func(string) string) []kubeconfig {
	plain := kubeconfigText(httpsServer, "token: t")
	json := `{"apiVersion":"v1","kind":"Config","current-context":"x","contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],` +
		`"clusters":[{"name":"c","cluster":{"server":"https://j.example","certificate-authority-data":"` + data("pki/ca.pem") + `"}}],` +
		`"users":[{"name":"u","user":{"token":"\u0074"}}]}`
	return []kubeconfig{
		text("plain", plain),
		text("JSON", json),
		text("JSON with tabs", strings.ReplaceAll(json, ",", ",\n\t")),
		text("JSON with an escaped slash", strings.ReplaceAll(json, "https://", `https:\/\/`)).differing(onlyClientGoFails, "JSON allows an escaped slash"),
		text("empty", ""),
		text("a comment", "# nothing\n"),
		text("a string", "just text"),
		text("a list", "[1, 2]"),
		text("invalid YAML", "a: [b\nc: d"),
		text("bytes that are no UTF-8", "a: \xff\xfe\n"),
		text("a second document that is invalid", plain+"---\n[\n"),
		text("a second document", plain+"---\ncurrent-context: other\n"),
		text("CRLF line ends", strings.ReplaceAll(plain, "\n", "\r\n")),
		text("without kind and apiVersion", strings.ReplaceAll(plain, "apiVersion: v1\nkind: Config\n", "")),
		text("another kind", strings.ReplaceAll(plain, "kind: Config", "kind: Pod")),
		text("another apiVersion", strings.ReplaceAll(plain, "apiVersion: v1\n", "apiVersion: v2\n")),
		text("no current-context", strings.ReplaceAll(plain, "current-context: main\n", "")),
		text("current-context that is missing", strings.ReplaceAll(plain, "current-context: main\n", "current-context: none\n")),
		text("current-context that is a number", strings.ReplaceAll(plain, "current-context: main\n", "current-context: 1\n")),
		text("current-context y", strings.ReplaceAll(plain, "current-context: main\n", "current-context: y\n")),
		text("a context without a user", strings.ReplaceAll(plain, ", user: u", "")),
		text("a context without a cluster", strings.ReplaceAll(plain, "cluster: c, ", "")),
		text("a context without a namespace", strings.ReplaceAll(plain, ", namespace: ns1", "")),
		text("a user that is missing", strings.ReplaceAll(plain, "user: u", "user: gone")).differing(onlyKinformerFails, "client-go continues without credentials"),
		text("a cluster that is missing", strings.ReplaceAll(plain, "cluster: c,", "cluster: gone,")),
		text("an invalid namespace", strings.ReplaceAll(plain, "ns1", "'a/../b'")).differing(onlyKinformerFails, "the namespace becomes part of URLs"),
		text("a name twice", plain+"- name: u\n  user: {token: other}\n"),
		text("a field twice", strings.ReplaceAll(plain, "token: t", "token: a, token: b")),
		text("lists that are maps", strings.ReplaceAll(plain, "users:\n- name: u\n  user: {token: t}", "users: {u: {token: t}}")),
		text("an unused entry with a wrong type", plain+"- name: other\n  user: {token: [x]}\n"),
		text("unused invalid base64", plain+"- name: other\n  user: {client-key-data: '*'}\n"),
		text("an entry that is null", plain+"- null\n"),
		text("entries without a name", plain+"- user: {token: x}\n- user: {token: z}\n"),
		text("unknown fields everywhere", plain+"colour: green\npreferences: {colors: true, x: y}\n"),
		text("preferences with a wrong type", plain+"preferences: {colors: green}\n"),
		text("anchors", "a: &s 'https://anchor.example'\n"+strings.ReplaceAll(plain, "'https://a.example:6443'", "*s")),
		text("an alias without an anchor", strings.ReplaceAll(plain, "'https://a.example:6443'", "*s")),
		text("an alias to itself", plain+"x: &x [*x]\n"),
		text("an alias to itself in a field that is used", strings.ReplaceAll(plain, "token: t", "token: t, as-groups: &x [*x]")),
		text("a merge key", "a: &s {server: 'https://merged.example', tls-server-name: n.example}\n"+strings.ReplaceAll(plain, httpsServer, "<<: *s, tls-server-name: own")),
		text("a merge key at the end", "a: &s {server: 'https://merged.example', tls-server-name: n.example}\n"+strings.ReplaceAll(plain, httpsServer, "tls-server-name: own, <<: *s")),
		text("a merge key with a list", "a: &s {server: 'https://one.example'}\nb: &t {server: 'https://two.example', tls-server-name: n.example}\n"+strings.ReplaceAll(plain, httpsServer, "<<: [*s, *t]")),
		text("a merge key with a string", strings.ReplaceAll(plain, httpsServer, "<<: x")),
		text("a tag for a string", strings.ReplaceAll(plain, "token: t", "token: !!str 123")),
		text("a tag for a number", strings.ReplaceAll(plain, "token: t", "token: !!int '123'")),
		text("a tag that contradicts the value", strings.ReplaceAll(plain, "token: t", "token: !!int x")),
		text("an unknown tag", strings.ReplaceAll(plain, "token: t", "token: !mine x")).differing(onlyKinformerFails, "the meaning of the tag is unknown"),
		text("a key that is a list", plain+"? [a]\n: b\n"),
		text("a folded block string", strings.ReplaceAll(plain, "{token: t}", "\n    token: >-\n      abc\n      def\n")),
		text("a literal block string", strings.ReplaceAll(plain, "{token: t}", "\n    token: |\n      abc\n")),
		text("tabs for spaces", strings.ReplaceAll(plain, "\n  context", "\n\tcontext")),
	}
}

func listKubeconfigs() []kubeconfig {
	first := "current-context: ''\ncontexts: [{name: x, context: {cluster: c, user: u, namespace: one}}]\n"
	second := "current-context: x\ncontexts: [{name: x, context: {namespace: two}}]\nusers: [{name: u, user: {tokenFile: token}}]\n"
	third := "current-context: z\nclusters: [{name: c, cluster: {" + httpsServer + ", certificate-authority: ../pki/ca.pem}}]\nusers: [{name: u, user: {token: three}}]\n"
	files := map[string]string{
		"one": first, "sub/two": second, "sub/token": "token of two", "other/three": third, "bad": "[", ".kube/config": kubeconfigText(httpsServer, "token: home"),
		"wrong": "users: [{name: u, user: {token: 1}}]\n", "split": "users: [{name: u, user: {username: me}}]\n",
	}
	list := func(name, list, flags string) kubeconfig {
		return kubeconfig{name: "list: " + name, files: files, list: list, flags: flags}
	}
	return []kubeconfig{
		list("the home's file", "", ""),
		list("three files", "one:sub/two:other/three", ""),
		list("another order", "other/three:sub/two:one", ""),
		list("missing and empty entries between", "none:one::sub/two:gone:other/three", ""),
		list("all missing", "none:gone", ""),
		list("a file twice", "one:one:sub/two:other/three:one", ""),
		list("a file that is invalid", "one:bad:sub/two:other/three", ""),
		list("a file with a wrong type", "one:sub/two:other/three:wrong", ""),
		list("an entry that is a directory", "one:sub:sub/two:other/three", ""),
		list("relative paths", "./one:./sub/two:./other/three", ""),
		list("entries are not mixed", "split:one:sub/two:other/three", ""),
		list("an explicit file wins", "one:sub/two:other/three", "--kubeconfig DIR/.kube/config"),
		list("an explicit file that is missing", "one:sub/two:other/three", "--kubeconfig DIR/none"),
		list("an explicit file with a relative path", "", "--kubeconfig other/three --server https://b.example --user u --cluster c"),
		list("another context", "one:sub/two:other/three:.kube/config", "--context main"),
		list("a context that is missing", "one:sub/two:other/three", "--context none"),
		list("only a server", "none", "--server https://b.example:1 --token t"),
	}
}

func flagKubeconfigs(data func(string) string) []kubeconfig {
	config := kubeconfigText(httpsServer+", tls-server-name: n.example, proxy-url: 'http://p.example', certificate-authority-data: "+data("pki/ca.pem"),
		"client-certificate-data: "+data("pki/client.pem")+", client-key-data: "+data("pki/client.key")+", as: alice, as-groups: [admins]") +
		"- name: token\n  user: {token: t}\n- name: basic\n  user: {username: me, password: pw}\n- name: nobody\n  user: {}\n"
	config = strings.Replace(config, "clusters:\n", "clusters:\n- name: other\n  cluster: {server: 'https://other.example', insecure-skip-tls-verify: true}\n", 1)
	config = strings.Replace(config, "contexts:\n", "contexts:\n- name: second\n  context: {cluster: other, user: token, namespace: ns2}\n"+
		"- name: broken\n  context: {cluster: gone, user: gone}\n", 1)
	flags := func(words string) kubeconfig {
		return kubeconfig{name: "flags " + words, files: map[string]string{"config": config}, flags: "--kubeconfig DIR/config " + words}
	}
	replaces := "a credential of the command line replaces that of the kubeconfig"
	return []kubeconfig{
		flags(""),
		flags("--context second"),
		flags("--cluster other"),
		flags("--user token"),
		flags("--user nobody"),
		flags("--cluster none"),
		flags("--user none"),
		flags("--context second --cluster c --user basic"),
		flags("--namespace here"),
		flags("--namespace ns/here"),
		flags("--namespace NAMESPACES/here"),
		flags("--server https://b.example"),
		flags("--server https://b.example --tls-server-name m"),
		flags("--tls-server-name m"),
		flags("--server http://b.example"),
		flags("--insecure-skip-tls-verify"),
		flags("--certificate-authority DIR/pki/other.pem"),
		flags("--certificate-authority pki/other.pem"),
		flags("--certificate-authority DIR/pki/none.pem"),
		flags("--certificate-authority DIR/pki/other.pem --insecure-skip-tls-verify"),
		flags("--context second --certificate-authority DIR/pki/ca.pem"),
		flags("--client-certificate DIR/pki/other.pem --client-key DIR/pki/other.key"),
		flags("--client-key DIR/pki/client.key"),
		flags("--client-certificate DIR/pki/other.pem"),
		flags("--proxy-url socks5://q.example:1080"),
		flags("--disable-compression"),
		flags("--as bob").differing(readDifferently, "--as replaces the whole impersonation: not bob with the groups of alice"),
		flags("--as-group x --as-group y"),
		flags("--as-uid 7"),
		flags("--user token --as bob --as-group x --as-uid 7"),
		flags("--user token --as-group x"),
		flags("--user nobody --token t"),
		flags("--user nobody --username me --password pw"),
		flags("--user token --token other"),
		flags("--token other").differing(readDifferently, replaces),
		flags("--username me --password pw").differing(readDifferently, replaces),
		flags("--user token --client-certificate DIR/pki/other.pem --client-key DIR/pki/other.key").differing(readDifferently, replaces),
		flags("--user basic --token other").differing(onlyClientGoFails, replaces),
		flags("--user token --username me --password pw").differing(onlyClientGoFails, replaces),
		flags("--token t --username me"),
		flags("--context broken"),
		flags("--context broken --server https://b.example").differing(onlyKinformerFails, "client-go continues without credentials"),
		flags("--context broken --server https://b.example --token t"),
		flags("--context broken --cluster c --user u"),
	}
}
