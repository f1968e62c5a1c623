import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;

/** Runs steps, prints a line for each, and has what they demand of answers. */
final class Steps {
    private static final long DEADLINE_MS = 30_000;
    private static final long PAUSE_MS = 50;

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

    /** Asks again until the answer is true. */
    static void until(String what, Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + DEADLINE_MS * 1_000_000;
        while (!condition.call()) {
            if (System.nanoTime() > end) {
                throw new AssertionError(what + ": waited in vain");
            }
            Thread.sleep(PAUSE_MS);
        }
    }

    /** What an informer was notified of, in order. */
    static final class Events {
        private final List<String> seen = new ArrayList<>();

        synchronized void add(String event) {
            seen.add(event);
        }

        synchronized boolean has(String event) {
            return seen.contains(event);
        }

        void await(String event) throws Exception {
            try {
                until(event, () -> has(event));
            } catch (AssertionError failure) {
                synchronized (this) {
                    throw new AssertionError(failure.getMessage() + " among " + seen, failure);
                }
            }
        }
    }
}
