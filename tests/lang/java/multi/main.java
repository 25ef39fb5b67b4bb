import shapes.Rectangle;

public class Main {
	public static void main(String[] args) {
		System.out.println(Label.text() + " " + new Rectangle(6, 7).area());
	}
}
