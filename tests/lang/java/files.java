import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

public class ReverseFile {
	public static void main(String[] args) throws IOException {
		String word = Files.readString(Path.of("data/in.txt")).strip();
		Files.writeString(Path.of("/sandbox/output/out.txt"), new StringBuilder(word).reverse());
	}
}
