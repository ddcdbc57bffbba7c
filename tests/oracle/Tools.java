// Runs many of Cassandra's command line tools in one JVM, which takes a fifth of a second each instead of several.
//
// A request is a line of stdin, CLASS<tab>ARGUMENT<tab>...; its answer is a line `EXIT_CODE OUT_BYTES ERR_BYTES` and then
// those bytes of stdout and stderr. A tool's System.exit ends the tool and not the JVM: what it does after that, while the
// stack unwinds, neither counts nor shows.
import java.io.*;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.security.Permission;
import java.util.Arrays;

public class Tools {
    static final ByteArrayOutputStream out = new ByteArrayOutputStream(), err = new ByteArrayOutputStream();
    static byte[] outAtExit, errAtExit;
    static int exitCode;

    static class Exited extends Error {}

    @SuppressWarnings("removal")
    public static void main(String[] args) throws Exception {
        OutputStream answers = new BufferedOutputStream(new FileOutputStream(FileDescriptor.out));
        System.setSecurityManager(new SecurityManager() {
            @Override public void checkPermission(Permission permission) {}
            @Override public void checkPermission(Permission permission, Object context) {}
            @Override public void checkExit(int code) {
                exited(code);
                throw new Exited();
            }
        });
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = requests.readLine()) != null; ) {
            run(line.split("\t"));
            answers.write((exitCode + " " + outAtExit.length + " " + errAtExit.length + "\n").getBytes(StandardCharsets.UTF_8));
            answers.write(outAtExit);
            answers.write(errAtExit);
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    static void run(String[] words) {
        out.reset();
        err.reset();
        outAtExit = null;
        // New ones for each: some tools close theirs.
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        try {
            Class.forName(words[0]).getMethod("main", String[].class)
                 .invoke(null, (Object) Arrays.copyOfRange(words, 1, words.length));
            exited(0);
        } catch (InvocationTargetException e) {
            e.getCause().printStackTrace();
            exited(1);
        } catch (Throwable e) {
            e.printStackTrace();
            exited(1);
        }
    }

    static synchronized void exited(int code) {
        if (outAtExit != null)
            return;
        System.out.flush();
        System.err.flush();
        outAtExit = out.toByteArray();
        errAtExit = err.toByteArray();
        exitCode = code;
    }
}
