import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/** Runs steps and prints a line for each; has the checks of responses. */
final class Steps {
    /** How long an event or a state may take. */
    static final long DEADLINE_SECONDS = 30;

    private boolean allOk = true;

    /** A step of the list. */
    interface Step {
        void run() throws Exception;
    }

    void run(String name, Step step) {
        try {
            step.run();
            System.out.println("ok " + name);
        } catch (Exception | AssertionError failure) {
            allOk = false;
            System.out.println("failed " + name + ": " + failure.toString().replaceAll("\\s+", " "));
        }
    }

    boolean allOk() {
        return allOk;
    }

    static void equal(String what, Object found, Object want) {
        if (!Objects.equals(found, want)) {
            throw new AssertionError(what + ": " + found + ", not " + want);
        }
    }

    /** Fails unless the server refuses with this code and reason. */
    static void refused(int code, String reason, Callable<?> call) throws Exception {
        try {
            call.call();
        } catch (KubernetesClientException refusal) {
            String found = refusal.getStatus() == null ? null : refusal.getStatus().getReason();
            equal("refusal", refusal.getCode() + " " + found, code + " " + reason);
            return;
        }
        throw new AssertionError("not refused with " + code);
    }

    /** What an informer was notified of, in order. */
    static final class Events {
        private final List<String> seen = new ArrayList<>();

        synchronized void add(String event) {
            seen.add(event);
            notifyAll();
        }

        /** Waits until the event is here. */
        synchronized void await(String event) throws InterruptedException {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_SECONDS);
            while (!seen.contains(event)) {
                long left = end - System.nanoTime();
                if (left <= 0) {
                    throw new AssertionError("no " + event + " among " + seen);
                }
                TimeUnit.NANOSECONDS.timedWait(this, left);
            }
        }
    }
}
