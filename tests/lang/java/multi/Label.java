class Label {
	static String text() {
		return "multi";
	}
}
