from pathlib import Path

text = Path("data/in.txt").read_text().rstrip("\n")
Path("/sandbox/output/out.txt").write_text(text[::-1])
