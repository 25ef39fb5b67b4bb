public class Unicode {
	public static void main(String[] args) {
		String line = "héllo wörld ✓ 日本語 🎉";
		System.out.println(line);
		System.out.println(line.codePointCount(0, line.length()));
	}
}
