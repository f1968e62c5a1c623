// Watches over WebSockets, from the real server and from `kinformer serve`. Both must send the same messages.
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"golang.org/x/net/websocket"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

var webSocketCases = []testCase{
	{name: "serve-web-socket", kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		return sameMessages(ctx, h)
	}},
	{name: "serve-web-socket-tls", kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		return sameMessages(ctx, h, "--tls")
	}},
}

func sameMessages(ctx context.Context, h *harness, flags ...string) error {
	_, restConfigs, err := h.bothConfigs(ctx, flags...)
	if err != nil {
		return err
	}
	want, err := messagesOf(ctx, restConfigs.real)
	if err != nil {
		return fmt.Errorf("the real server: %w", err)
	}
	found, err := messagesOf(ctx, restConfigs.served)
	if err != nil {
		return fmt.Errorf("kinformer serve: %w", err)
	}
	if len(want) < 5 || !reflect.DeepEqual(want, found) {
		return fmt.Errorf("wanted the same messages, at least 5; real:\n%s\nserve:\n%s", strings.Join(want, "\n"), strings.Join(found, "\n"))
	}
	return nil
}

// messagesOf makes changes during a watch, and returns the messages until the server ends the watch.
func messagesOf(ctx context.Context, config *rest.Config) ([]string, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	maps := client.Resource(configMaps).Namespace("default")
	list, err := maps.List(ctx, v1.ListOptions{})
	if err != nil {
		return nil, err
	}
	selector := fmt.Sprintf("e2e=%x", time.Now().UnixNano())
	path := "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=3&labelSelector=" + selector + "&resourceVersion=" +
		list.GetResourceVersion()
	connection, err := dial(ctx, config, path)
	if err != nil {
		return nil, err
	}
	name, value, _ := strings.Cut(selector, "=")
	cm := &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": object{"name": "web-socket"}, "data": object{"key": "value"}}}
	cm.SetLabels(map[string]string{name: value})
	if _, err = maps.Create(ctx, cm, v1.CreateOptions{}); err != nil {
		return nil, err
	}
	for _, patch := range []string{`{"data":{"more":"1"}}`, `{"data":{"more":null}}`} {
		if _, err := maps.Patch(ctx, cm.GetName(), "application/merge-patch+json", []byte(patch), v1.PatchOptions{}); err != nil {
			return nil, err
		}
	}
	if err := maps.Delete(ctx, cm.GetName(), v1.DeleteOptions{}); err != nil {
		return nil, err
	}
	var messages []string
	for {
		var text string
		if err := websocket.Message.Receive(connection, &text); err != nil {
			connection.Close() // the server has closed its side
			return append(messages, err.Error()), nil
		}
		var event struct {
			Type   string
			Object object
		}
		if err := json.Unmarshal([]byte(text), &event); err != nil {
			return nil, errors.Join(err, connection.Close())
		}
		stripVariableFields(event.Object)
		written, err := json.Marshal(event.Object)
		if err != nil {
			return nil, err
		}
		message := fmt.Sprintf("%s %s end of line %t", event.Type, written, strings.HasSuffix(text, "\n"))
		messages = append(messages, strings.ReplaceAll(message, value, "LABEL"))
	}
}

func dial(ctx context.Context, config *rest.Config, path string) (*websocket.Conn, error) {
	socket, err := websocket.NewConfig(strings.Replace(config.Host, "http", "ws", 1)+path, "http://localhost")
	if err != nil {
		return nil, err
	}
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	if tlsConfig != nil {
		tlsConfig.NextProtos = []string{"http/1.1"}
	}
	socket.TlsConfig = cmp.Or(tlsConfig, &tls.Config{})
	socket.Header = http.Header{}
	if config.BearerToken != "" {
		socket.Header.Set("Authorization", "Bearer "+config.BearerToken)
	}
	return socket.DialContext(ctx)
}
