// A real kube-apiserver with its etcd in one process, on loopback only, for the end-to-end cases.
//
// One directory (--dir) has all files: certificates, tokens, the data of etcd, the audit log and the kubeconfigs. A start in a directory that
// an earlier run kept (--keep) uses the same data and the same port.
// The program prints "ready URL" once it serves, ends on SIGTERM or SIGINT, and removes the directory unless --keep is given.
// SIGUSR1 compacts etcd to its current revision; then the program prints "compacted REVISION".
// With --join DIR the program is a second kube-apiserver of the cluster in DIR. It uses the credentials in DIR and the etcd at --etcd-servers.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// Limit for the start, until /readyz returns 200. A busy machine with two cores needs a fraction of this time.
const readyDeadline = 2 * time.Minute

type options struct {
	dir          string
	port         int
	featureGates string
	join, etcd   string
	noWatchCache bool
	keep         bool
	verbosity    int
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", "", "directory for all files of the server (required; created)")
	flag.IntVar(&o.port, "port", 0, "port on 127.0.0.1; 0: the last port of this directory, or a free port")
	flag.StringVar(&o.featureGates, "feature-gates", "", "feature gates of the kube-apiserver, such as WatchList=false")
	flag.StringVar(&o.join, "join", "", "run a second server of the cluster in this directory")
	flag.StringVar(&o.etcd, "etcd-servers", "", "URL of the etcd, with --join")
	flag.BoolVar(&o.noWatchCache, "no-watch-cache", false, "serve lists and watches from etcd, without the watch cache")
	flag.BoolVar(&o.keep, "keep", false, "keep the directory for a later start")
	flag.IntVar(&o.verbosity, "v", 0, "log level of the kube-apiserver")
	flag.Parse()
	if o.dir == "" || flag.NArg() > 0 || (o.join == "") != (o.etcd == "") {
		fmt.Fprintln(os.Stderr, "usage: apiserver --dir DIR [--port N] [--feature-gates A=false,...] [--no-watch-cache] [--keep]\n"+
			"       [--join DIR --etcd-servers URL]")
		os.Exit(2)
	}
	err := run(o)
	if !o.keep {
		if removeErr := os.RemoveAll(o.dir); err == nil {
			err = removeErr
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "apiserver:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	command := app.NewAPIServerCommand() // first: it installs the handler of SIGTERM
	ctx := command.Context()
	execute := func(arguments []string) error {
		command.SetArgs(arguments)
		return command.ExecuteContext(ctx)
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return err
	}
	var err error
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	if o.join != "" {
		if o.join, err = filepath.Abs(o.join); err != nil {
			return err
		}
	}
	if err := os.Chdir(o.dir); err != nil {
		return err
	}
	if o.port, err = choosePort(o.dir, o.port); err != nil {
		return err
	}
	server := fmt.Sprintf("https://127.0.0.1:%d", o.port)
	if o.join != "" {
		if err := copyCredentials(o.join, o.dir, server); err != nil {
			return err
		}
		return serve(ctx, execute, o, server, o.etcd, nil)
	}
	if err := writeCredentials(o.dir, server); err != nil {
		return err
	}

	etcd, endpoint, err := startEtcd(o.dir)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer etcd.Close()
	select {
	case <-etcd.Server.ReadyNotify():
	case err := <-etcd.Err():
		return fmt.Errorf("etcd: %w", err)
	case <-time.After(readyDeadline):
		return fmt.Errorf("etcd was not ready within %s", readyDeadline)
	case <-ctx.Done():
		return nil
	}
	go compactOnSignal(ctx, endpoint)
	return serve(ctx, execute, o, server, endpoint, etcd.Err())
}

// serve runs the kube-apiserver until it ends or its etcd fails.
func serve(ctx context.Context, execute func([]string) error, o options, server, endpoint string,
	etcdFailed <-chan error) error {
	ended := make(chan error, 1)
	go func() { ended <- execute(serverArguments(o, endpoint)) }()
	go func() {
		if err := waitReady(ctx, o.dir, server); err != nil {
			fmt.Fprintln(os.Stderr, "apiserver:", err)
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
			return
		}
		fmt.Println("ready", server)
	}()
	select {
	case err := <-ended:
		return err
	case err := <-etcdFailed:
		return fmt.Errorf("etcd: %w", err)
	}
}

func serverArguments(o options, etcdEndpoint string) []string {
	file := func(name string) string { return filepath.Join(o.dir, name) }
	args := []string{
		"--etcd-servers=" + etcdEndpoint,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", o.port),
		"--tls-cert-file=" + file("server.crt"),
		"--tls-private-key-file=" + file("server.key"),
		"--client-ca-file=" + file("ca.crt"),
		"--token-auth-file=" + file("tokens.csv"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + file("service-account.key"),
		"--service-account-signing-key-file=" + file("service-account.key"),
		"--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC",
		// No controller creates the default service account of a namespace.
		"--disable-admission-plugins=ServiceAccount",
		"--endpoint-reconciler-type=none",
		"--audit-policy-file=" + file("audit-policy.yaml"),
		"--audit-log-path=" + file("audit.log"),
		// Otherwise a server that stops waits a minute for the clients of its watches.
		"--shutdown-watch-termination-grace-period=1s",
		fmt.Sprintf("-v=%d", o.verbosity),
	}
	if o.noWatchCache {
		args = append(args, "--watch-cache=false")
	}
	if o.featureGates != "" {
		args = append(args, "--feature-gates="+o.featureGates)
	}
	return args
}

// choosePort stores the port in the directory, so that the server has the same port after a restart.
func choosePort(dir string, port int) (int, error) {
	path := filepath.Join(dir, "port")
	if port == 0 {
		if data, err := os.ReadFile(path); err == nil {
			if _, err := fmt.Sscanf(string(data), "%d", &port); err != nil {
				return 0, fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	if port == 0 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		port = listener.Addr().(*net.TCPAddr).Port
		if err := listener.Close(); err != nil {
			return 0, err
		}
	}
	return port, os.WriteFile(path, []byte(fmt.Sprintln(port)), 0o600)
}

func startEtcd(dir string) (*embed.Etcd, string, error) {
	config := embed.NewConfig()
	config.Name = "e2e"
	config.Dir = filepath.Join(dir, "etcd")
	config.LogLevel = "error"
	config.LogOutputs = []string{"stderr"}
	config.UnsafeNoFsync = true // the data must survive the process, not the machine
	client, err := socketURL("client:0")
	if err != nil {
		return nil, "", err
	}
	peer, err := socketURL("peer:0")
	if err != nil {
		return nil, "", err
	}
	config.ListenClientUrls, config.AdvertiseClientUrls = client, client
	config.ListenPeerUrls, config.AdvertisePeerUrls = peer, peer
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	etcd, err := embed.StartEtcd(config)
	return etcd, client[0].String(), err
}

// socketURL returns the URL of a socket in the working directory, which is the directory of the server. A socket needs no free port, and a
// relative path is never too long. etcd requires a name of the form host:port.
func socketURL(name string) ([]url.URL, error) {
	if err := os.Remove(name); err != nil && !os.IsNotExist(err) { // a killed server does not remove its socket
		return nil, err
	}
	return []url.URL{{Scheme: "unix", Host: name}}, nil
}

func waitReady(ctx context.Context, dir, server string) error {
	client, err := adminClient(dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyDeadline)
	defer cancel()
	var last error
	for ctx.Err() == nil {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/readyz", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("/readyz returned %s", response.Status)
		}
		last = err
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fmt.Errorf("not ready: %w", last)
}

func compactOnSignal(ctx context.Context, endpoint string) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			revision, err := compact(ctx, endpoint)
			if err != nil {
				fmt.Fprintln(os.Stderr, "apiserver: compact:", err)
				continue
			}
			fmt.Println("compacted", revision)
		}
	}
}

func compact(ctx context.Context, endpoint string) (int64, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 5 * time.Second})
	if err != nil {
		return 0, err
	}
	defer client.Close()
	response, err := client.Get(ctx, "/", clientv3.WithCountOnly())
	if err != nil {
		return 0, err
	}
	revision := response.Header.Revision
	_, err = client.Compact(ctx, revision, clientv3.WithCompactPhysical())
	if err != nil && !strings.Contains(err.Error(), "has been compacted") {
		return 0, err
	}
	return revision, nil
}
