// The kube-controller-manager with its usual flags. It exits immediately, with status 0, on SIGTERM and SIGINT.
package main

import (
	"os"
	"os/signal"
	"syscall"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-signals
		os.Exit(0)
	}()
	os.Exit(cli.Run(app.NewControllerManagerCommand()))
}
