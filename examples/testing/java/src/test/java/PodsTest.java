import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Pods followed with fabric8's informer, tested against `kinformer serve`, without a sleep. */
class PodsTest {
    /** The program under test: accepts "NAME PHASE" for each pod that is new or has changed. */
    static SharedIndexInformer<Pod> followPods(KubernetesClient client, Consumer<String> seen) {
        return client.pods().inNamespace("shop").inform(new ResourceEventHandler<Pod>() {
            @Override
            public void onAdd(Pod pod) {
                seen.accept(pod.getMetadata().getName() + " " + pod.getStatus().getPhase());
            }

            @Override
            public void onUpdate(Pod old, Pod pod) {
                String version = pod.getMetadata().getResourceVersion();
                if (!version.equals(old.getMetadata().getResourceVersion())) { // else listed again
                    onAdd(pod);
                }
            }

            @Override
            public void onDelete(Pod pod, boolean finalStateUnknown) {}
        });
    }

    static Process server;
    static String url;
    static KubernetesClient client;
    final BlockingQueue<String> seen = new LinkedBlockingQueue<>();
    SharedIndexInformer<Pod> informer;

    @BeforeAll
    static void start() throws IOException {
        server = new ProcessBuilder("kinformer", "serve", "--until-eof", "--load", "../pods.yaml")
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start(); // its standard input ends with this process
        url = new BufferedReader(new InputStreamReader(server.getInputStream())).readLine().split(" ")[1];
        Config config = new ConfigBuilder(Config.empty()).withMasterUrl(url).build();
        client = new KubernetesClientBuilder().withConfig(config).build();
    }

    @AfterAll
    static void end() throws IOException {
        client.close();
        server.getOutputStream().close();
    }

    @BeforeEach
    void follow() throws Exception {
        informer = followPods(client, seen::add);
        assertEquals(Set.of("cart-1 Pending", "cart-2 Running"), Set.of(see(), see()));
        api("GET", "/_wait?watches=pods", "");
    }

    @AfterEach
    void reset() throws Exception {
        informer.close();
        api("GET", "/_wait?watches=pods&count=0", "");
        api("POST", "/_reset", "");
    }

    String see() throws InterruptedException {
        return seen.poll(30, TimeUnit.SECONDS);
    }

    static String api(String method, String path, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url + path))
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .build();
        HttpResponse<String> response =
                HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        assertEquals(2, response.statusCode() / 100, response::body);
        return response.body();
    }

    static void setPhase(String name, String phase) {
        client.pods().inNamespace("shop").withName(name)
                .editStatus(pod -> new PodBuilder(pod).editStatus().withPhase(phase).endStatus().build());
    }

    @Test
    void aStartIsSeenThoughTheWatchEndsAndTheServerFailsTwice() throws Exception {
        String fault = api("POST", "/_faults", "status,code=500,verb=list+watch,resource=pods,count=2");
        api("POST", "/_faults", "close-watches");
        api("GET", "/_wait?count=2&fault=" + fault.replaceAll("\\D", ""), ""); // {"id":1}
        setPhase("cart-1", "Running");
        assertEquals("cart-1 Running", see());
        String requests = api("GET", "/_requests?verb=list+watch&resource=pods", "");
        assertEquals(2, requests.lines().filter(line -> line.contains("\"status\":500")).count(), requests);
    }

    @Test
    void theNextTestHasThePodsOfTheStartAndNoFaults() throws Exception {
        assertEquals("{\"faults\":[]}", api("GET", "/_faults", "").strip());
        setPhase("cart-2", "Failed");
        assertEquals("cart-2 Failed", see());
    }
}
