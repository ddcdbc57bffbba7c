// Runs a file of CQL on a node, a statement a line, with a few directives; see README.md and tables.cql.
//   --repeat N: statement       with $i from 0
//   --many N statement          $columns becomes N columns of type int
//   --many-insert N statement   $names and $values become theirs
//   --count statement           prints how many rows it answers
import com.datastax.driver.core.*;
import java.nio.file.*;
import java.util.*;
import java.util.stream.*;

public class Make {
    static Session session;

    public static void main(String[] args) throws Exception {
        try (Cluster cluster = Cluster.builder().addContactPoint(args[0]).withoutJMXReporting().build()) {
            session = cluster.connect();
            for (String line : Files.readAllLines(Path.of(args[1]))) {
                if (line.startsWith("--repeat ")) {
                    int colon = line.indexOf(':');
                    int count = Integer.parseInt(line.substring(9, colon));
                    for (int i = 0; i < count; i++) run(line.substring(colon + 1).replace("$i", "" + i));
                } else if (line.startsWith("--many ")) {
                    String[] parts = line.split(" ", 3);
                    run(parts[2].replace("$columns", columns(Integer.parseInt(parts[1])).map(c -> c + " int").collect(Collectors.joining(", "))));
                } else if (line.startsWith("--many-insert ")) {
                    String[] parts = line.split(" ", 3);
                    int count = Integer.parseInt(parts[1]);
                    run(parts[2].replace("$names", columns(count).collect(Collectors.joining(", ")))
                                .replace("$values", IntStream.range(0, count).mapToObj(i -> "" + i).collect(Collectors.joining(", "))));
                } else if (line.startsWith("--count ")) {
                    int rows = 0;
                    for (Row row : session.execute(new SimpleStatement(line.substring(8)))) rows++;
                    System.out.println("count " + rows);
                } else if (!line.isBlank() && !line.startsWith("--")) {
                    run(line);
                }
            }
        }
    }

    static Stream<String> columns(int count) {
        return IntStream.range(0, count).mapToObj(i -> String.format("c%03d", i));
    }

    static void run(String statement) {
        session.execute(new SimpleStatement(statement.strip()));
    }
}
