import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

public class Stdin {
	public static void main(String[] args) throws IOException {
		String text = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
		System.out.print(text.toUpperCase(Locale.ROOT));
	}
}
