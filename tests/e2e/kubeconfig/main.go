// Prints the client configuration that client-go computes from kubectl's connection flags and the kubeconfigs of the environment, as one
// line of JSON: {"server": …} or {"error": …}. It also builds the headers of a request and the TLS settings, since client-go detects some
// errors only there. Secrets are printed as FNV-1a hashes.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpguts"
	"k8s.io/apimachinery/pkg/runtime"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
)

type plugin struct {
	InteractiveMode    string          `json:"interactiveMode"`
	APIVersion         string          `json:"apiVersion"`
	Command            string          `json:"command"`
	Args               []string        `json:"args"`
	Env                []string        `json:"env"`
	InstallHint        string          `json:"installHint"`
	ProvideClusterInfo bool            `json:"provideClusterInfo"`
	Config             json.RawMessage `json:"config"`
}

type effective struct {
	Server             string   `json:"server"`
	Namespace          string   `json:"namespace"`
	Token              string   `json:"token"`
	Username           string   `json:"username"`
	Password           string   `json:"password"`
	Certificate        string   `json:"certificate"`
	Key                string   `json:"key"`
	CA                 string   `json:"ca"`
	ServerName         string   `json:"serverName"`
	Proxy              string   `json:"proxy"`
	Insecure           bool     `json:"insecure"`
	DisableCompression bool     `json:"disableCompression"`
	As                 string   `json:"as"`
	AsUID              string   `json:"asUID"`
	AsGroups           []string `json:"asGroups"`
	AsExtra            []string `json:"asExtra"`
	Exec               *plugin  `json:"exec"`
}

func hash[T string | []byte](secret T) string {
	if len(secret) == 0 {
		return ""
	}
	h := fnv.New64a()
	h.Write([]byte(secret))
	return fmt.Sprintf("%016x", h.Sum64())
}

// headerRecorder is a transport that records the headers of a request and sends nothing.
type headerRecorder struct{ http.Header }

func (h *headerRecorder) RoundTrip(r *http.Request) (*http.Response, error) {
	h.Header = r.Header
	return nil, errors.New("this transport sends no requests")
}

// requestHeaders returns the headers that client-go would send.
func requestHeaders(config *transport.Config, server string) (http.Header, error) {
	recorder := &headerRecorder{}
	chain, err := transport.HTTPWrappersForConfig(config, recorder)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(http.MethodGet, server, nil)
	if err != nil {
		return nil, err
	}
	_, err = chain.RoundTrip(request)
	if recorder.Header == nil {
		return nil, err
	}
	for name, values := range recorder.Header {
		for _, value := range values {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
				return nil, fmt.Errorf("header %s is not valid", name)
			}
		}
	}
	return recorder.Header, nil
}

func effectiveConfig() (*effective, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.Warner = func(error) {}
	overrides := &clientcmd.ConfigOverrides{}
	flags := pflag.NewFlagSet("kubeconfig", pflag.ContinueOnError)
	flags.StringVar(&rules.ExplicitPath, "kubeconfig", "", "")
	clientcmd.BindOverrideFlags(overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
	if err := flags.Parse(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, err
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	transportConfig, err := config.TransportConfig()
	if err != nil {
		return nil, err
	}
	// client-go runs the plugin only if there are no other credentials. This program never runs the plugin.
	hasPlugin := config.ExecProvider != nil && !transportConfig.HasTokenAuth() && !transportConfig.HasBasicAuth() && !transportConfig.HasCertAuth()
	transportConfig.WrapTransport, transportConfig.TLS.GetCertHolder = nil, nil
	if _, err := transport.TLSConfigFor(transportConfig); err != nil {
		return nil, err
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, err
	}
	request, err := requestHeaders(transportConfig, base.String())
	if err != nil {
		return nil, err
	}
	result := &effective{
		Server: strings.TrimRight(base.String(), "/"), Namespace: namespace,
		Certificate: hash(config.CertData), Key: hash(config.KeyData), CA: hash(config.CAData),
		ServerName: config.ServerName, Insecure: config.Insecure, DisableCompression: config.DisableCompression,
		As: request.Get(transport.ImpersonateUserHeader), AsUID: request.Get(transport.ImpersonateUIDHeader),
		AsGroups: append([]string{}, request.Values(transport.ImpersonateGroupHeader)...), AsExtra: []string{},
	}
	for name, values := range config.Impersonate.Extra {
		for _, value := range values {
			result.AsExtra = append(result.AsExtra, name+"="+value)
		}
	}
	slices.Sort(result.AsExtra)
	if token, isBearer := strings.CutPrefix(request.Get("Authorization"), "Bearer "); isBearer {
		result.Token = hash(token)
	} else if request.Get("Authorization") != "" {
		r := http.Request{Header: request}
		name, password, _ := r.BasicAuth()
		result.Username, result.Password = name, hash(password)
	}
	if config.Proxy != nil {
		proxy, err := config.Proxy(&http.Request{URL: base})
		if err != nil {
			return nil, err
		}
		proxy.Path, proxy.RawPath, proxy.RawQuery, proxy.Fragment = "", "", "", ""
		result.Proxy = proxy.String()
	}
	if hasPlugin {
		e := config.ExecProvider
		result.Exec = &plugin{
			InteractiveMode: string(e.InteractiveMode), APIVersion: e.APIVersion, Command: e.Command,
			Args: append([]string{}, e.Args...), Env: []string{}, InstallHint: e.InstallHint, ProvideClusterInfo: e.ProvideClusterInfo,
			Config: json.RawMessage("null"),
		}
		if strings.Contains(e.Command, "/") {
			result.Exec.Command = filepath.Clean(e.Command)
		}
		for _, variable := range e.Env {
			result.Exec.Env = append(result.Exec.Env, variable.Name+"="+variable.Value)
		}
		if extension, isRaw := e.Config.(*runtime.Unknown); isRaw {
			result.Exec.Config = extension.Raw
		}
	}
	return result, nil
}

func main() {
	klog.SetLogger(klog.Logger{})
	result, err := effectiveConfig()
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err != nil {
		err = encoder.Encode(map[string]string{"error": err.Error()})
	} else {
		err = encoder.Encode(result)
	}
	if err != nil {
		os.Exit(1)
	}
}
