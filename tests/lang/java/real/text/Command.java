package text;

import java.util.List;

/** A line of input, as what it asks for. */
public sealed interface Command {
	record AddRoad(String from, String to, int length) implements Command {}

	record FindWay(String from, String to) implements Command {}

	record ShowTree() implements Command {}

	record ShowTable() implements Command {}

	record Wrong(String line, String reason) implements Command {}

	static Command read(String line) {
		List<String> words = List.of(line.strip().split("\\s+"));
		try {
			return switch (words.get(0)) {
				case "road" -> new AddRoad(word(words, 1), word(words, 2), Integer.parseInt(word(words, 3)));
				case "way" -> new FindWay(word(words, 1), word(words, 2));
				case "tree" -> new ShowTree();
				case "table" -> new ShowTable();
				default -> new Wrong(line, "unknown word " + words.get(0));
			};
		} catch (NumberFormatException error) {
			return new Wrong(line, "not a number: " + words.get(3));
		} catch (IllegalArgumentException error) {
			return new Wrong(line, error.getMessage());
		}
	}

	private static String word(List<String> words, int index) {
		if (index >= words.size()) throw new IllegalArgumentException("word " + (index + 1) + " is missing");
		return words.get(index);
	}
}
