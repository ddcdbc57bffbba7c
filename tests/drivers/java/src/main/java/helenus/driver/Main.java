package helenus.driver;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;

/** Runs every method marked {@link Check} of the suite's classes and ends with "N passed, N failed". */
public final class Main {
    /** A check; its method's name says what must hold. */
    @Retention(RetentionPolicy.RUNTIME)
    @interface Check {}

    private static final List<Class<?>> SUITES = List.of(ConnectionChecks.class, TypeChecks.class, StatementChecks.class, SchemaChecks.class);

    private Main() {}

    public static void main(String[] arguments) throws Exception {
        int passed = 0;
        int failed = 0;
        try (Server server = new Server()) {
            for (Class<?> suite : SUITES) {
                Object checks = suite.getDeclaredConstructor(Server.class).newInstance(server);
                Method[] methods = suite.getDeclaredMethods();
                Arrays.sort(methods, Comparator.comparing(Method::getName));
                for (Method method : methods) {
                    if (!method.isAnnotationPresent(Check.class)) {
                        continue;
                    }
                    try {
                        method.invoke(checks);
                        passed++;
                        System.out.println("ok      " + method.getName());
                    } catch (InvocationTargetException error) {
                        failed++;
                        System.out.println("FAILED  " + method.getName() + ": " + error.getCause());
                        Arrays.stream(error.getCause().getStackTrace())
                            .filter(frame -> frame.getClassName().startsWith("helenus.")).limit(2)
                            .forEach(frame -> System.out.println("            at " + frame));
                    }
                }
            }
        }
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed == 0 && passed > 0 ? 0 : 1);
    }

    static void equal(Object expected, Object actual) {
        if (!Objects.deepEquals(expected, actual)) {
            throw new AssertionError("expected " + expected + ", got " + actual);
        }
    }

    static void holds(boolean condition, Object otherwise) {
        if (!condition) {
            throw new AssertionError(String.valueOf(otherwise));
        }
    }

    interface Action {
        void run() throws Exception;
    }

    /** The error of this class that the action must end with. */
    static <E extends Throwable> E fails(Class<E> expected, String words, Action action) {
        try {
            action.run();
        } catch (Throwable error) {
            if (expected.isInstance(error)) {
                holds(String.valueOf(error.getMessage()).contains(words), "expected '" + words + "' in: " + error.getMessage());
                return expected.cast(error);
            }
            throw new AssertionError("expected " + expected.getSimpleName() + ", got " + error, error);
        }
        throw new AssertionError("expected " + expected.getSimpleName() + ", but it succeeded");
    }
}
