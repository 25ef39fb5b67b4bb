public class Args {
	public static void main(String[] args) {
		for (String word : args) System.out.println("[" + word + "]");
	}
}
